package laws_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	anyTest     = regexp.MustCompile(`func ((?:Test|Fuzz)\w+)\(`)
	namedTest   = regexp.MustCompile("(?:^|[^\\w])((?:Test|Fuzz)[A-Z]\\w+)(/[^`]*`)?")
	securityRow = regexp.MustCompile(`(?m)^\| [^|]+ \| [^|]+ \| ([^|]+) \|$`)
)

// testsOf gives the names of the tests and fuzz targets that there are.
func testsOf(t *testing.T) map[string]bool {
	there := map[string]bool{}
	for _, f := range files(t) {
		if !f.test && !under(f.room, "store/storetest") {
			continue
		}
		for _, m := range anyTest.FindAllStringSubmatch(f.text, -1) {
			there[m[1]] = true
		}
	}
	return there
}

// noTests gives the tests that a text names, with their subtests after slashes, and that are not there; and how many it names.
func noTests(t *testing.T, text string) (missing []string, named int) {
	for _, m := range namedTest.FindAllStringSubmatch(text, -1) {
		named++
		parts := strings.Split(strings.Trim(m[1]+m[2], "`"), "/")
		if !slices.ContainsFunc(files(t), func(f *file) bool {
			return (f.test || under(f.room, "store/storetest")) && strings.Contains(f.text, "func "+parts[0]+"(") && hasAll(t, f.room, parts[1:])
		}) {
			missing = append(missing, strings.Join(parts, "/"))
		}
	}
	return missing, named
}

// hasAll reports whether the tests of a room have each of the names.
func hasAll(t *testing.T, room string, names []string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(files(t), func(f *file) bool { return f.test && f.room == room && strings.Contains(f.text, `"`+name+`"`) }) {
			return false
		}
	}
	return true
}

// What was mended is shown by a test, or it comes back: each entry names one that is there.
func TestWhatIsFixedIsShown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	entries := 0
	for _, part := range strings.Split(string(b), "\n### Fixed\n")[1:] {
		part, _, _ = strings.Cut(part, "\n#")
		for entry := range strings.SplitSeq("\n"+strings.TrimSpace(part), "\n- ") {
			if entry == "" {
				continue
			}
			entries++
			missing, named := noTests(t, entry)
			if named == 0 {
				t.Errorf("CHANGELOG.md: which test shows that this is mended? Its name stands at the end, in parentheses: %s", entry)
			}
			for _, name := range missing {
				t.Errorf("CHANGELOG.md: there is no test %s: %s", name, entry)
			}
		}
	}
	if entries < 10 {
		t.Errorf("only %d entries found", entries)
	}
}

// What SECURITY.md says of how it is done is seen by tests, and each is there.
func TestSecurityIsShown(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	missing, named := noTests(t, string(b))
	for _, name := range missing {
		t.Errorf("SECURITY.md: there is no test %s", name)
	}
	_, how, _ := strings.Cut(string(b), "\n## How\n")
	rows := securityRow.FindAllStringSubmatch(how, -1)
	for _, row := range rows[min(1, len(rows)):] { // after the head
		if !namedTest.MatchString(row[1]) {
			t.Errorf("SECURITY.md: a row is seen by no test: %s", row[0])
		}
	}
	if named < 20 || len(rows) < 10 {
		t.Errorf("SECURITY.md names %d tests in %d rows", named, len(rows))
	}
}

// Who can measure how long a compare takes can guess a MAC byte by byte, and no test of what is refused shows it.
func TestMACsAreComparedInConstantTime(t *testing.T) {
	t.Parallel()
	compares := map[string]int{"internal/ids/ids.go": 2, "webhook/verify.go": 1}
	for _, f := range files(t) {
		if f.test || under(f.room, "test") || under(f.room, "bench") || under(f.room, "store/storetest") {
			continue
		}
		unequal, constant := compared(f.ast)
		for _, how := range unequal {
			t.Errorf("%s compares a MAC or a secret by %s; hmac.Equal takes the same time whatever differs", f.path, how)
		}
		if want, ok := compares[f.path]; ok && constant != want {
			t.Errorf("%s compares in constant time %d times, want %d: bring the law to what the code is now", f.path, constant, want)
		}
		delete(compares, f.path)
	}
	for path := range compares {
		t.Errorf("%s is not there: where are its MACs compared now?", path)
	}
}

