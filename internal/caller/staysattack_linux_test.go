package caller

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// Whatever changes between two commands, and by whomever, a scout that stays tells
// the second one to protect what another scout would, or does not stay.
func TestS08_AScoutThatStaysFindsWhatAnotherFinds(t *testing.T) {
	for name, change := range map[string]func(w string) error{
		"nothing":                               func(string) error { return nil },
		"a hidden file":                         func(w string) error { return os.WriteFile(w+"/.env", nil, 0o644) },
		"an include":                            func(w string) error { return overwrite(w+"/.git/config", "[include]\n\tpath = ../team\n") },
		"a directory of hooks":                  func(w string) error { return overwrite(w+"/.git/config", "[core]\n\thooksPath = a/hooks\n") },
		"where a pointer leads":                 func(w string) error { return overwrite(w+"/sub/.git", "gitdir: ../.git/modules/two\n") },
		"a directory that could not be entered": func(w string) error { return os.Chmod(w+"/closed", 0o777) },
		"one of another's, given away":          func(w string) error { return os.Lchown(w+"/closed", someone, someone) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := playground(t)
			w := filepath.Join(dir, "w")
			for n, text := range map[string]string{
				".git/HEAD": "", ".git/config": "", "team": "", "a/b/x": "", "a/hooks/pre-commit": "", "sub/.git": "gitdir: ../.git/modules/one\n",
				".git/modules/one/config": "[core]\n\tworktree = ../../../sub\n", ".git/modules/two/config": "[core]\n\tworktree = ../../../sub\n",
				"closed/.git/HEAD": "", "closed/.git/config": "", "closed/.envrc": "",
			} {
				write(t, w, n, 0o644, text)
			}
			if err := errors.Join(os.Lchown(w+"/closed", 0, 0), os.Chmod(w+"/closed", 0o700)); err != nil {
				t.Fatal(err)
			}
			s := newStayer(t, dir)
			s.view.Visible, s.view.ReadOnly = []string{".git"}, []string{".vscode", ".envrc"}
			s.serve(nil)
			if err := change(w); err != nil {
				t.Fatal(err)
			}
			if !s.Stays() {
				return // another one serves
			}
			got, want := s.serve(nil), mustOpen(t, s.request()).Reply.Grants[0]
			if !reflect.DeepEqual(got, want) {
				t.Errorf("found\n%+v, another\n%+v", got, want)
			}
		})
	}
}

// overwrite changes a file where it is: no name is made.
func overwrite(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}
