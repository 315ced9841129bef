package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/omnijail/omnijail/internal/jail"
)

// Trust is the user's memory of which policy files they have read: a file that
// lies in the directory it rules over may have been written by what ran there.
type Trust struct {
	Path string // the store; see TrustPath
}

// TrustPath is where a user's trust store is. It is never visible in a jail.
func TrustPath(home string) string { return filepath.Join(home, ".local/state/omnijail/trust.json") }

type trusted struct {
	Digest string    `json:"digest"`
	At     time.Time `json:"at"`
}

// Untrusted says that a policy file may not be obeyed yet. Its text says what
// the policy would do.
type Untrusted struct {
	Label string    // "./.omnijail.yaml"
	Since time.Time // when an earlier content was trusted; zero if never
	Doc   *Document
	Cwd   string
}

// NeedsTrust reports whether a policy file needs trust: it lies in cwd or below,
// whatever names it and through whatever link.
func NeedsTrust(f Found, cwd string) (bool, error) {
	if f.Kind != File {
		return false, nil
	}
	path, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return false, err
	}
	dir, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return false, err
	}
	return jail.Within(dir, path) || jail.Within(cwd, f.Path), nil
}

// Check returns nil when this content of this file was trusted, else *Untrusted
// or why the store cannot be read. It does not ask whether trust is needed.
func (t Trust) Check(f Found, flat *Flat, doc *Document, cwd string) error {
	store, err := t.read()
	if err != nil {
		return err
	}
	key, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return err
	}
	old, known := store[key]
	if known && old.Digest == flat.Digest {
		return nil
	}
	return &Untrusted{Label: f.Label, Since: old.At, Doc: doc, Cwd: cwd}
}

// Record trusts this content of this file. now is the time that a later change
// is dated by.
func (t Trust) Record(f Found, flat *Flat, now time.Time) error {
	store, err := t.read()
	if err != nil {
		return err
	}
	key, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return err
	}
	store[key] = trusted{flat.Digest, now.UTC().Truncate(time.Second)}
	return t.write(store)
}

// read returns the store; one that is not there is empty. A store that others
// could have written trusts nothing.
func (t Trust) read() (map[string]trusted, error) {
	store := map[string]trusted{}
	st, err := os.Lstat(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return store, nil
	}
	if err != nil {
		return nil, fmt.Errorf("trust store: %w", err)
	}
	if !st.Mode().IsRegular() || st.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("trust store %s must be a file that only you can use: chmod 600 it, or remove it and trust again", t.Path)
	}
	text, err := os.ReadFile(t.Path)
	if err != nil {
		return nil, fmt.Errorf("trust store: %w", err)
	}
	if err := json.Unmarshal(text, &store); err != nil || store == nil {
		return nil, fmt.Errorf("trust store %s is damaged: remove it and trust again", t.Path)
	}
	return store, nil
}

// write replaces the store in one step, so that a reader sees the old or the
// new one.
func (t Trust) write(store map[string]trusted) error {
	dir := filepath.Dir(t.Path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	text, err := json.MarshalIndent(store, "", "\t")
	if err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".trust-*") // mode 0600
	if err != nil {
		return fmt.Errorf("trust store: %w", err)
	}
	_, err = tmp.Write(append(text, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), t.Path)
	}
	if err != nil {
		os.Remove(tmp.Name())
		return fmt.Errorf("trust store: %w", err)
	}
	return nil
}
