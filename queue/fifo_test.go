package queue

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// What frees a fifo group, and what becomes of a message's place.
func TestPlace(t *testing.T) {
	t.Parallel()
	q := Spec{Name: "line", FIFO: new(true), MaxReceives: new(2)}.New(t0)
	made := func() Row {
		r := (&Publish{Queue: "line", Group: "g"}).New(t0, q, 12, 4)
		r.Receive(t0, time.Minute)
		return r
	}
	free := Group{Free: true}
	for _, c := range []struct {
		name  string
		do    func(r *Row) Change
		next  bool
		place int64
	}{
		{"ack", func(r *Row) Change { _, c := r.Settle(t0, Settle{Verb: Ack}, free, dead); return c }, true, 12},
		{"nack", func(r *Row) Change { _, c := r.Settle(t0, Settle{Verb: Nack}, free, dead); return c }, false, 12},
		{"release", func(r *Row) Change { _, c := r.Settle(t0, Settle{Verb: Release}, free, dead); return c }, false, 12},
		{"extend", func(r *Row) Change { _, c := r.Settle(t0, Settle{Verb: Extend, Visibility: 1}, free, dead); return c }, false, 12},
		{"lapse", func(r *Row) Change { c, _ := r.Lapse(t0.Add(time.Hour), dead); return c }, false, 12},
		{"death", func(r *Row) Change { return r.DeadLetter(t0, dead, "why") }, true, 12},
		{"removal", func(r *Row) Change { return r.Remove() }, true, 12},
	} {
		r := made()
		if got := c.do(&r); got.Next != c.next || got.ToEnd || r.Place != c.place {
			t.Errorf("%s: %+v, place %d", c.name, got, r.Place)
		}
	}
	r := made()
	r.DeadLetter(t0, dead, "why")
	if c := (&Row{Place: 12, DeadAt: t0}).Remove(); c.Next {
		t.Error("the removal of a dead letter frees a group")
	}
	if c := r.Redrive(t0); !c.ToEnd || r.GroupID != 4 || c.Next {
		t.Errorf("redriven: %+v %+v", c, r)
	}
	plain := (&Publish{Queue: "jobs", Group: "g"}).New(t0, Spec{Name: "jobs"}.New(t0), 12, 4)
	plain.Receive(t0, time.Minute)
	if c := plain.DeadLetter(t0, dead, ""); plain.Place != 0 || c.Next {
		t.Errorf("of a standard queue: %+v %+v", c, plain)
	}
	if c := plain.Redrive(t0); c.ToEnd {
		t.Errorf("of a standard queue: %+v", c)
	}
}

// Two payloads are one message if they mean the same, and never else; what somebody gives as a key is none of them.
func FuzzByContent(f *testing.F) {
	for _, s := range []string{`1`, `1.0`, `"1"`, `{"a":1,"b":2}`, `{"b":2,"a":1}`, `[1,2]`, `[12]`, `9007199254740993`, `9007199254740992`, `null`} {
		f.Add([]byte(s), []byte(`{"b":2.0, "a":1}`), "key")
	}
	f.Fuzz(func(t *testing.T, a, b []byte, key string) {
		if !json.Valid(a) || !json.Valid(b) {
			return
		}
		x, errX := Publish{Queue: "q", Body: a}.ByContent()
		y, errY := Publish{Queue: "q", Body: b}.ByContent()
		if errX != nil || errY != nil {
			return // a name twice, a lone surrogate
		}
		formA, _ := canon.Append(nil, a)
		formB, _ := canon.Append(nil, b)
		if same := bytes.Equal(formA, formB); same != (x.Key == y.Key) || same != bytes.Equal(x.Hash, y.Hash) {
			t.Errorf("%s and %s: keys %q and %q", a, b, x.Key, y.Key)
		}
		named := Publish{Queue: "q", Body: a, Key: key}
		if got, err := named.ByContent(); err != nil || key != "" && got.Key != key {
			t.Errorf("the key %q became %q, %v", key, got.Key, err)
		}
		if key == x.Key && fault.CodeOf(named.Check()) != fault.InvalidArgument {
			t.Errorf("%q is taken as a key", key)
		}
	})
}
