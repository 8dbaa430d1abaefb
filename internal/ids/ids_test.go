package ids

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var codec = New([]byte("a secret of at least sixteen bytes"))

var kinds = []Kind{Message, Event, Endpoint, Delivery, Attempt, Redrive, Key, Project}

func anyID() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.SampledFrom([]int64{0, 1, 61, 62, 1<<32 - 1, 1 << 32, math.MaxInt64}))
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	shape := regexp.MustCompile(`^[a-z]+_[0-9A-Za-z]{24}$`)
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(kinds).Draw(t, "kind")
		project, id := anyID().Draw(t, "project"), anyID().Draw(t, "id")
		s := codec.Encode(k, project, id)
		if !shape.MatchString(s) || !strings.HasPrefix(s, string(k)) {
			t.Fatalf("%q is not of the contract's form", s)
		}
		if got, ok := codec.Decode(k, project, s); !ok || got != id {
			t.Fatalf("%q gives %d %v, want %d", s, got, ok, id)
		}
	})
}

func TestSortable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyID().Draw(t, "a"), anyID().Draw(t, "b")
		x, y := codec.Encode(Message, 1, a), codec.Encode(Message, 1, b)
		if (a < b) != (x < y) && a != b {
			t.Fatalf("%d and %d are in the order of %q and %q", a, b, x, y)
		}
	})
}

// An id of another project, kind or store is no id at all.
func TestForeign(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		project, id := anyID().Draw(t, "project"), anyID().Draw(t, "id")
		s := codec.Encode(Message, project, id)
		if other := anyID().Draw(t, "other project"); other != project {
			if got, ok := codec.Decode(Message, other, s); ok {
				t.Fatalf("project %d reads %q of project %d as %d", other, s, project, got)
			}
		}
		for _, k := range kinds {
			body := strings.TrimPrefix(s, string(Message))
			if _, ok := codec.Decode(k, project, string(k)+body); ok != (k == Message) {
				t.Fatalf("the body of a message's id is an id of kind %s: %v", k, ok)
			}
			if _, ok := codec.Decode(k, project, s); ok != (k == Message) {
				t.Fatalf("a message's id is of kind %s: %v", k, ok)
			}
		}
		if _, ok := New([]byte("the secret of another store")).Decode(Message, project, s); ok {
			t.Fatal("another store reads it")
		}
	})
}

// No character can be changed, left out or put in.
func TestTampered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := anyID().Draw(t, "id")
		s := codec.Encode(Delivery, 1, id)
		at := rapid.IntRange(0, len(s)-1).Draw(t, "at")
		c := rapid.SampledFrom([]byte(alphabet+"_-. é")).Draw(t, "by")
		for _, bad := range []string{s[:at] + string(c) + s[at+1:], s[:at] + s[at+1:], s[:at] + string(c) + s[at:], s + "0", "0" + s, " " + s, s + " "} {
			if got, ok := codec.Decode(Delivery, 1, bad); ok && bad != s {
				t.Fatalf("%q, made of %q, is an id: %d", bad, s, got)
			}
		}
	})
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id, lease := anyID().Draw(t, "id"), rapid.IntRange(1, math.MaxInt32).Draw(t, "lease")
		name := rapid.SampledFrom([]string{"jobs", "jobs-dlq", "a", "ab"}).Draw(t, "queue")
		s := codec.Receipt(7, name, id, lease)
		if got, n, ok := codec.OpenReceipt(7, name, s); !ok || got != id || n != lease {
			t.Fatalf("%q gives %d %d %v", s, got, n, ok)
		}
		if _, _, ok := codec.OpenReceipt(7, name+"x", s); ok {
			t.Fatal("it is a receipt of another queue")
		}
		if _, _, ok := codec.OpenReceipt(8, name, s); ok {
			t.Fatal("it is a receipt of another project")
		}
		if s == codec.Receipt(7, name, id, lease-1) {
			t.Fatal("two receives have one receipt")
		}
		if _, ok := codec.Decode(Message, 7, s); ok {
			t.Fatal("a receipt is a message's id")
		}
		if _, _, ok := codec.OpenReceipt(7, name, codec.Encode(Message, 7, id)); ok {
			t.Fatal("a message's id is a receipt")
		}
	})
}

