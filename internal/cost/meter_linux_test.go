package cost

import (
	"context"
	"math"
	"os"
	"testing"
	"time"
)

func TestParseProcess(t *testing.T) {
	t.Parallel()
	const numbers = " S 7 1 1 0 -1 4194304 1 2 3 4 100 50 30 20 20 0 1 0 99"
	p, err := parseProcess("42 (a name) with (brackets)" + numbers)
	if want := (process{"a name) with (brackets", 7, 1500 * time.Millisecond, 500 * time.Millisecond}); err != nil || p != want {
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
