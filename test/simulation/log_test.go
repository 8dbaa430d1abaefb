package simulation

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var (
	span   = flag.Duration("for", 0, "begin no seed after so long")
	logTo  = flag.String("log", "", "append a line of the run to this `file`")
	commit = flag.String("commit", "", "what the line says is tried")
	code   = flag.String("code", "", "what the line says of the code that decides: a hash of its trees")
)

// tried is a run of seeds, one after the other: a line of bench/simulation.jsonl.
type tried struct {
	At      time.Time `json:"at"`
	Commit  string    `json:"commit"`
	Code    string    `json:"code"`
	First   uint64    `json:"first"`
	Seeds   uint64    `json:"seeds"`
	Failed  uint64    `json:"failed"`
	Seconds float64   `json:"seconds"`
}

// begin is a run that begins now, at the seed that was told, or else after the last that the log has of this code: no seed counts twice.
func begin() (*tried, error) {
	r := &tried{At: time.Now(), Commit: *commit, Code: *code, First: *first}
	if r.First > 0 {
		return r, nil
	}
	r.First = 1
	if *logTo == "" {
		return r, nil
	}
	b, err := os.ReadFile(*logTo)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	r.First, err = after(b, *code)
	return r, err
}

// after gives the seed after the last that a log has of a code.
func after(log []byte, code string) (uint64, error) {
	next := uint64(1)
	for line := range bytes.Lines(log) {
		var l tried
		if err := json.Unmarshal(line, &l); err != nil {
			return 0, fmt.Errorf("the log of the simulation: %w", err)
		}
		if l.Code == code {
			next = max(next, l.First+l.Seeds)
		}
	}
	return next, nil
}

// end writes the line.
func (r *tried) end() error {
	if *logTo == "" || r.Seeds == 0 {
		return nil
	}
	return r.write(*logTo, time.Since(r.At))
}

func (r *tried) write(path string, took time.Duration) error {
	r.At, r.Seconds = r.At.UTC().Truncate(time.Second), took.Round(100*time.Millisecond).Seconds()
	b, err := json.Marshal(r)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}

// A run goes on where the last of its code ended, so that no seed counts twice.
func TestNoSeedCountsTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	for _, r := range []tried{{Code: "a", First: 1, Seeds: 100}, {Code: "b", First: 1, Seeds: 5000}, {Code: "a", First: 101, Seeds: 20, Failed: 1}} {
		if err := r.write(path, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for code, want := range map[string]uint64{"a": 121, "b": 5001, "c": 1} {
		if got, err := after(b, code); err != nil || got != want {
			t.Errorf("after code %s comes seed %d, %v; want %d", code, got, err, want)
		}
	}
	if _, err := after([]byte("{\n"), "a"); err == nil {
		t.Error("a log that is cut off was read")
	}
}