func TestCursor(t *testing.T) {
	t.Parallel()
	s := codec.Cursor(1, "queues", 42)
	if id, ok := codec.OpenCursor(1, "queues", s); !ok || id != 42 {
		t.Errorf("%d %v", id, ok)
	}
	if _, ok := codec.OpenCursor(1, "events", s); ok {
		t.Error("a cursor of queues goes on in events")
	}
	if _, ok := codec.OpenCursor(2, "queues", s); ok {
		t.Error("a cursor of project 1 goes on in project 2")
	}
}

func TestNewEventID(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	shape := regexp.MustCompile(`^evt_[0-9A-Za-z]{24}$`)
	var made []string
	for i := range 200 {
		id := NewEventID(now.Add(time.Duration(i) * time.Millisecond))
		if !shape.MatchString(id) {
			t.Fatalf("%q", id)
		}
		made = append(made, id)
	}
	if !slices.IsSorted(made) {
		t.Error("ids of later milliseconds are not later")
	}
	if one, two := NewEventID(now), NewEventID(now); one == two {
		t.Error("two events of one millisecond have one id")
	}
}

// Clients keep ids: the form never changes for a store.
func TestFormStays(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		codec.Encode(Message, 1, 1):           "qmsg_000000000002jkqDJpQWh4gC",
		codec.Encode(Endpoint, 2, 1<<40):      "ep_00000SKiCQOMr438MJUYc841",
		codec.Receipt(1, "jobs", 1, 1):        "rct_000000000006rS8ozgXBqVpLpOQEG",
		codec.Cursor(1, "queues", 1234567890): "cur_0000001yIGp3pTesdVK0pPKO",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzDecode: what can be read was made so, and for nobody else.
func FuzzDecode(f *testing.F) {
	f.Add(codec.Encode(Message, 1, 1), int64(1))
	f.Add(codec.Receipt(1, "jobs", 1, 1), int64(1))
	f.Add(codec.Receipt(1<<40, "jobs", math.MaxInt64, math.MaxInt32), int64(1<<40))
	f.Add(codec.Cursor(1, "queues", 1234567890), int64(1))
	f.Add("qmsg_000000000000000000000000", int64(0))
	f.Add("qmsg_zzzzzzzzzzzzzzzzzzzzzzzz", int64(-1))
	f.Add("", int64(1))
	f.Fuzz(func(t *testing.T, s string, project int64) {
		if id, ok := codec.Decode(Message, project, s); ok {
			if codec.Encode(Message, project, id) != s {
				t.Errorf("%q of project %d is %d, whose id is another", s, project, id)
			}
			if _, ok := codec.Decode(Message, project+1, s); ok {
				t.Errorf("%q of project %d is an id of another project too", s, project)
			}
		}
		if id, lease, ok := codec.OpenReceipt(project, "jobs", s); ok {
			if codec.Receipt(project, "jobs", id, lease) != s {
				t.Errorf("%q is a receipt that was not made", s)
			}
			for name, foreign := range map[string]func() (int64, int, bool){
				"project": func() (int64, int, bool) { return codec.OpenReceipt(project+1, "jobs", s) },
				"queue":   func() (int64, int, bool) { return codec.OpenReceipt(project, "jobs-dlq", s) },
			} {
				if _, _, ok := foreign(); ok {
					t.Errorf("%q is a receipt of another %s too", s, name)
				}
			}
		}
		if id, ok := codec.OpenCursor(project, "queues", s); ok {
			if codec.Cursor(project, "queues", id) != s {
				t.Errorf("%q is a cursor that was not made", s)
			}
			for name, foreign := range map[string]func() (int64, bool){
				"project": func() (int64, bool) { return codec.OpenCursor(project+1, "queues", s) },
				"list":    func() (int64, bool) { return codec.OpenCursor(project, "events", s) },
			} {
				if _, ok := foreign(); ok {
					t.Errorf("%q is a cursor of another %s too", s, name)
				}
			}
		}
	})
}

// The seeds are read as what they are, or the fuzzing would begin at nothing.
func TestSeedsOfDecodeAreRead(t *testing.T) {
	t.Parallel()
	if id, lease, ok := codec.OpenReceipt(1<<40, "jobs", codec.Receipt(1<<40, "jobs", math.MaxInt64, math.MaxInt32)); !ok || id != math.MaxInt64 || lease != math.MaxInt32 {
		t.Errorf("the receipt: %d %d %v", id, lease, ok)
	}
	if id, ok := codec.OpenCursor(1, "queues", codec.Cursor(1, "queues", 1234567890)); !ok || id != 1234567890 {
		t.Errorf("the cursor: %d %v", id, ok)
	}
}
