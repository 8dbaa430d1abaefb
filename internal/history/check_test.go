package history

import (
	"os"
	"slices"
	"strings"
	"testing"
)

const second = int64(1_000_000)

// good is a history that breaks nothing: a message that a worker did, an event that was delivered, a key of policy once that was ruled on, a redrive.
func good() History {
	row := func(n, tx, at int64, table string, id int64, old, now *State) Row {
		return Row{N: n, Tx: tx, At: at * second, Table: table, ID: id, Old: old, New: now}
	}
	call := func(do string, from, to int64, e Event) Event {
		e.Do, e.Called, e.Answered = do, from*second*1000, to*second*1000
		if e.ID == "" {
			e.ID = do + e.Key + e.Answer
		}
		return e
	}
	waits := &State{Max: 3, Origin: 1, Vis: second}
	carried := &State{Max: 3, Origin: 1, Vis: 5 * second, Lease: 1, Leased: 1, Receives: 1, Claim: 10}
	sent := &State{Max: 9, Origin: 1, Vis: second, Claim: 20}
	out := &State{Max: 9, Origin: 1, Vis: 5 * second, Lease: 1, Leased: 1, Receives: 1, Claim: 20}
	return History{
		Ended: true,
		Events: []Event{
			call(Publish, 0, 2, Event{Key: "work-1", Thing: "work-1", Message: "qmsg_1", Answer: New}),
			call(Publish, 2, 3, Event{Key: "work-1", Thing: "work-1", Message: "qmsg_1", Answer: Replay}),
			call(Send, 0, 2, Event{Key: "once-1", Thing: "once-1", Message: "once-1", Answer: New}),
			call(Claim, 2, 3, Event{Key: "work-1", Thing: "work-1", Answer: Granted, Fence: 1, Policy: "idempotent"}),
			call(Complete, 3, 4, Event{Key: "work-1", Thing: "work-1", Answer: Applied, Fence: 1, Settle: true}),
			call(Claim, 5, 6, Event{Key: "work-1", Thing: "work-1", Answer: Done}),
			call(Post, 2, 3, Event{Key: "k", Thing: "once-1", Answer: "200", Policy: "once"}),
			call(Claim, 2, 3, Event{Key: "work-7", Thing: "work-7", Answer: Granted, Fence: 1, Policy: "once"}),
			call(Begin, 3, 4, Event{Key: "work-7", Thing: "work-7", Answer: Applied, Fence: 1}),
			call(Claim, 6, 7, Event{Key: "work-7", Thing: "work-7", Answer: Stuck}),
			call(Resolve, 7, 8, Event{Key: "work-7", Answer: Done, Fence: 1}),
			call(Foreign, 7, 8, Event{Message: "dlv_1", Answer: "NOT_FOUND"}),
		},
		Rows: []Row{
			row(1, 1, 1, "publish_keys", 1, nil, &State{Key: "work-1", Other: 1}),
			row(2, 1, 1, "messages", 1, nil, waits),
			row(3, 2, 1, "events", 1, nil, &State{Key: "once-1"}),
			row(4, 2, 1, "claims", 20, nil, &State{State: "new", Policy: "o"}),
			row(5, 2, 1, "deliveries", 1, nil, &State{Other: 1, Claim: 20}),
			row(6, 2, 1, "messages", 2, nil, sent),
			row(7, 3, 2, "messages", 1, waits, carried),
			row(8, 3, 2, "claims", 10, nil, &State{State: "started", Fence: 1, Until: 5 * second}),
			row(9, 4, 2, "messages", 2, sent, out),
			row(10, 4, 2, "claims", 20, &State{State: "new", Policy: "o"}, &State{State: "started", Fence: 1, Until: 5 * second}),
			row(11, 4, 2, "groups", 1, nil, &State{InFlight: 1, Slots: 1}),
			row(12, 5, 3, "claims", 20, &State{State: "started", Fence: 1, Until: 5 * second}, &State{State: "done", Fence: 1}),
			row(13, 5, 3, "attempts", 1, nil, &State{Claim: 20, Fence: 1}),
			row(14, 5, 3, "messages", 2, out, nil),
			row(15, 5, 3, "groups", 1, &State{InFlight: 1, Slots: 1}, &State{Slots: 1}),
			row(16, 6, 4, "claims", 10, &State{State: "started", Fence: 1, Until: 5 * second}, &State{State: "done", Fence: 1}),
			row(17, 6, 4, "messages", 1, carried, nil),
			row(18, 7, 3, "claims", 30, nil, &State{State: "started", Policy: "o", Fence: 1, Until: 5 * second}),
			row(19, 8, 6, "claims", 30, &State{State: "started", Policy: "o", Fence: 1, Until: 5 * second}, &State{State: "stuck", Policy: "o", Fence: 1}),
			row(20, 9, 8, "claims", 30, &State{State: "stuck", Policy: "o", Fence: 1}, &State{State: "done", Policy: "o", Fence: 1}),
			row(21, 9, 8, "claim_notes", 1, nil, &State{Claim: 30, What: "resolved", Fence: 1}),
			// the message of the key that was ruled on was a dead letter, and is gone with the ruling
			row(23, 11, 1, "publish_keys", 3, nil, &State{Key: "work-7", Other: 3}),
			row(24, 11, 1, "messages", 3, nil, waits),
			row(25, 8, 6, "messages", 3, waits, &State{Max: 3, Origin: 1, Claim: 30, Dead: 6}),
			row(26, 9, 8, "messages", 3, &State{Max: 3, Origin: 1, Claim: 30, Dead: 6}, nil),
			row(22, 10, 8, "redrives", 1, nil, &State{Total: 3, Moved: 2, Left: 1}),
		},
	}
}

