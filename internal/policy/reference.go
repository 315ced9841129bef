package policy

import "slices"

// fromReference maps the spellings of the reference's sandbox block to this
// language, with a note for each, and reports whether there were any. The tree
// that it gets, a mapping, is changed.
func fromReference(n *node, rep *report) (*node, bool) {
	r := &reference{report: rep}
	n = r.unwrap(n)
	r.rename(n, "type", "backend")
	r.rename(n, "unix_socket", "unix_sockets")
	if s := n.get("unix_sockets"); r.used && s != nil && s.kind == scalar && s.tag == tagString {
		*s = node{kind: list, at: s.at, items: []*node{{text: s.text, at: s.at}}}
	}
	r.writeFiles(n)
	r.copyOnWrite(n)
	r.scan(n)
	r.private(n)
	if b := n.get("backend"); b != nil && b.kind == scalar && (b.tag == tagNull || b.text == "auto") {
		n.take("backend")
	}
	return n, r.used
}

type reference struct {
	*report
	used bool
}

func (r *reference) note(at Pos, format string, args ...any) {
	r.used = true
	r.notef(at, format, args...)
}

// unwrap takes the block out of os_env: {type, cwd, sandbox} or sandbox:. What
// stands beside the wrapper stays and is judged like any key.
func (r *reference) unwrap(n *node) *node {
	if f, ok := n.take("os_env"); ok {
		if f.value.kind != mapping {
			r.errorf(f.at, "os_env", "must be a mapping, not %v", f.value.kind)
			return n
		}
		if t, ok := f.value.take("type"); ok {
			r.note(t.at, "os_env.type is ignored: what enforces is named by backend")
		}
		if c, ok := f.value.take("cwd"); ok {
			r.note(c.at, "os_env.cwd is ignored: the working directory is the request's")
		}
		n = merge(n, f.value)
		r.used = true
	}
	if f, ok := n.take("sandbox"); ok {
		if f.value.kind != mapping {
			r.errorf(f.at, "sandbox", "must be a mapping, not %v", f.value.kind)
			return n
		}
		n = merge(n, f.value)
		r.used = true
	}
	return n
}

func (r *reference) rename(n *node, old, name string) {
	f, ok := n.take(old)
	if !ok {
		return
	}
	if n.get(name) != nil {
		r.errorf(f.at, old, "is the reference's word for %s, which is given too", name)
		return
	}
	r.note(f.at, "%s is read as %s", old, name)
	n.put(field{name, f.at, f.value})
}

func (r *reference) writeFiles(n *node) {
	f, ok := n.take("write_files")
	if !ok || f.value.isNull() {
		return
	}
	if f.value.kind != list {
		r.errorf(f.value.at, "write_files", "must be a list, not %v", f.value.kind)
		return
	}
	for _, item := range f.value.items {
		n.extend("write_paths", item)
	}
	r.note(f.at, "write_files is read as write_paths: a file or a directory is told when it is opened")
}

// copyOnWrite maps write_paths: [{path, copy_on_write}].
func (r *reference) copyOnWrite(n *node) {
	paths := n.get("write_paths")
	if paths == nil || paths.kind != list {
		return
	}
	paths.items = slices.Clone(paths.items)
	for i, item := range paths.items {
		p := item.get("path")
		if p == nil {
			continue
		}
		key := index("write_paths", i)
		cow := item.get("copy_on_write")
		switch {
		case cow.isBool() && cow.text == "true":
			r.add(Error{Pos: cow.at, Key: key + ".copy_on_write", Code: "not_built", Msg: "not built yet, so a policy with it is refused"})
		case cow != nil && !cow.isBool():
			r.errorf(cow.at, key+".copy_on_write", "must be true or false")
		}
		for _, f := range item.fields {
			if f.name != "path" && f.name != "copy_on_write" {
				r.errorf(f.at, key+"."+f.name, "unknown key")
			}
		}
		r.note(item.at, "%s is read as its path", key)
		paths.items[i] = p
	}
}

// scan maps the flat cwd_hidden_scan_* keys.
func (r *reference) scan(n *node) {
	put := func(old, name string, value *node, at Pos) {
		s := n.get("cwd_hidden_scan")
		if s == nil {
			s = &node{kind: mapping, at: at}
			n.put(field{"cwd_hidden_scan", at, s})
		}
		if s.kind == mapping {
			s.put(field{name, at, value})
			r.note(at, "%s is read as cwd_hidden_scan.%s", old, name)
		}
	}
	if f, ok := n.take("cwd_hidden_scan_recursive"); ok && f.value.isBool() {
		depth := map[string]string{"true": "3", "false": "1"}[f.value.text]
		put("cwd_hidden_scan_recursive", "depth", &node{tag: tagInt, text: depth, at: f.at}, f.at)
	} else if ok {
		r.errorf(f.at, "cwd_hidden_scan_recursive", "must be true or false")
	}
	if f, ok := n.take("cwd_hidden_scan_max_entries"); ok {
		put("cwd_hidden_scan_max_entries", "max", f.value, f.at)
	}
	if f, ok := n.take("cwd_hidden_scan_overflow"); ok {
		put("cwd_hidden_scan_overflow", "on_overflow", f.value, f.at)
	}
}

// private maps egress_allow_private_destinations to its weakening.
func (r *reference) private(n *node) {
	const old = "egress_allow_private_destinations"
	f, ok := n.take(old)
	switch {
	case !ok || f.value.isNull():
	case !f.value.isBool():
		r.errorf(f.at, old, "must be true or false")
	case f.value.text == "true":
		n.extend("weaken", &node{text: "private_destinations", at: f.at})
		r.note(f.at, "%s is read as weaken: [private_destinations]; metadata addresses stay refused", old)
	}
}
