// Command mutants takes the guards of the code out, one at a time, and demands that the test which the list names for each
// fails by its own assertion, on every store that the guard concerns. A guard whose mutant survives is one that nothing shows: a
// test is missing.
//
// The tree itself is never touched: what a mutant changes is laid over it for the compiler alone. A mutant must compile, pass vet, and its
// SQL must prepare; what fails by an error of the database, a panic or a time-out is not caught.
//
//	go run ./test/mutants [--only ID,…] [--store sqlite|postgres] [--jobs N] [-v]
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// bench is where mutants are built and tried.
type bench struct {
	root, dir string
	store     string // tried alone; "" is all
	verbose   bool
	env       []string
	say       sync.Mutex
}

func run(ctx context.Context) error {
	only := flag.String("only", "", "the mutants to try, by their ids with commas between; else all")
	store := flag.String("store", "", "try them on this store alone: sqlite or postgres")
	jobs := flag.Int("jobs", 2, "how many mutants are tried at a time")
	verbose := flag.Bool("v", false, "print what the tests print")
	flag.Parse()
	if *store != "" && packages[*store] == "" {
		return fmt.Errorf("--store is %q; it is %s or %s", *store, onSQLite, onPostgres)
	}
	list, err := choose(*only)
	if err != nil {
		return err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "onceward-mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{root: root, dir: dir, store: *store, verbose: *verbose, env: os.Environ()}
	if *store != onSQLite && os.Getenv("ONCEWARD_TEST_POSTGRES") == "" {
		c, err := pgtest.Start(ctx, pgtest.Options{Dir: pgtest.Memory()}) // one for all: each run of a test binary would make its own
		if err != nil {
			return err
		}
		defer c.Close()
		b.env = append(b.env, "ONCEWARD_TEST_POSTGRES="+c.URL("postgres"))
	}
	if err := b.sound(ctx, list); err != nil {
		return err
	}
	return b.all(ctx, list, max(1, *jobs))
}

func choose(only string) ([]mutant, error) {
	if only == "" {
		return mutants, nil
	}
	var out []mutant
	for id := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(mutants, func(m mutant) bool { return m.id == id })
		if i < 0 {
			return nil, fmt.Errorf("there is no mutant %q", id)
		}
		out = append(out, mutants[i])
	}
	return out, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return "", fmt.Errorf("run it inside the repository: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// sound sees that without a mutant every named test is there and passes: else its failing would say nothing.
func (b *bench) sound(ctx context.Context, list []mutant) error {
	b.tell("without a mutant: every test that the list names must pass")
	tests := map[string][]catch{}
	for _, m := range list {
		for _, c := range b.concerned(m) {
			tests[c.pkg] = append(tests[c.pkg], c)
		}
	}
	if out, err := b.build(ctx, b.dir, "", keys(tests)); err != nil {
		return fmt.Errorf("the tree does not build: %w\n%s", err, out)
	}
	for _, pkg := range keys(tests) {
		out, _ := b.test(ctx, b.dir, "", pkg, tests[pkg])
		for _, c := range tests[pkg] {
			if !strings.Contains(out, "--- PASS: "+c.name()+" ") {
				return fmt.Errorf("%s of %s does not pass without a mutant, or is not there:\n%s", c.test, pkg, out)
			}
		}
	}
	return nil
}

// all tries every mutant, jobs at a time, and prints the table.
func (b *bench) all(ctx context.Context, list []mutant, jobs int) error {
	verdicts := make([][]string, len(list))
	next, slots := sync.WaitGroup{}, make(chan struct{}, jobs)
	for i := range list {
		if slots <- struct{}{}; ctx.Err() != nil {
			break
		}
		next.Go(func() {
			defer func() { <-slots }()
			start := time.Now()
			verdicts[i] = b.try(ctx, &list[i])
			b.tell("%-28s %s (%.0f s)", list[i].id, strings.Join(verdicts[i], ", "), time.Since(start).Seconds())
		})
	}
	next.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	left, tried := 0, 0
	fmt.Println("| mutant | what stands on it | taken out | caught by | on |\n|---|---|---|---|---|")
	for i, m := range list {
		caught := b.concerned(m)
		if len(caught) == 0 {
			continue
		}
		tried++
		if slices.ContainsFunc(verdicts[i], func(v string) bool { return !strings.HasSuffix(v, " caught") }) {
			left++
		}
		fmt.Printf("| %s | %s | %s | %s | %s |\n", m.id, m.holds, m.out, namesOf(caught), strings.Join(verdicts[i], ", "))
	}
	fmt.Printf("\n%d mutants, %d caught.\n", tried, tried-left)
	if left > 0 {
		return fmt.Errorf("%d of %d mutants are not caught", left, tried)
	}
	return nil
}

// namesOf gives the tests of a mutant, each once.
func namesOf(caught []catch) string {
	var out []string
	for _, c := range caught {
		name := c.pkg + ": " + c.test
		if suite, ok := strings.CutPrefix(c.test, "TestSuite/"); ok {
			name = "storetest: " + suite
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return strings.Join(out, "; ")
}

// concerned gives the tests of a mutant on the stores that are tried.
func (b *bench) concerned(m mutant) []catch {
	return slices.DeleteFunc(slices.Clone(m.caught), func(c catch) bool { return b.store != "" && c.store != b.store })
}

// try gives a verdict for each test that is to catch the mutant.
func (b *bench) try(ctx context.Context, m *mutant) []string {
	caught := b.concerned(*m)
	if len(caught) == 0 {
		return nil
	}
	dir := filepath.Join(b.dir, m.id)
	overlay, edited, err := b.lay(m, dir)
	if err != nil {
		return []string{err.Error()}
	}
	defer os.RemoveAll(dir)
	tests := map[string][]catch{}
	for _, c := range caught {
		tests[c.pkg] = append(tests[c.pkg], c)
	}
	if out, err := b.build(ctx, dir, overlay, keys(tests)); err != nil {
		return []string{"does not build: " + out}
	}
	if len(edited) > 0 {
		if out, err := b.gotool(ctx, append([]string{"vet", "-overlay", overlay}, edited...)...); err != nil {
			return []string{"vet: " + out}
		}
	}
	out := make([]string, len(caught))
	var wait sync.WaitGroup
	for i, c := range caught {
		wait.Go(func() {
			said, err := b.test(ctx, dir, overlay, c.pkg, []catch{c})
			verdict := c.judge(said)
			if verdict == "" && err == nil {
				verdict = "failed and ended well: that cannot be"
			}
			if b.verbose || verdict != "" {
				b.tell("%s, %s:\n%s", m.id, c.pkg, said)
			}
			if verdict == "" {
				verdict = "caught"
			}
			out[i] = strings.TrimSpace(c.store + " " + verdict)
			if c.store == "" {
				out[i] = "no store: " + verdict
			}
		})
	}
	wait.Wait()
	return out
}

// lay writes what the mutant changes into dir, as an overlay for the go command; and which packages of Go code it changes.
func (b *bench) lay(m *mutant, dir string) (overlay string, edited []string, err error) {
	files, err := m.apply(b.root)
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	replace := map[string]string{}
	for name, text := range files {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
			return "", nil, err
		}
		replace[filepath.Join(b.root, filepath.FromSlash(name))] = to
		if pkg := "./" + path.Dir(name); strings.HasSuffix(name, ".go") && !slices.Contains(edited, pkg) {
			edited = append(edited, pkg)
		}
	}
	j, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", nil, err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, edited, os.WriteFile(overlay, j, 0o644)
}

// build makes the test binaries of packages in dir.
func (b *bench) build(ctx context.Context, dir, overlay string, pkgs []string) (string, error) {
	args := []string{"test", "-c", "-ldflags=-s -w", "-o", dir + string(filepath.Separator)}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	for _, p := range pkgs {
		args = append(args, "./"+p)
	}
	return b.gotool(ctx, args...)
}

func (b *bench) gotool(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.root, b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// test runs tests of a package by the binary in dir, and before them the one of its statements.
func (b *bench) test(ctx context.Context, dir, overlay, pkg string, tests []catch) (string, error) {
	patterns := []string{"^" + prepares + "$"}
	for _, c := range tests {
		if p := c.pattern(); !slices.Contains(patterns, p) {
			patterns = append(patterns, p)
		}
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, path.Base(pkg)+".test"), "-test.v", "-test.timeout=10m", "-test.run="+strings.Join(patterns, "|"))
	cmd.Dir, cmd.Env = filepath.Join(b.root, pkg), b.env
	if overlay != "" { // for tests that build the program
		cmd.Env = append(slices.Clone(b.env), "GOFLAGS=-overlay="+overlay)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		return out.String() + err.Error(), err
	} else if ok && !exit.Exited() {
		return out.String() + "\npanic: " + exit.String(), err
	}
	return out.String(), err
}

func (b *bench) tell(format string, args ...any) {
	b.say.Lock()
	defer b.say.Unlock()
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