// The law sees what it is there for.
func TestUnequalTimesAreSeen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		bad  bool
	}{
		"hmac.Equal":                 {`return hmac.Equal(b, c.mac(k))`, false},
		"subtle":                     {`return subtle.ConstantTimeCompare(secret, given) == 1`, false},
		"its length":                 {`return len(secret) == 32 || secret == nil || password == ""`, false},
		"of a hash of content":       {`return bytes.Equal(hash, n.Hash)`, false},
		"bytes.Equal of a MAC":       {`return bytes.Equal(b, c.mac(k))`, true},
		"of what was a MAC":          {"want := mac(nil, s)\nreturn bytes.Equal(sum, want)", true},
		"a part of what was a MAC":   {"want := m.Sum(nil)\nreturn bytes.Equal(sum, want[:9])", true},
		"as a string":                {`return string(b) == string(c.mac(k))`, true},
		"as an array":                {`return [32]byte(b) != [32]byte(m.Sum(nil))`, true},
		"slices.Equal":               {`return slices.Equal(c.mac(k), b)`, true},
		"bytes.Compare":              {`return bytes.Compare(c.mac(k), b) == 0`, true},
		"a prefix":                   {`return bytes.HasPrefix(c.mac(k), b)`, true},
		"a secret":                   {`return given == e.secret`, true},
		"an API key":                 {`return c.APIKey == given`, true},
		"a password by bytes.Equal":  {`return bytes.Equal(given, password)`, true},
		"a signature":                {`return signature == h.Get("Webhook-Signature")`, true},
		"in a switch on a signature": {"switch signature {\ncase given:\n}\nreturn false", true},
	} {
		f, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\nfunc f() bool {\n"+c.body+"\n}", parser.SkipObjectResolution)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, _ := compared(f); len(got) > 0 != c.bad {
			t.Errorf("%s: seen %q, want any: %v", name, got, c.bad)
		}
	}
}

var (
	secretName = regexp.MustCompile(`(?i)(secret|password|apikey|signature|mac)$`)
	leaks      = []string{"bytes.Equal", "bytes.Compare", "bytes.HasPrefix", "bytes.HasSuffix", "slices.Equal", "slices.Compare", "strings.EqualFold", "strings.Compare", "reflect.DeepEqual"}
)

// compared gives how a file compares what is secret, where the time tells, and how often it compares anything in constant time.
func compared(f *ast.File) (unequal []string, constant int) {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		macs := map[string]bool{} // the variables that hold one
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
				for i, of := range a.Rhs {
					if name, ok := a.Lhs[i].(*ast.Ident); ok && secret(of, nil) {
						macs[name.Name] = true
					}
				}
			}
			return true
		})
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if (n.Op == token.EQL || n.Op == token.NEQ) && !fixed(n.X) && !fixed(n.Y) && (secret(n.X, macs) || secret(n.Y, macs)) {
					unequal = append(unequal, n.Op.String())
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && secret(n.Tag, macs) {
					unequal = append(unequal, "switch")
				}
			case *ast.CallExpr:
				switch called := name(n.Fun); {
				case called == "hmac.Equal" || called == "subtle.ConstantTimeCompare":
					constant++
				case slices.Contains(leaks, called) && slices.ContainsFunc(n.Args, func(a ast.Expr) bool { return secret(a, macs) }):
					unequal = append(unequal, called)
				}
			}
			return true
		})
	}
	return unequal, constant
}

// secret reports whether an expression is a MAC or a secret itself: what a function called mac or Sum gives, a name that says so, or a part or another form of such.
func secret(e ast.Expr, macs map[string]bool) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return macs[e.Name] || secretName.MatchString(e.Name)
	case *ast.SelectorExpr:
		return secretName.MatchString(e.Sel.Name)
	case *ast.StarExpr:
		return secret(e.X, macs)
	case *ast.ParenExpr:
		return secret(e.X, macs)
	case *ast.SliceExpr:
		return secret(e.X, macs)
	case *ast.CallExpr:
		called := name(e.Fun)
		if called == "mac" || strings.HasSuffix(called, ".mac") || strings.HasSuffix(called, ".Sum") {
			return true
		}
		_, array := e.Fun.(*ast.ArrayType)
		return len(e.Args) == 1 && (called == "string" || array) && secret(e.Args[0], macs)
	}
	return false
}

// fixed reports whether an expression is nobody's secret: a literal, nil, true or false.
func fixed(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	_, literal := e.(*ast.BasicLit)
	return literal || ok && slices.Contains([]string{"nil", "true", "false"}, id.Name)
}

// name gives what a call names: f, x.f.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return fmt.Sprint(name(e.X), ".", e.Sel.Name)
	}
	return ""
}
