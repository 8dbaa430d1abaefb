// Package history is what happened to a store, as its clients, its receivers and its own rows saw it, and a checker that holds it against the invariants
// I1 to I16 of ARCHITECTURE.md, offline. It knows nothing of the product's code, so that it cannot share its mistakes.
package history

import (
	"bufio"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// What is done.
const (
	Publish  = "publish"
	Send     = "send"    // an event
	Receive  = "receive" // a message, by a consume
	Ack      = "ack"
	Nack     = "nack"
	Release  = "release"
	Claim    = "claim"
	Begin    = "begin"
	Complete = "complete"
	Fail     = "fail"
	Resolve  = "resolve" // by a person
	Redrive  = "redrive"
	Post     = "post"    // a request that a receiver read to its end
	Foreign  = "foreign" // a call with an id of another project
	List     = "list"    // what a project has, whatever the call
	Start    = "start"   // of a server
	Kill     = "kill"    // SIGKILL, of a server or a worker
)

// Event is one call, from its beginning to its answer. A process that is killed leaves the beginning alone.
type Event struct {
	ID      string `json:"id,omitzero"` // one for the two lines of a call
	Do      string `json:"do,omitzero"`
	Process string `json:"process,omitzero"`
	Key     string `json:"key,omitzero"`     // a publish's, a piece of work's, or a delivery's
	Thing   string `json:"thing,omitzero"`   // what it is about, in the caller's own words
	Message string `json:"message,omitzero"` // its id
	Receipt string `json:"receipt,omitzero"`
	Fence   int64  `json:"fence,omitzero"`
	Policy  string `json:"policy,omitzero"`
	Settle  bool   `json:"settle,omitzero"`  // a word that settles its message too
	Project string `json:"project,omitzero"` // whose key made the call; "" is the first project

	Names []string `json:"names,omitzero"` // what the answer names: things, or ids

	Answer string `json:"answer,omitzero"` // new, replay, acked, granted, done, busy, applied, fenced, …, or the code of a refusal; "": never heard
	Until  int64  `json:"until,omitzero"`  // of a lease that was answered, in microseconds

	Called   int64 `json:"called,omitzero"`   // in nanoseconds
	Answered int64 `json:"answered,omitzero"` // 0: never
}

// Log is a file of events, written by one process, a line at a time, so that what a process has said outlives it.
type Log struct {
	process string
	n       atomic.Int64
	mu      sync.Mutex
	out     io.WriteCloser
	err     error
}

// Open begins a log.
func Open(path, process string) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &Log{process: process, out: f}, err
}

// Begin notes a call that is about to be made. What it gives notes the answer.
func (l *Log) Begin(e Event) (end func(answered Event)) {
	e.ID, e.Process, e.Called = fmt.Sprint(l.process, "-", l.n.Add(1)), l.process, time.Now().UnixNano()
	l.write(e)
	return func(a Event) {
		id, called := e.ID, e.Called
		if a.Do == "" {
			a.Do, a.Key, a.Thing, a.Receipt, a.Policy, a.Settle, a.Project = e.Do, e.Key, e.Thing, e.Receipt, e.Policy, e.Settle, e.Project
			if a.Message == "" {
				a.Message = e.Message
			}
			if a.Fence == 0 {
				a.Fence = e.Fence
			}
		}
		a.ID, a.Process, a.Called, a.Answered = id, e.Process, called, time.Now().UnixNano()
		l.write(a)
	}
}

// Note notes what took no time.
func (l *Log) Note(e Event) { l.Begin(e)(e) }

func (l *Log) write(e Event) {
	b, err := json.Marshal(e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		_, err = l.out.Write(append(b, '\n'))
	}
	l.err = errors.Join(l.err, err)
}

// Close ends the log, with what kept it from being written.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.err, l.out.Close())
}

// Read gives the calls of a log, each once. A last line that was cut off by a kill is left out.
func Read(r io.Reader) ([]Event, error) {
	var out []Event
	at := map[string]int{}
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		var e Event
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, fmt.Errorf("read a history: %w", err)
		}
		if i, ok := at[e.ID]; ok && e.Answered != 0 && out[i].Answered == 0 {
			out[i] = e
			continue
		}
		at[e.ID] = len(out)
		out = append(out, e)
	}
}
