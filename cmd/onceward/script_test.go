package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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
			root, err := filepath.Abs("../..")
			if err != nil {
				return err
			}
			e.Vars = append(e.Vars, "GORACE="+os.Getenv("GORACE"), "ROOT="+root, "ONCEWARD_API_KEY=a-key-of-16-or-more", "ONCEWARD_LISTEN=127.0.0.1:0", "ONCEWARD_RECEIVE_LISTEN=127.0.0.1:0",
				"ONCEWARD_ALLOW_PRIVATE_NETWORKS=true")
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "short" && testing.Short(), nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"await":  await,
			"field":  field,
			"readme": readme,
		},
	})
}

// patience is for machines that do much else.
const patience = 2 * time.Minute

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
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
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
	ts.Fatalf("%s did not come within %v; the last was:\n%s", pattern, patience, text)
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

// readme FROM TO FILE writes the README's shell blocks FROM to TO, the first being 1, to a script. Its addresses alone are others, since
// tests run side by side: the receiver's is one that is free, and the server's is $SERVER if that is set. The script's ONCEWARD_ variables
// are made to agree.
func readme(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: readme FROM TO FILE")
	}
	from, err := strconv.Atoi(args[0])
	ts.Check(err)
	to, err := strconv.Atoi(args[1])
	ts.Check(err)
	text, err := os.ReadFile(filepath.Join(ts.Getenv("ROOT"), "README.md"))
	ts.Check(err)
	blocks := regexp.MustCompile("(?ms)^```sh\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
	if to > len(blocks) || from < 1 {
		ts.Fatalf("the README has %d blocks of sh", len(blocks))
	}
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "echo == block %d\n%s", i, blocks[i-1][1])
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Check(l.Close())
	ts.Setenv("ONCEWARD_RECEIVE_LISTEN", l.Addr().String())
	script := strings.ReplaceAll(b.String(), "127.0.0.1:8099", l.Addr().String())
	// A person sees the receiver's line before going on.
	there := "\nuntil (: </dev/tcp/" + strings.Replace(l.Addr().String(), ":", "/", 1) + ") 2>/dev/null; do sleep 0.1; done\n"
	script = regexp.MustCompile(`(?m)^onceward receive &.*\n`).ReplaceAllString(script, "${0}"+there)
	if at := ts.Getenv("SERVER"); at != "" {
		script = strings.ReplaceAll(script, "http://127.0.0.1:6623", at)
		ts.Setenv("ONCEWARD_URL", at)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(script), 0o644))
}
