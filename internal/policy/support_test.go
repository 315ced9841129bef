package policy

import (
	"errors"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// request is a plain exec by alice in her project.
func request() Request {
	return Request{
		Argv: []string{"true"}, Cwd: "/home/alice/app", CallerUID: 1000, Own: true,
		User:         jail.User{UID: 1000, GID: 1000, Name: "alice", Home: "/home/alice"},
		CallerGroups: []Group{{"alice", 1000}, {"video", 44}, {"docker", 999}, {"root", 0}, {"omnijail", 990}},
	}
}

// facts are those of a node where everything works.
func facts() Facts {
	return Facts{
		Guarantees: map[string][]jail.Guarantee{"linux_bwrap": jail.Guarantees},
		Backends:   []string{"linux_bwrap"},
		System:     []SystemDir{{Path: "/usr"}, {Path: "/bin", Link: "usr/bin"}, {Path: "/lib", Link: "usr/lib"}},
		SocketGID:  990,
	}
}

// inline decodes a policy as a request would carry it, written in YAML here.
func inline(t *testing.T, yaml string) *Document {
	t.Helper()
	doc, err := tryInline(yaml)
	if err != nil {
		t.Fatalf("policy: %v", err)
	}
	return doc
}

func tryInline(yaml string) (*Document, error) {
	rep := &report{}
	n := readYAML("p.yaml", []byte(yaml), rep)
	if err := rep.err(); err != nil {
		return nil, err
	}
	return newFlat(n, "", nil).Document()
}

// closed is the same document as the operator's.
func closed(t *testing.T, yaml string) *Document {
	t.Helper()
	doc := inline(t, yaml)
	doc.Closed = true
	doc.Ref = jail.PolicyRef{Name: "corp", Origin: "/etc/omnijail/policies/corp.yaml"}
	return doc
}

func asErrors(t *testing.T, err error) Errors {
	t.Helper()
	var es Errors
	if !errors.As(err, &es) {
		t.Fatalf("got %v (%T), want Errors", err, err)
	}
	return es
}
