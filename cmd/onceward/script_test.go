package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"onceward": main})
}

// The scripts of testdata run the program itself.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Vars = append(e.Vars, "ONCEWARD_API_KEY=a-key-of-16-or-more", "ONCEWARD_LISTEN=127.0.0.1:0", "ONCEWARD_RECEIVE_LISTEN=127.0.0.1:0",
				"ONCEWARD_ALLOW_PRIVATE_NETWORKS=true")
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "short" && testing.Short(), nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await": await,
			"field": field,
		},
	})
}

// await PATTERN COMMAND… runs a command until its output matches; await VAR=PATTERN FILE waits for a file's line and
// sets the variable to the pattern's first group.
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: await PATTERN COMMAND… | await VAR=PATTERN FILE")
	}
	name, pattern, set := strings.Cut(args[0], "=")
	if !set {
		name, pattern = "", args[0]
	}
	re, err := regexp.Compile(pattern)
	ts.Check(err)
	var text string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if set {
			b, _ := os.ReadFile(ts.MkAbs(args[1]))
			text = string(b)
		} else if err := ts.Exec(args[1], args[2:]...); err == nil {
			text = ts.ReadFile("stdout")
		}
		if m := re.FindStringSubmatch(text); m != nil {
			if set {
				ts.Setenv(name, m[len(m)-1])
			}
			return
		}
	}
	ts.Fatalf("%s did not come within 30 s; the last was:\n%s", pattern, text)
}

// field VAR PATTERN sets a variable to the first group of what the last command printed.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: field VAR PATTERN")
	}
	m := regexp.MustCompile(args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if m == nil {
		ts.Fatalf("no %s in:\n%s", args[1], ts.ReadFile("stdout"))
	}
	ts.Setenv(args[0], m[len(m)-1])
}

func TestScriptsAreThere(t *testing.T) {
	t.Parallel()
	if s, _ := filepath.Glob("testdata/*.txtar"); len(s) < 4 {
		t.Errorf("only %d scripts", len(s))
	}
}
