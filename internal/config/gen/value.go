package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"time"
)

// value writes a key's default as the file would.
func (r *renderer) value(k key, defaults *ast.CompositeLit) string {
	v := lookup(defaults, k.field)
	switch e := v.(type) {
	case nil, *ast.CompositeLit:
		return "" // none, or told in the section of its own
	case *ast.BasicLit:
		if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return "`" + s + "`"
		}
	}
	n, err := evaluate(v)
	if err != nil {
		r.err = fmt.Errorf("default of %s: %w", k.name, err)
		return ""
	}
	switch types.ExprString(k.typ) {
	case "Size":
		return "`" + sizeText(n) + "`"
	case "Duration":
		return "`" + durationText(time.Duration(n)) + "`"
	}
	return "`" + strconv.FormatInt(n, 10) + "`"
}

// durations stand for the constants of package time, which is not loaded.
var durations = strings.NewReplacer(
	"time.Hour", strconv.Itoa(int(time.Hour)),
	"time.Minute", strconv.Itoa(int(time.Minute)),
	"time.Second", strconv.Itoa(int(time.Second)),
)

// evaluate computes a constant expression.
func evaluate(e ast.Expr) (int64, error) {
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		e = call.Args[0] // a conversion such as Duration(…)
	}
	tv, err := types.Eval(token.NewFileSet(), nil, token.NoPos, durations.Replace(types.ExprString(e)))
	if err != nil {
		return 0, err
	}
	n, ok := constant.Int64Val(constant.ToInt(tv.Value))
	if !ok {
		return 0, fmt.Errorf("%s is not a whole number", types.ExprString(e))
	}
	return n, nil
}

func sizeText(n int64) string {
	for _, u := range []struct {
		unit  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.unit
		}
	}
	return strconv.FormatInt(n, 10)
}

// durationText leaves out the zero minutes and seconds that Go writes.
func durationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