// fencedOut is the record of a word of one who had a claim no more.
func fencedOut(claim int64) Row {
	return Row{N: 90, Tx: 90, At: 20 * second, Table: "claim_notes", ID: 90, New: &State{Claim: claim, What: "fenced"}}
}

// twoLeases is a message that two received, the first until second 5 and the second from then until 9, as its receiver knew at second 7; and what was answered to one who
// did something by a receipt, begun at a second.
func twoLeases(do, answer, receipt string, called int64) History {
	waits, first, then := &State{Max: 9, Origin: 1, Vis: second}, &State{Max: 9, Origin: 1, Vis: 5 * second, Lease: 1, Leased: 1, Receives: 1}, &State{Max: 9, Origin: 1, Vis: 9 * second, Lease: 2, Leased: 1, Receives: 2}
	return History{
		Rows: []Row{
			{N: 1, Tx: 1, At: second, Table: "publish_keys", ID: 1, New: &State{Key: "work-1", Other: 1}},
			{N: 2, Tx: 1, At: second, Table: "messages", ID: 1, New: waits},
			{N: 3, Tx: 2, At: 2 * second, Table: "messages", ID: 1, Old: waits, New: first},
			{N: 4, Tx: 3, At: 6 * second, Table: "messages", ID: 1, Old: first, New: then},
		},
		Events: []Event{
			{Do: Receive, Thing: "work-1", Message: "qmsg_1", Receipt: "rct_2", Until: 9 * second, Called: 6 * second * 1000, Answered: 7 * second * 1000},
			{Do: Receive, Thing: "work-1", Message: "qmsg_1", Receipt: "rct_1", Until: 5 * second, Called: 8 * second * 1000, Answered: 8 * second * 1000}, // frozen, and noted late
			{Do: do, Answer: answer, Key: "work-1", Thing: "work-1", Message: "qmsg_1", Receipt: receipt, Fence: 1, Called: called * second * 1000, Answered: (called + 3) * second * 1000},
		},
	}
}

// What is told of words and acts that were right is believed.
func TestLateIsNotWrong(t *testing.T) {
	t.Parallel()
	recorded := func(claim int64) History {
		h := good()
		h.Events = append(h.Events, Event{Do: Complete, Key: "work-1", Answer: Fenced, Called: 20 * second * 1000, Answered: 21 * second * 1000})
		h.Rows = append(h.Rows, fencedOut(claim))
		return h
	}
	for name, h := range map[string]History{
		"recorded with its key":              recorded(10),
		"recorded, nobody knows whose":       recorded(77),
		"the newest acks":                    twoLeases(Ack, Applied, "rct_2", 9),
		"the older is told so":               twoLeases(Ack, "lease_lost", "rct_1", 9),
		"the older acks before it is known":  twoLeases(Ack, Applied, "rct_1", 6),
		"the newest is granted":              twoLeases(Claim, Granted, "rct_2", 9),
		"acked by a receipt nobody noted":    twoLeases(Ack, Applied, "rct_9", 9),
		"the older, and its answer was lost": twoLeases(Ack, "", "rct_1", 9),
	} {
		if faults := Check(h); len(faults) > 0 {
			t.Errorf("%s: refused: %v", name, faults)
		}
	}
}

