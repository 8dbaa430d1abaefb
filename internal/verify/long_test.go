//go:build unix

package verify

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/history"
)

// A server that does not start again after its kill is the worst that a round can find: it is counted, with what was done until then, and the callers end.
func TestAServerThatDoesNotComeBackIsCounted(t *testing.T) {
	t.Parallel()
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if err := json.MarshalWrite(w, object{"data": object{"message_id": "qmsg_1", "event_id": "evt_1"}}); err != nil {
			t.Error(err)
		}
	}))
	defer fake.Close()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	starts := `#!/bin/sh
if [ "$1" = serve ]; then
  if [ -e "$0.started" ]; then echo 'the store is of a newer version' >&2; exit 1; fi
  : > "$0.started"
  echo "listening on ` + fake.URL + `, and no more"
fi
exec sleep 600
`
	if err := os.WriteFile(program, []byte(starts), 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := newFile()
	if err != nil {
		t.Fatal(err)
	}
	defer g.drop(false)
	l := newLong(LongConfig{Program: program}, g, dir, 1, &Round{})
	if l.log, err = history.Open(filepath.Join(dir, "verify.jsonl"), "verify"); err != nil {
		t.Fatal(err)
	}
	l.receiver = newDedup(l.log, rand.New(rand.NewPCG(1, 2)))
	defer l.killAll()
	if _, err := l.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.worker, err = l.startWorker(); err != nil {
		t.Fatal(err)
	}
	err = l.play(t.Context(), t.Context(), 5)
	r := l.round
	if err == nil || r.OK() || r.Unfinished < 1 || r.Kills != 1 || r.Things < 4 || len(r.Reasons) != 1 || !strings.Contains(r.Reasons[0], "of a newer version") {
		t.Errorf("%+v, error %v; want what was counted, unfinished, and why", r, err)
	}
}

// Each round that was begun is a line, but one that was told to stop and could not end well.
func TestRoundsThatGoWrongAreWritten(t *testing.T) {
	t.Parallel()
	wrong := errors.New("nothing was answered for 30 s")
	for name, c := range map[string]struct {
		r       *Round
		err     error
		stopped bool
		written bool
	}{
		"right":                        {&Round{Kills: 7}, nil, false, true},
		"right, told to stop":          {&Round{Kills: 7}, nil, true, true},
		"wrong":                        {&Round{Kills: 7, Unfinished: 1, Reasons: []string{wrong.Error()}}, wrong, false, true},
		"wrong, told to stop":          {&Round{Kills: 7, Unfinished: 1}, context.Canceled, true, false},
		"nothing begun: no PostgreSQL": {nil, wrong, false, false},
	} {
		var log bytes.Buffer
		written, err := LongConfig{Log: &log}.note("sqlite", 5, c.r, c.err, c.stopped)
		if written != c.written || !errors.Is(err, c.err) || err != nil && !strings.Contains(err.Error(), "sqlite (seed 5)") {
			t.Errorf("%s: written %v, error %v; want written %v, error %v", name, written, err, c.written, c.err)
		}
		if line := log.String(); strings.Contains(line, `"store":"sqlite","kills":7`) != c.written || strings.Contains(line, `"reasons":["nothing`) != (name == "wrong") {
			t.Errorf("%s: the line is %q", name, line)
		}
	}
}

// A server's last words may be cut within a letter, and a line of JSON has whole ones alone.
func TestALongReasonFitsALine(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := Round{At: time.Unix(0, 0), Reasons: []string{short(strings.Repeat("x", reasonSize-1) + "é")}}
	if err := (LongConfig{Log: &log}).write(r); err != nil || !strings.HasSuffix(log.String(), "\n") || len(log.String()) > reasonSize+500 {
		t.Errorf("%d bytes, error %v", log.Len(), err)
	}
}
