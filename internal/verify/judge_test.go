package verify

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// seen makes the tally of a receiver that read each key so many times.
func seen(requests map[string]int) *tally {
	t := newTally()
	for k, n := range requests {
		for range n {
			t.read(k)
		}
	}
	return t
}

// What goes wrong in a store or on the wire must show: a verifier that finds nothing is worth nothing.
func TestJudge(t *testing.T) {
	t.Parallel()
	good := facts{Events: 1, Deliveries: 1, Claims: 1, Done: 1, Made: 1, Attempts: 1, Delivered: 1}
	with := func(change func(*facts)) facts { f := good; change(&f); return f }
	for name, c := range map[string]struct {
		facts    facts
		requests map[string]int
		most     int
		want     string // of lost, doubled, unfinished
	}{
		"right":                    {good, map[string]int{"k": 1}, 1, ""},
		"a repeat that is allowed": {with(func(f *facts) { f.Attempts = 2 }), map[string]int{"k": 2}, 2, ""},
		"a repeat that is not":     {with(func(f *facts) { f.Attempts = 2 }), map[string]int{"k": 2}, 1, "doubled"},
		"a third request":          {with(func(f *facts) { f.Attempts = 3 }), map[string]int{"k": 3}, 2, "doubled"},
		"two keys":                 {with(func(f *facts) { f.Attempts = 2 }), map[string]int{"k": 1, "l": 1}, 1, "doubled"},
		"no request":               {good, map[string]int{}, 1, "lost"},
		"no event":                 {with(func(f *facts) { f.Events = 0 }), map[string]int{"k": 1}, 1, "lost"},
		"no delivery":              {with(func(f *facts) { f.Deliveries = 0 }), map[string]int{"k": 1}, 1, "lost"},
		"two events":               {with(func(f *facts) { f.Events = 2 }), map[string]int{"k": 1}, 1, "doubled"},
		"two deliveries":           {with(func(f *facts) { f.Deliveries = 2 }), map[string]int{"k": 1}, 1, "doubled"},
		"two claims":               {with(func(f *facts) { f.Claims, f.Done = 2, 2 }), map[string]int{"k": 1}, 1, "doubled"},
		"delivered twice":          {with(func(f *facts) { f.Delivered = 2 }), map[string]int{"k": 1}, 1, "doubled"},
		"a request not recorded":   {good, map[string]int{"k": 2}, 2, "lost"},
		"a message left":           {with(func(f *facts) { f.Messages = 1 }), map[string]int{"k": 1}, 1, "unfinished"},
		"no message":               {with(func(f *facts) { f.Made = 0 }), map[string]int{"k": 1}, 1, "lost"},
		"two messages":             {with(func(f *facts) { f.Made = 2 }), map[string]int{"k": 1}, 1, "doubled"},
		"gone too early":           {with(func(f *facts) { f.Early = 1 }), map[string]int{"k": 1}, 1, "lost"},
		"leased twice":             {with(func(f *facts) { f.Broken = []string{"message 1 went from lease 1 to 2, early"} }), map[string]int{"k": 1}, 1, "doubled"},
		"a slot left":              {with(func(f *facts) { f.InFlight = 1 }), map[string]int{"k": 1}, 1, "unfinished"},
		"a claim open":             {with(func(f *facts) { f.Done = 0 }), map[string]int{"k": 1}, 1, "unfinished"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &run{verdict: &verdict{}, tally: seen(c.requests), ids: []string{"dlv_1"}}
			r.judge(c.facts, c.most)
			var got []string
			for name, yes := range map[string]bool{"lost": r.verdict.lost, "doubled": r.verdict.doubled, "unfinished": r.verdict.unfinished} {
				if yes {
					got = append(got, name)
				}
			}
			if fmt.Sprint(got) != "["+c.want+"]" || (c.want == "") != (len(r.verdict.reasons) == 0) {
				t.Errorf("got %v, want %s: %v", got, c.want, r.verdict.reasons)
			}
		})
	}
}

func TestRunsThatCannotBeCarriedOutAreNotOK(t *testing.T) {
	t.Parallel()
	report, err := Run(t.Context(), Config{Program: "/no/such/program", SQLite: true, Times: 2, Only: "handed over twice"})
	if err != nil {
		t.Fatal(err)
	}
	if report.OK || report.Rows[0].Failed != 2 {
		t.Errorf("%+v", report)
	}
	if _, err := Run(t.Context(), Config{Program: "x", SQLite: true, Only: "no such case"}); err == nil {
		t.Error("a case that does not exist was run")
	}
	if _, err := Run(t.Context(), Config{Program: "x"}); err == nil {
		t.Error("no store, and no error")
	}
	var out strings.Builder
	if err := report.Table(&out); err != nil || !strings.Contains(out.String(), "NOT OK") || !strings.Contains(out.String(), "could not be carried out") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestReceiverHoldsTheFirstAndCountsAll(t *testing.T) {
	t.Parallel()
	r := newReceiver(nil, 1)
	defer r.close()
	post := func() int {
		q, _ := http.NewRequest("POST", r.server.URL, strings.NewReader("{}"))
		q.Header.Set("Idempotency-Key", "k")
		resp, err := http.DefaultClient.Do(q)
		if err != nil {
			return 0
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	first := make(chan int)
	go func() { first <- post() }()
	q, err := r.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := post(); got != 200 {
		t.Errorf("the second: %d", got)
	}
	q.answer <- 503
	if got := <-first; got != 503 {
		t.Errorf("the first: %d", got)
	}
	requests, effects := r.seen()
	if requests["k"] != 2 || effects["k"] != 1 {
		t.Errorf("%v %v", requests, effects)
	}
}
