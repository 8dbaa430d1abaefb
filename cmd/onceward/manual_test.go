package main

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/onceward/onceward/api"
)

var update = flag.Bool("update", false, "write what TestManual would compare")

const manual = "../../docs/cli.md"

// docs/cli.md is written from the commands' own help.
func TestManual(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<!-- From here on it is written by: go test ./cmd/onceward -run TestManual -update -->\n"
	head, old, ok := strings.Cut(string(b), mark)
	if !ok {
		t.Fatalf("%s has no line %q", manual, mark)
	}
	now := writeManual(leaves(t))
	if *update {
		if err := os.WriteFile(manual, []byte(head+mark+now), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(old, now); d != "" {
		t.Errorf("%s is older than the commands' help; -update writes it:\n%s", manual, d)
	}
}

func leaves(t *testing.T) []*kong.Node {
	t.Helper()
	p, err := newParser()
	if err != nil {
		t.Fatal(err)
	}
	return p.Model.Leaves(true)
}

// path is a command's name as it is typed.
func path(n *kong.Node) string { return strings.TrimPrefix(n.FullPath(), "onceward ") }

func writeManual(commands []*kong.Node) string {
	var b strings.Builder
	b.WriteString("\n## Exit codes\n\n| code | what it says |\n|---|---|\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", e.code, e.means)
	}
	group := ""
	for _, n := range commands {
		if g, _, ok := strings.Cut(path(n), " "); g != group {
			group = g
			title, help := n, n.Help
			if ok {
				title, help = n.Parent, n.Parent.Help
			}
			fmt.Fprintf(&b, "\n## %s\n", title.Name)
			if ok {
				fmt.Fprintf(&b, "\n%s\n", help)
			}
		}
		fmt.Fprintf(&b, "\n### `onceward %s`\n\n%s\n", summary(n), n.Help)
		shown, more, _ := strings.Cut(strings.TrimPrefix(n.Detail, "Examples:\n\n"), "\n\n")
		fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.ReplaceAll(shown, "\t", ""))
		if more != "" {
			fmt.Fprintf(&b, "\n%s\n", more)
		}
		var rows []string
		for _, a := range n.Positional {
			rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", a.Summary(), a.Help))
		}
		for _, f := range n.Flags {
			if f.Name == "help" || f.Group != nil && (f.Group.Key == "common" || f.Group.Key == "watch") {
				continue
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s%s |\n", flagUse(f), f.Help, named(n, f)))
		}
		if rows != nil {
			fmt.Fprintf(&b, "\n| | |\n|---|---|\n%s", strings.ReplaceAll(strings.Join(rows, ""), "(NAME-dlq)", "(`NAME-dlq`)"))
		}
	}
	return b.String()
}

func summary(n *kong.Node) string {
	s := path(n)
	for _, a := range n.Positional {
		s += " " + a.Summary()
	}
	return s
}

func flagUse(f *kong.Flag) string {
	s := "--" + f.Name
	if f.Tag.Negatable != "" {
		s = "--[no-]" + f.Name
	}
	if f.Short != 0 {
		s = "-" + string(f.Short) + ", " + s
	}
	if !f.IsBool() {
		s += "=" + f.FormatPlaceHolder()
	}
	return s
}

// named is the flag's variable, where it is not by the rule.
func named(n *kong.Node, f *kong.Flag) string {
	if len(f.Envs) == 0 || f.Envs[0] == variable(n, f.Name) {
		return ""
	}
	return " `" + f.Envs[0] + "`"
}

// A variable's name must mean one thing: of two flags that share one, both have said so.
func TestVariablesAreDistinct(t *testing.T) {
	t.Parallel()
	first := map[string]string{}
	for _, n := range leaves(t) {
		for _, f := range n.Flags {
			if f.Name == "help" || f.Envs[0] != variable(n, f.Name) {
				continue
			}
			if other, ok := first[f.Envs[0]]; ok {
				t.Errorf("%s is of both %s and %s --%s", f.Envs[0], other, path(n), f.Name)
			}
			first[f.Envs[0]] = path(n) + " --" + f.Name
		}
	}
}

// shown gives a command's examples.
func shown(n *kong.Node) []string {
	var out []string
	for l := range strings.Lines(n.Detail) {
		if e, ok := strings.CutPrefix(l, "\tonceward "); ok {
			out = append(out, strings.TrimSuffix(e, "\n"))
		}
	}
	return out
}

// Every command has examples, and they are of that command and understood.
func TestExamplesParse(t *testing.T) {
	t.Parallel()
	type example struct {
		of   *kong.Node
		text string
	}
	var all []example
	script := `onceward() { printf '%s\0' "$@"; printf '\n\0'; }` + "\n" // the shell's own reading of the words
	for _, n := range leaves(t) {
		if len(shown(n)) == 0 {
			t.Errorf("onceward %s has no example: give it a Help method", path(n))
		}
		for _, e := range shown(n) {
			all = append(all, example{n, e})
			script += "onceward " + beforeRedirect(e) + "\n"
		}
	}
	words, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	read := strings.Split(strings.TrimSuffix(string(words), "\x00\n\x00"), "\x00\n\x00")
	if len(read) != len(all) {
		t.Fatalf("%d examples, and the shell reads %d", len(all), len(read))
	}
	for i, e := range all {
		p, err := newParser()
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.Parse(strings.Split(read[i], "\x00"))
		if err != nil {
			t.Errorf("onceward %s: %v", e.text, err)
		} else if k.Selected().FullPath() != e.of.FullPath() {
			t.Errorf("%q is an example of %s and runs %s", e.text, path(e.of), k.Selected().FullPath())
		}
	}
}

// beforeRedirect leaves out which file is read or written.
func beforeRedirect(e string) string {
	if i := strings.LastIndexAny(e, "<>"); i > 0 && e[i-1] == ' ' {
		return e[:i]
	}
	return e
}

// Every call of the contract has a command: the examples are run against a server that notes what was called.
func TestEveryRouteHasACommand(t *testing.T) {
	t.Parallel()
	routes := api.Routes()
	// Another path of the same call.
	twins := map[string]string{"POST /v1/queue/dlq/redrive_cancel/{id}": "POST /v1/redrives/{id}/cancel"}
	var (
		mu     sync.Mutex
		called = map[string]string{}
		now    string
	)
	mux := http.NewServeMux()
	for _, r := range routes {
		path, parameters, _ := strings.Cut(r, "?")
		mux.HandleFunc(path, func(w http.ResponseWriter, req *http.Request) {
			mu.Lock()
			called[r] = now
			mu.Unlock()
			for name := range req.URL.Query() {
				if !slices.Contains(strings.Split(parameters, "&"), name) {
					t.Errorf("onceward %s sends ?%s=, which %s does not have", now, name, path)
				}
			}
			answerAny(w, req)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, req *http.Request) {
		t.Errorf("onceward %s calls %s %s, which is not of the contract", now, req.Method, req.URL)
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	dir := t.TempDir()
	for _, f := range []string{"job.json", "jobs.jsonl", "messages.jsonl", "ticket.json"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte(`{"payload": 1}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range leaves(t) {
		if g := n.ClosestGroup(); g == nil || g.Key != "clients" {
			continue
		}
		for _, e := range shown(n) {
			mu.Lock()
			now = e
			mu.Unlock()
			if strings.HasPrefix(e, "health --url") {
				continue // the address is the example's point
			}
			cmd := exec.Command("sh", "-c", "onceward "+strings.ReplaceAll(e, " --watch", "")) // which would go on
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "ONCEWARD_URL="+s.URL, "ONCEWARD_API_KEY=a-key-of-16-or-more")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("onceward %s: %v\n%s", e, err, out)
			}
		}
	}
	for _, r := range routes {
		if called[r] == "" && called[twins[r]] == "" {
			t.Errorf("no command calls %s: give it one, with an example", r)
		}
	}
}

// answerAny answers as any call would that went well.
func answerAny(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	var asked struct {
		Items    []jsontext.Value `json:"items"`
		Messages []jsontext.Value `json:"messages"`
	}
	_ = json.Unmarshal(body, &asked)
	item := object{"acked": true, "nacked": true, "released": true, "extended": true, "state": "completed", "error": nil, "name": "jobs", "verdict": "granted", "applied": true}
	items := []object{}
	for range len(asked.Items) + len(asked.Messages) {
		items = append(items, item)
	}
	if req.URL.Path == "/v1/queue/list" {
		items = append(items, item)
	}
	data := object{"items": items, "next_cursor": nil, "deliveries": []object{}, "event_id": "evt_7"}
	for k, v := range item {
		data[k] = v
	}
	_ = json.MarshalWrite(w, object{"ok": true, "data": data, "error": nil, "metadata": object{}})
}

// Every command is run by a script against a real server.
func TestEveryCommandHasAScript(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 4 {
		t.Fatalf("%d scripts, %v", len(names), err)
	}
	var all strings.Builder
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	for _, n := range leaves(t) {
		if !strings.Contains(all.String(), "onceward "+path(n)+" ") && !strings.Contains(all.String(), "onceward "+path(n)+"\n") {
			t.Errorf("no script of testdata runs onceward %s", path(n))
		}
	}
}