// A checker that refuses nothing is worth nothing: each of these histories breaks one invariant, and is refused for it.
func TestHistoriesThatBreakAnInvariantAreRefused(t *testing.T) {
	t.Parallel()
	if faults := Check(good()); len(faults) > 0 {
		t.Fatalf("a history that breaks nothing is refused: %v", faults)
	}
	at := func(h *History, n int64) *Row {
		return &h.Rows[slices.IndexFunc(h.Rows, func(r Row) bool { return r.N == n })]
	}
	without := func(h *History, n int64) { h.Rows = slices.DeleteFunc(h.Rows, func(r Row) bool { return r.N == n }) }
	add := func(h *History, e Event) {
		if e.Called == 0 {
			e.Called, e.Answered = 20*second*1000, 21*second*1000
		}
		h.Events = append(h.Events, e)
	}
	for name, c := range map[string]struct {
		broken func(*History)
		want   string
	}{
		"answered and not there":        {func(h *History) { add(h, Event{Do: Publish, Key: "work-2", Message: "qmsg_2", Answer: New}) }, "I1: message work-2 was answered new and is not there"},
		"answered before it was stored": {func(h *History) { h.Events[0].Answered = second * 500 }, "I1: message work-1 was answered"},
		"gone and acked by nobody": {func(h *History) {
			without(h, 8)
			without(h, 16)
			at(h, 7).New = &State{Max: 3, Origin: 1, Vis: 5 * second, Lease: 1, Leased: 1, Receives: 1}
			at(h, 17).Old = at(h, 7).New
			h.Events = slices.DeleteFunc(h.Events, func(e Event) bool { return e.Key == "work-1" && e.Do == Complete })
		}, "I1: message 1, published as work-1, was gone and nobody had acked it"},
		"a lease number that jumps": {func(h *History) {
			at(h, 7).New = &State{Max: 3, Origin: 1, Vis: 5 * second, Lease: 3, Leased: 1, Claim: 10}
		}, "I2: message 1 went from lease 0 to 3"},
		"leased twice at a time": {func(h *History) {
			at(h, 7).Old = &State{Max: 3, Origin: 1, Vis: 4 * second, Leased: 1}
		}, "I2: message 1 was leased"},
		"received too often":        {func(h *History) { at(h, 7).Old = &State{Max: 3, Origin: 1, Vis: second, Receives: 3} }, "I3: message 1 was received again after 3 receives"},
		"one key, two ids":          {func(h *History) { h.Events[1].Message = "qmsg_9" }, "I4: no order of its calls explains the answers about work-1"},
		"one key, new twice":        {func(h *History) { h.Events[1].Answer = New }, "I4: no order of its calls explains the answers about work-1"},
		"a replay before the first": {func(h *History) { h.Events[0].Called, h.Events[0].Answered = 4*second*1000, 5*second*1000 }, "I4: no order"},
		"a fence that jumps":        {func(h *History) { at(h, 12).New = &State{State: "done", Fence: 4} }, "I5: claim 20 went from fence 1 to 4"},
		"granted while held":        {func(h *History) { at(h, 16).New = &State{State: "started", Fence: 2, Until: 9 * second} }, "I5: claim 10 was granted"},
		"done, then not": {func(h *History) {
			at(h, 20).Old = &State{State: "done", Policy: "o", Fence: 1}
			at(h, 20).New = &State{State: "stuck", Policy: "o", Fence: 1}
		}, "I5: claim 30 was done and became stuck"},
		"stuck, then open by nobody": {func(h *History) { without(h, 21); at(h, 20).New = &State{State: "retry", Policy: "o", Fence: 1} }, "I5: claim 30 was stuck and became retry by nobody's act"},
		"granted twice under a fence": {func(h *History) {
			add(h, Event{Do: Claim, Key: "work-8", Answer: Granted, Fence: 1})
			add(h, Event{Do: Claim, Key: "work-8", Answer: Granted, Fence: 1})
		}, "I5: no order of its calls explains the answers about work-8"},
		"granted after done":     {func(h *History) { add(h, Event{Do: Claim, Key: "work-1", Answer: Granted, Fence: 2}) }, "I5: no order of its calls explains the answers about work-1"},
		"acked while it is open": {func(h *History) { without(h, 16) }, "I6: message 1 was gone while its key was started"},
		"dead while its key is open": {func(h *History) {
			without(h, 17)
			at(h, 16).Table, at(h, 16).ID = "messages", 1
			at(h, 16).Old, at(h, 16).New = at(h, 7).New, &State{Max: 3, Origin: 1, Lease: 1, Receives: 1, Claim: 10, Dead: 9}
		}, "I6: message 1 was dead-lettered while its key was started"},
		"an old fence's word counts":    {func(h *History) { add(h, Event{Do: Complete, Key: "work-7", Answer: Applied, Fence: 0}) }, "I5: no order of its calls explains the answers about work-7"},
		"the newest is called fenced":   {func(h *History) { add(h, Event{Do: Complete, Key: "work-7", Answer: Fenced, Fence: 1}) }, "I5: no order of its calls explains the answers about work-7"},
		"a fenced word is not recorded": {func(h *History) { add(h, Event{Do: Complete, Key: "work-9", Answer: Fenced, Fence: 8}) }, "I7: 1 words about work-9, of holders that were fenced out, are not recorded"},
		"a delivery's record for a worker's": {func(h *History) {
			add(h, Event{Do: Complete, Key: "work-1", Answer: Fenced, Fence: 0})
			h.Rows = append(h.Rows, fencedOut(20))
		}, "I7: 1 words about work-1, of holders that were fenced out, are not recorded"},
		"another key's record": {func(h *History) {
			add(h, Event{Do: Complete, Key: "work-1", Answer: Fenced, Fence: 0})
			h.Rows = append(h.Rows, fencedOut(30))
		}, "I7: 1 words about work-1, of holders that were fenced out, are not recorded"},
		"an older receipt acks":         {func(h *History) { *h = twoLeases(Ack, Applied, "rct_1", 9) }, "I2: message qmsg_1: ack by the receipt of lease 1, when somebody had that of lease 2"},
		"an older receipt gives back":   {func(h *History) { *h = twoLeases(Release, Applied, "rct_1", 9) }, "I2: message qmsg_1: release by the receipt of lease 1"},
		"an older receipt dead-letters": {func(h *History) { *h = twoLeases(Nack, Applied, "rct_1", 9) }, "I2: message qmsg_1: nack by the receipt of lease 1"},
		"an older receipt is granted":   {func(h *History) { *h = twoLeases(Claim, Granted, "rct_1", 9) }, "I2: message qmsg_1: claim by the receipt of lease 1"},
		"an origin that moves": {func(h *History) {
			at(h, 7).New = &State{Max: 3, Origin: 2, Vis: 5 * second, Lease: 1, Leased: 1, Claim: 10}
		}, "I8: the origin of message 1 went from 1 to 2"},
		"a held key is forgotten":         {func(h *History) { at(h, 16).New = nil }, "I8: the held key of claim 10 was forgotten"},
		"an event without its delivery":   {func(h *History) { at(h, 5).Tx = 99 }, "I9: event 1 was stored without its delivery"},
		"an event without its message":    {func(h *History) { at(h, 6).Tx = 99 }, "I9: event 1 was stored without its delivery"},
		"a key without its message":       {func(h *History) { at(h, 2).Tx = 99 }, "I9: the publish key work-1 was stored without its message"},
		"done without its attempt":        {func(h *History) { at(h, 13).Tx = 99 }, "I10: claim 20 is done without its attempt"},
		"done, the message settled after": {func(h *History) { at(h, 14).Tx = 99 }, "I10: claim 20 is done and its message was not settled with it"},
		"a request without an attempt":    {func(h *History) { add(h, Event{Do: Post, Key: "k", Thing: "once-1", Answer: "503"}) }, "I11: once-1 was posted 2 times, and has 1 attempts"},
		"once, and twice": {func(h *History) {
			add(h, Event{Do: Post, Key: "k", Thing: "once-1", Answer: "200", Policy: "once"})
			h.Rows = append(h.Rows, Row{N: 50, Tx: 50, Table: "attempts", ID: 2, New: &State{Claim: 20, Fence: 1}})
		}, "I11: once-1 was posted 2 times under policy once"},
		"once, and twice by workers": {func(h *History) {
			for range 2 {
				add(h, Event{Do: Post, Key: "k", Thing: "work-7", Answer: "200", Policy: "work"})
			}
		}, "I11: work-7 was posted 2 times under policy once"},
		"a redrive that loses":  {func(h *History) { at(h, 22).New = &State{Total: 3, Moved: 1, Left: 1} }, "I12: redrive 1 took out 3; it moved 1 and left 1"},
		"another project hears": {func(h *History) { add(h, Event{Do: Foreign, Message: "dlv_1", Answer: "CONFLICT"}) }, "I13: a call of another project about dlv_1"},
		"one id for two projects": {func(h *History) {
			add(h, Event{Do: Publish, Key: "their-1", Thing: "their-1", Message: "qmsg_1", Answer: New, Project: "their"})
		}, `I13: an answer to project "their" names qmsg_1, which is of project ""`},
		"received from another project": {func(h *History) {
			add(h, Event{Do: Publish, Key: "their-1", Thing: "their-1", Message: "qmsg_9", Answer: New, Project: "their"})
			add(h, Event{Do: Receive, Thing: "their-1"})
		}, `I13: an answer to project "" names their-1, which is of project "their"`},
		"listed for another project": {func(h *History) {
			add(h, Event{Do: List, Project: "their", Answer: "3", Names: []string{"their-0", "qmsg_1"}})
		}, `I13: an answer to project "their" names qmsg_1, which is of project ""`},
		"received before its time": {func(h *History) { at(h, 7).Old = &State{Max: 3, Origin: 1, Vis: 3 * second} }, "I14: message 1 was received"},
		"more than its slots":      {func(h *History) { at(h, 11).New = &State{InFlight: 2, Slots: 1} }, "I15: group 1 has 2 in flight; it has 1 slots"},
		"a message that waits": {func(h *History) {
			h.Rows = append(h.Rows, Row{N: 60, Tx: 60, Table: "messages", ID: 9, New: &State{Max: 3}})
		}, "I16: message 9 still waits"},
		"a key that is open": {func(h *History) {
			h.Rows = append(h.Rows, Row{N: 60, Tx: 60, Table: "claims", ID: 9, New: &State{State: "retry"}})
		}, "I16: claim 9 is still retry"},
		"a slot that is not back": {func(h *History) { without(h, 15) }, "I16: group 1 still has 1 in flight"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := good()
			c.broken(&h)
			faults := Check(h)
			if !slices.ContainsFunc(faults, func(f Fault) bool { return strings.HasPrefix(f.String(), c.want) }) {
				t.Errorf("%q is not among %q", c.want, faults)
			}
		})
	}
}

