"""Run a command in an omnijail jail, from Python's standard library alone.

    code = omnijail.run(["gh", "api", "user"], policy="github-read",
                        secrets={"GH_TOKEN": token})
"""
import fcntl, http.client, json, os, pathlib, socket, stat, struct, sys

SOCKET = "/run/omnijail/omnijaild.sock"
CONTEXT = "PATH HOME USER LOGNAME SHELL TERM LANG TZ COLORTERM NO_COLOR".split()
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE


class Refused(Exception):
    """omnijail did not run the command: code for programs, reason and fix for people."""

    def __init__(self, code, reason, fix=None):
        super().__init__(reason)
        self.code, self.reason, self.fix = code, reason, fix


def _connect(path):
    """A connection to a daemon that is root's; a file anybody could put there gets no byte."""
    if not os.path.isabs(path):
        raise Refused("server", f"the socket {path!r} is not an absolute path")
    conn = socket.socket(socket.AF_UNIX)
    try:
        conn.connect(path)
        parents = {*pathlib.Path(path).parents, *pathlib.Path(os.path.realpath(path)).parents}
        peer = struct.unpack("3i", conn.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if peer[1] != 0 or not all(_roots_own(os.stat(p)) for p in parents):
            raise Refused("server", f"{path} is not root's alone; nothing was sent")
    except OSError as err:
        conn.close()
        raise Refused("server", f"cannot reach omnijaild at {path}: {err}") from err
    except Refused:
        conn.close()
        raise
    return conn


def _roots_own(st):
    return st.st_uid == 0 and (not st.st_mode & 0o022 or bool(st.st_mode & stat.S_ISVTX))


def _sealed(value):
    fd = os.memfd_create("secret", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    with os.fdopen(os.dup(fd), "wb") as f:
        f.write(value.encode())
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd


def run(argv, policy=None, cwd=None, env=None, secrets=None, on_event=None, stdio=(0, 1, 2), socket_path=None, **more):
    """Returns the command's exit code; raises Refused when omnijail did not run it.

    secrets maps the variables that the policy's env sources name to their values.
    on_event gets each event as a dictionary. stdio is three descriptors; terminals
    and regular files go through a pipe of yours. more goes into the request as it
    is: add={"write": ["."]}, timeout="5m".
    """
    secrets = secrets or {}
    body = json.dumps({"argv": argv, "cwd": cwd or os.getcwd(), "policy": policy, "env": env or {},
                       "context": {k: os.environ[k] for k in CONTEXT if k in os.environ},
                       "secret_fds": list(secrets), **more}).encode()
    with _connect(socket_path or os.environ.get("OMNIJAIL_SOCKET") or SOCKET) as conn:
        conn.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: omnijail\r\nConnection: Upgrade\r\nUpgrade: omnijail-exec\r\n"
                     b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        reply = http.client.HTTPResponse(conn)
        reply.begin()
        if reply.status != 101:
            error = json.load(reply)["error"]
            raise Refused(error["code"], error["reason"], error.get("fix"))
        fds = [_sealed(v) for v in secrets.values()]
        try:
            socket.send_fds(conn, [b"\0"], [*stdio, *fds])
        except BrokenPipeError:
            pass  # ended already; why is still to be read
        for fd in fds:
            os.close(fd)
        for event in map(json.loads, reply.fp):
            if on_event:
                on_event(event)
            if "exit" in event:
                return _ended(event["exit"])
    raise Refused("gone", "omnijaild closed the connection before the command ended")


def _ended(end):
    if end["code"] == 125 and end.get("reason"):
        raise Refused("exec", end["reason"], end.get("fix"))
    return end["code"]


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
