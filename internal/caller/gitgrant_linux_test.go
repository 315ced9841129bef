package caller

import (
	"path/filepath"
	"testing"

	"github.com/omnijail/omnijail/internal/jail"
)

// A grant of its own lies over what the grant around it protects, so that what
// git runs is no place for one: not by name, not below, not as the directory
// that the command starts in.
func TestS08_WhatGitRunsIsNotGrantedForWriting(t *testing.T) {
	dir := playground(t)
	w := filepath.Join(dir, "w")
	for _, name := range []string{"w/.git/HEAD", "w/.git/config", "w/.git/hooks/deep/h", "w/.git/objects/o"} {
		write(t, dir, name, 0o644, "")
	}
	for _, name := range []string{".git/config", ".git/hooks", ".git/hooks/deep"} {
		r := request(dir)
		r.View.Visible = []string{".git"}
		p := filepath.Join(w, name)
		r.View.Grants = append(r.View.Grants, jail.Grant{Path: p, Write: true, Origin: "p.yaml:7"})
		_, err := open(t, Options{Request: r})
		refused(t, err, "protect", p, "p.yaml:7", "read_paths")
		r.View.Grants[1].Write = false
		mustOpen(t, r)
	}
	r := request(dir)
	r.View.Cwd = filepath.Join(w, ".git/hooks")
	r.View.Grants = append(r.View.Grants, jail.Grant{Path: r.View.Cwd, Write: true})
	_, err := open(t, Options{Request: r})
	refused(t, err, "protect", "hooks")
}

// A mask that holds all of a grant would leave the grant as it is.
func TestAMaskAroundAGrantIsRefused(t *testing.T) {
	dir := playground(t)
	r := request(dir)
	r.View.Masks = []jail.Mask{{Path: dir, Origin: "p.yaml:3"}}
	_, err := open(t, Options{Request: r})
	refused(t, err, "mask", filepath.Join(dir, "w"), "masked")
}