// What was never answered may have happened, at any time since, or never; a call that overlaps another may be before or after it.
func TestWhatNobodyHeardExplainsEither(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*History){
		"a publish that stored, unheard": func(h *History) { h.Events[0].Answered, h.Events[0].Answer, h.Events[1].Answer = 0, "", Replay },
		"a publish that did not store":   func(h *History) { h.Events[0].Answered, h.Events[0].Answer, h.Events[1].Answer = 0, "", New },
		"a grant that nobody heard of":   func(h *History) { h.Events[3].Answered, h.Events[3].Answer = 0, "" },
		"a success that nobody heard of": func(h *History) { h.Events[4].Answered, h.Events[4].Answer = 0, "" },
		"two that overlap": func(h *History) {
			h.Events[1].Called, h.Events[0].Answered = 0, 3*second*1000
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := good()
			change(&h)
			if faults := Check(h); len(faults) > 0 {
				t.Errorf("refused: %v", faults)
			}
		})
	}
}

// A log outlives its process: a call that was begun stands in it, and a last line that was cut off is left out.
func TestALogOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	events, err := Read(strings.NewReader(`{"id":"w-1","do":"claim","key":"a","called":5}
{"id":"w-2","do":"publish","key":"b","called":6}
{"id":"w-1","do":"claim","key":"a","answer":"granted","fence":1,"called":5,"answered":9}
{"id":"w-3","do":"pub`))
	if err != nil || len(events) != 2 || events[0].Answer != Granted || events[1].Answered != 0 {
		t.Errorf("%+v, %v", events, err)
	}
	path := t.TempDir() + "/log"
	l, err := Open(path, "w")
	if err != nil {
		t.Fatal(err)
	}
	end := l.Begin(Event{Do: Claim, Key: "a", Policy: "once"})
	l.Begin(Event{Do: Begin, Key: "a"})
	end(Event{Answer: Granted, Fence: 3})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	events, err = Read(f)
	if err != nil || len(events) != 2 || events[0].Fence != 3 || events[0].Policy != "once" || events[0].Key != "a" || events[1].Answered != 0 {
		t.Errorf("%+v, %v", events, err)
	}
}
