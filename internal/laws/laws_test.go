package laws_test

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

var domains = []string{"access", "account", "cron", "idempotency", "ledger", "queue", "webhook", "worker"}

// The rules must hold on every store and be testable without one; a domain that knows its store's driver soon has
// rules of that store alone.
func TestDomainsKnowNoStore(t *testing.T) {
	t.Parallel()
	drivers := []string{"database/sql", "github.com/jackc/pgx", "modernc.org/sqlite", "github.com/mattn/go-sqlite3"}
	for _, f := range files(t) {
		if f.test || !slices.ContainsFunc(domains, func(d string) bool { return under(f.room, d) }) {
			continue
		}
		for _, p := range f.imports() {
			if strings.HasPrefix(p, "/store") || slices.ContainsFunc(drivers, func(d string) bool { return strings.HasPrefix(p, d) }) {
				t.Errorf("%s imports %s: a domain says what it needs as an interface of its own", f.path, p)
			}
		}
	}
}

// Who listens is decided at the edge: a domain that starts a server cannot be embedded or tested in memory.
func TestDomainsStartNoServer(t *testing.T) {
	t.Parallel()
	server := []string{"Server", "ListenAndServe", "ListenAndServeTLS", "Serve", "ServeTLS"}
	for _, f := range files(t) {
		if f.test || !slices.ContainsFunc(domains, func(d string) bool { return under(f.room, d) }) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "http" && slices.Contains(server, s.Sel.Name) {
				t.Errorf("%s uses http.%s: servers are made in cmd", f.path, s.Sel.Name)
			}
			return true
		})
	}
}

// Who calls a server wants nothing of what it is made of: a program that uses the client gets the standard library and our own mechanisms, which
// themselves have nothing else.
func TestClientIsTheStandardLibraryAlone(t *testing.T) {
	t.Parallel()
	own := []string{"client", "internal/batch", "internal/group", "internal/lease", "internal/retryafter"}
	for _, f := range files(t) {
		if f.test || !slices.Contains(own, f.room) {
			continue
		}
		for _, p := range f.imports() {
			if first, _, _ := strings.Cut(p, "/"); strings.Contains(first, ".") || first == "" && !slices.Contains(own, p[1:]) {
				t.Errorf("%s imports %s: the client has the standard library, and %v", f.path, p, own)
			}
		}
	}
}

// Six floors, no circle: a package imports only from floors below its own. Money stands beneath what is charged. What is not named here stands on the ground
// floor beside the domains' rules.
func TestArrowsPointDown(t *testing.T) {
	t.Parallel()
	floors := map[string]int{
		"cmd": 6, "internal/verify": 6, ".": 5, "api": 4, "dashboard": 4, "store/postgres": 4, "store/sqlite": 4, "store/sqldb": 4, "store/storetest": 4,
		"store": 3, "webhook": 2, "cron": 2, "worker": 1, "idempotency": 1, "queue": 0, "ledger": 0, "access": 0, "account": -1,
	}
	floor := func(room string) (int, bool) {
		for {
			if n, ok := floors[room]; ok {
				return n, true
			}
			if room == "." || room == "/" {
				return 0, false
			}
			if room = path.Dir(room); room == "." {
				return 0, false
			}
		}
	}
	for _, f := range files(t) {
		mine, ok := floor(f.room)
		if !ok || f.test {
			continue
		}
		for _, p := range f.imports() {
			if !strings.HasPrefix(p, "/") || strings.HasPrefix(p, "/internal/") && p != "/internal/verify" {
				continue
			}
			to := strings.TrimPrefix(p, "/")
			if to == "" {
				to = "."
			}
			if theirs, ok := floor(to); ok && theirs >= mine && !under(to, f.room) && to != "internal/verify" {
				t.Errorf("%s (floor %d) imports %s (floor %d): arrows point down", f.path, mine, to, theirs)
			}
		}
	}
}

// internal holds mechanisms. A noun of the domain there is a second home for it; a package named for what it is not ("util")
// gathers what nobody owns.
func TestInternalHoldsMechanisms(t *testing.T) {
	t.Parallel()
	nouns := []string{"queue", "message", "event", "endpoint", "delivery", "attempt", "claim", "key", "project", "tenant", "user", "schedule", "job"}
	vague := []string{"util", "utils", "common", "helper", "helpers", "misc", "model", "models", "service", "services", "manager", "pkg", "base", "core", "types"}
	for _, f := range files(t) {
		name := path.Base(f.room)
		if slices.Contains(vague, name) {
			t.Errorf("%s: the package name %q says nothing about what it does", f.path, name)
		}
		if strings.HasPrefix(f.room, "internal/") && (slices.Contains(nouns, name) || slices.Contains(nouns, strings.TrimSuffix(name, "s"))) {
			t.Errorf("%s: %q is a noun of the domain; it belongs to a public package", f.path, name)
		}
		if !strings.HasPrefix(f.room, "internal/") || f.test || f.room == "internal/verify" {
			continue
		}
		for _, p := range f.imports() {
			if slices.ContainsFunc(domains, func(d string) bool { return under(strings.TrimPrefix(p, "/"), d) && strings.HasPrefix(p, "/") }) {
				t.Errorf("%s imports %s: a mechanism knows no domain", f.path, p)
			}
		}
	}
}

// A file that does not fit in a head hides its mistakes. Split by verb.
func TestFilesAreSmall(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.lines > 500 {
			t.Errorf("%s has %d lines; at most 500", f.path, f.lines)
		}
	}
}

// Docs are where the eye is.
func TestEveryPackageSaysWhatItIs(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, f := range files(t) {
		if !f.test {
			said[f.room] = said[f.room] || f.ast.Doc != nil
		}
	}
	for room, ok := range said {
		if !ok {
			t.Errorf("%s has no package comment", room)
		}
	}
}

// A library must not change its program's garbage collector: only our own programs may.
func TestOnlyTheProgramTunesTheCollector(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.test || f.ast.Name.Name == "main" {
			continue
		}
		for _, call := range []string{"debug.SetGCPercent", "debug.SetMemoryLimit"} {
			if strings.Contains(f.text, call) {
				t.Errorf("%s calls %s: that is for programs alone", f.path, call)
			}
		}
	}
}

// An exit in the middle skips every deferred close, and no test can reach it.
func TestNobodyExitsButMain(t *testing.T) {
	t.Parallel()
	for _, f := range files(t) {
		if f.test || f.ast.Name.Name == "main" && path.Base(f.path) == "main.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			s, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && (x.Name == "os" && s.Sel.Name == "Exit" || x.Name == "log" && strings.HasPrefix(s.Sel.Name, "Fatal")) {
				t.Errorf("%s uses %s.%s: return the error", f.path, x.Name, s.Sel.Name)
			}
			return true
		})
	}
}
