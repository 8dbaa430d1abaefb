package cost

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	t.Parallel()
	const numbers = " S 7 1 1 0 -1 4194304 1 2 3 4 100 50 30 20 20 0 1 0 99"
	p, err := parseProcess("42 (a name) with (brackets)" + numbers)
	if want := (process{"a name) with (brackets", 7, false, 1500 * time.Millisecond, 500 * time.Millisecond}); err != nil || p != want {
		t.Errorf("%+v %v, want %+v", p, err, want)
	}
	for _, s := range []string{"", "42", "42 )(", "42 (x) S 7"} {
		if p, err := parseProcess(s); err == nil {
			t.Errorf("%q: %+v", s, p)
		}
	}
}

// What this process does is counted as the client's, and as its own where it is the server.
func TestMeterCountsWork(t *testing.T) {
	m, err := New(context.Background(), "sqlite:x", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Begin(); err != nil {
		t.Fatal(err)
	}
	for from := cpu(t); cpu(t)-from < 200*time.Millisecond; {
	}
	c, err := m.End(10_000)
	if err != nil || c.Client < 0.19 || c.Server < 0.18 || math.Abs(c.CPU-c.Client-c.Server) > 1e-9 || c.Memory < 1 {
		t.Errorf("%+v %v; want 0.2 s of client and of server, and some memory", c, err)
	}
}

func cpu(t *testing.T) time.Duration {
	d, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Sixty processes that each do less than a tick are counted all the same, as our own where they are, and as others' where they are not.
func TestTreesCountLessThanATick(t *testing.T) {
	const children, each = 60, 4 * time.Millisecond
	start := func() (root int, work, end func()) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBurners$")
		cmd.Env = append(os.Environ(), "COST_BURNERS="+strconv.Itoa(children), "COST_BURN="+each.String())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		words := bufio.NewScanner(out)
		say := func(want string) {
			for words.Scan() {
				if words.Text() == want {
					return
				}
			}
			t.Fatalf("the burners did not say %q", want)
		}
		say("ready")
		return cmd.Process.Pid, func() { fmt.Fprintln(in, "go"); say("done") }, func() { in.Close(); cmd.Wait() }
	}
	root, work, end := start()
	defer end()
	_, strange, over := start()
	defer over()
	m, err := Of(map[string]int{"burners": root})
	if err != nil {
		t.Fatal(err)
	}
	work()
	u, err := m.Since()
	if want := children * each; err != nil || u.Parts["burners"] < want || u.Parts["burners"] > 4*want {
		t.Errorf("%v %v of burners, want somewhat over %v", u.Parts["burners"], err, want)
	}
	if u.Memory != nil && *u.Memory < children {
		t.Errorf("%v MiB of %d processes", *u.Memory, children)
	}
	if m, err = Of(map[string]int{"burners": root}); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	strange()
	least := (children * each).Seconds() / time.Since(began).Seconds() / float64(runtime.NumCPU())
	if u, err = m.Since(); err != nil || u.Parts["burners"] > children*each/2 || u.Others < least*0.7 {
		t.Errorf("%v of burners and %v of others (%v), want nothing and at least %v", u.Parts["burners"], u.Others, err, least)
	}
}

// TestBurners is not a test: the processes of the one above are this program, run again.
func TestBurners(t *testing.T) {
	if os.Getenv("COST_BURNER") != "" {
		each, err := time.ParseDuration(os.Getenv("COST_BURN"))
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(os.Stdin)
		fmt.Println("ready")
		for in.Scan() {
			for from := cpu(t); cpu(t)-from < each; {
			}
			fmt.Println("done")
		}
		return
	}
	n, err := strconv.Atoi(os.Getenv("COST_BURNERS"))
	if err != nil {
		return
	}
	var ins []io.Writer
	var outs []*bufio.Scanner
	all := func(want string) {
		for _, out := range outs {
			for out.Scan() && out.Text() != want {
			}
		}
		fmt.Println(want)
	}
	for range n {
		cmd := exec.Command(os.Args[0], "-test.run=^TestBurners$")
		cmd.Env = append(os.Environ(), "COST_BURNER=1")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ins, outs = append(ins, in), append(outs, bufio.NewScanner(out))
		defer cmd.Wait()
		defer in.Close()
	}
	all("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		for _, in := range ins {
			fmt.Fprintln(in, "go")
		}
		all("done")
	}
}

// What is written is what the disk was given, not what its pages hold.
func TestTreesCountWhatTheDiskWasGiven(t *testing.T) {
	m, err := Of(nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 4 << 20
	if _, err := f.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	u, err := m.Since()
	if err != nil {
		t.Fatal(err)
	}
	if u.Written != nil && *u.Written < size {
		t.Errorf("%d bytes to disk, of %d written", *u.Written, size)
	}
}
