package scout

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/omnijail/omnijail/internal/child"
)

// Bounds of a request.
const (
	maxPaths   = 1024 // grants, masks or pins
	maxSources = 16
	maxPath    = 4096 // bytes
)

// checkAsk looks at the shape of a request before anything is touched. The daemon
// made it, from a policy that a user wrote.
func checkAsk(ask child.ScoutAsk) error {
	things := 0
	for _, asked := range []bool{ask.Open != nil, ask.Source != nil, ask.Observe != nil, ask.Pump != nil, ask.Watch != nil, ask.Gate != nil, ask.Cache != nil, ask.Again, ask.Restore != nil} {
		if asked {
			things++
		}
	}
	if things != 1 {
		return errors.New("a scout is asked for exactly one thing")
	}
	if ask.Pump != nil || ask.Gate != nil || ask.Cache != nil || ask.Again {
		return nil
	}
	if ask.Observe != nil {
		return checkObserve(ask.Observe)
	}
	if ask.Watch != nil {
		return checkWatch(ask.Watch)
	}
	if ask.Restore != nil {
		return checkRestore(ask.Restore)
	}
	if ask.Source != nil {
		if n := len(ask.Source.Sources); n == 0 || n > maxSources {
			return fmt.Errorf("%d sources; between 1 and %d are allowed", n, maxSources)
		}
		return checkPath("home", ask.Source.Home)
	}
	return checkOpen(ask.Open)
}

func checkObserve(r *child.ObserveRequest) error {
	if len(r.Grants) > maxPaths {
		return fmt.Errorf("more than %d paths", maxPaths)
	}
	var err error
	for _, g := range r.Grants {
		err = errors.Join(err, checkPath("grant", g))
	}
	return err
}

func checkOpen(r *child.OpenRequest) error {
	v := &r.View
	if max(len(v.Grants), len(v.Masks), len(v.Pins)) > maxPaths {
		return fmt.Errorf("more than %d paths", maxPaths)
	}
	err := errors.Join(checkPath("cwd", v.Cwd), checkPath("home", r.User.Home))
	for _, g := range v.Grants {
		err = errors.Join(err, checkPath("grant", g.Path))
	}
	for _, m := range v.Masks {
		err = errors.Join(err, checkPath("mask", m.Path))
	}
	for _, p := range v.Pins {
		err = errors.Join(err, checkPath("pin", p.Path))
	}
	if len(v.Protect) > maxPaths || v.ScanMax < 0 || v.ScanDepth < 0 {
		return errors.New("what to protect is malformed")
	}
	for _, p := range v.Protect {
		err = errors.Join(err, checkPattern(p.Pattern))
	}
	for _, glob := range append(append([]string(nil), v.Visible...), v.ReadOnly...) {
		if _, e := path.Match(glob, ""); e != nil || strings.Contains(glob, "/") {
			err = errors.Join(err, fmt.Errorf("%q is not a pattern for one name", glob))
		}
	}
	return err
}

// checkPattern wants a clean absolute path of globs, or a glob on one name.
func checkPattern(p string) error {
	if strings.Contains(p, "/") {
		if err := checkPath("protect", p); err != nil {
			return err
		}
	} else if p == "" {
		return errors.New("an empty pattern")
	}
	for part := range strings.SplitSeq(p, "/") {
		if _, err := path.Match(part, ""); err != nil {
			return fmt.Errorf("%q is not a pattern", p)
		}
	}
	return nil
}

func checkPath(what, p string) error {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p || len(p) > maxPath || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%s %.200q is not a clean absolute path", what, p)
	}
	return nil
}
