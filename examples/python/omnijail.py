"""Run a command in an omnijail jail, from Python's standard library alone.

    code = omnijail.run(["gh", "api", "user"], policy="github-read")
"""
import http.client, json, os, socket, struct, sys

BASE = "PATH HOME USER LOGNAME SHELL TERM LANG TZ COLORTERM NO_COLOR".split()


class Refused(Exception):
    def __init__(self, code, reason, fix=None):
        super().__init__(reason)
        self.code, self.reason, self.fix = code, reason, fix


def _memfd(value):
    fd = os.memfd_create("secret", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, value.encode())
    import fcntl
    fcntl.fcntl(fd, 1033, 0x0F)  # F_ADD_SEALS: seal, shrink, grow, write
    return fd


def run(argv, policy=None, cwd=None, env=None, secrets=None, on_event=None, stdio=None,
        socket_path=os.environ.get("OMNIJAIL_SOCKET", "/run/omnijail/omnijaild.sock"), **more):
    """Returns the command's exit code; raises Refused when omnijail did not run it.

    secrets maps the variables that the policy's env sources name to their values.
    stdio is three descriptors; terminals and regular files go through a pipe of yours.
    """
    secrets = secrets or {}
    conn = socket.socket(socket.AF_UNIX)
    conn.connect(socket_path)
    if struct.unpack("3i", conn.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1] != 0:
        raise Refused("server", f"{socket_path} does not belong to root; nothing was sent")
    context = {k: os.environ[k] for k in BASE if k in os.environ}
    body = json.dumps({"argv": argv, "cwd": cwd or os.getcwd(), "policy": policy, "env": env or {},
                       "context": context, "secret_fds": list(secrets), **more}).encode()
    conn.sendall(b"POST /v1/exec HTTP/1.1\r\nHost: omnijail\r\nConnection: Upgrade\r\nUpgrade: omnijail-exec\r\n"
                 b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    reply = http.client.HTTPResponse(conn)
    reply.begin()
    if reply.status != 101:
        error = json.load(reply)["error"]
        raise Refused(error["code"], error["reason"], error.get("fix"))
    fds = [_memfd(v) for v in secrets.values()]
    socket.send_fds(conn, [b"\0"], list(stdio or (0, 1, 2)) + fds)
    for fd in fds:
        os.close(fd)
    for line in conn.makefile("rb"):
        event = json.loads(line)
        if on_event:
            on_event(event)
        if "exit" in event:
            end = event["exit"]
            if end.get("reason") and end["code"] == 125:
                raise Refused("exec", end["reason"], end.get("fix"))
            return end["code"]
    raise Refused("gone", "omnijaild closed the connection before the command ended")


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
