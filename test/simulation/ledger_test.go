package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// work is a key of the ledger as it must be: what the world's own workers did under it.
type work struct {
	key     string
	once    bool
	most    int
	fence   int64
	until   time.Time // of the holder's lease
	held    bool
	next    time.Time // before which nobody is granted it
	opID    string
	done    bool
	ended   time.Time // since it is done
	result  string
	effects int  // that took place, of a once; a receiver that knows the key counts an idempotent one once
	retried bool // a person said so
}

func policyOf(once bool) string {
	if once {
		return "once"
	}
	return "idempotent"
}

// verdict is what a claim answers.
type verdict struct {
	Verdict string
	Fence   int64
	OpID    string    `json:"op_id"`
	Until   time.Time `json:"lease_until"`
	Retry   float64   `json:"retry_after_seconds"`
	Result  json.RawMessage
	Reason  string
}

// claim asks for a key, as a worker that has its work does.
func (w *world) claim() {
	if w.process == nil {
		return
	}
	name := fmt.Sprintf("work-%d", w.dice.IntN(8))
	k := w.works[name]
	if k == nil {
		k = &work{key: name, once: w.chance(2), most: 2 + w.dice.IntN(4)}
		w.works[name] = k
	}
	lease := time.Duration(2+w.dice.IntN(40)) * time.Second
	a := w.callOr(w.chance(12), "POST", "ledger/claim", fields{
		"scope": "sim", "key": name, "policy": policyOf(k.once), "lease_seconds": seconds(lease), "max_attempts": k.most, "owner": "the world",
	})
	var v verdict
	w.read(a, &v)
	w.say("claim %s: %d %s fence %d", name, a.status, v.Verdict, v.Fence)
	free := !k.done && !(k.held && w.now().Before(k.until)) && !w.now().Before(k.next)
	switch {
	case a.lost: // what it was granted, nobody works on: nobody knows under which fence
		if free {
			k.fence, k.held, k.until = -1, true, w.now().Add(lease)
		}
	case a.status != 200:
		w.fail("claim of %s: %d %s", name, a.status, a.code)
	case v.Verdict == "granted":
		switch {
		case !free:
			w.fail("%s is granted under fence %d; done %v, held until %s", name, v.Fence, k.done, k.until)
		case k.fence >= 0 && v.Fence != k.fence+1:
			w.fail("%s is granted under fence %d after %d", name, v.Fence, k.fence)
		case k.opID != "" && v.OpID != k.opID:
			w.fail("%s had the op_id %s and has %s", name, k.opID, v.OpID)
		}
		k.fence, k.opID, k.held, k.until = v.Fence, v.OpID, true, w.now().Add(lease)
		w.labor(k, v.Fence, lease)
	case v.Verdict == "done":
		if !k.done || string(v.Result) != k.result {
			w.fail("%s is done with %s; done %v with %s", name, v.Result, k.done, k.result)
		}
	case v.Verdict == "busy":
		if free || v.Retry < 1 {
			w.fail("%s is busy for %v s, and is free since %s", name, v.Retry, k.until)
		}
	case v.Verdict == "stuck" || v.Verdict == "failed":
		if k.done || k.held && w.now().Before(k.until) {
			w.fail("%s is %s; done %v, held until %s", name, v.Verdict, k.done, k.until)
		}
		k.held = false
		if w.chance(2) && !k.done {
			w.resolve(k)
		}
	default:
		w.fail("%s is %q", name, v.Verdict)
	}
}

// labor is what a worker does under a grant: begin, the effect, its word; in time, late, or not to its end.
func (w *world) labor(k *work, fence int64, lease time.Duration) {
	begin := time.Duration(w.dice.Int64N(int64(lease)))
	if w.chance(8) {
		begin += lease // late
	}
	dies, kind := w.dice.IntN(10), w.dice.IntN(8)
	if dies == 0 {
		return
	}
	w.after(begin, func() {
		if w.process == nil {
			return
		}
		b := w.word(k, fence, "begin", fields{"lease_seconds": seconds(lease)})
		if !b.Applied {
			return // whoever is told so touches nothing
		}
		if k.fence == fence {
			k.until = w.now().Add(lease)
		}
		if k.once && kind > 2 {
			if k.effects++; k.effects > 1 && !k.retried {
				w.fail("%s is once, and takes effect %d times", k.key, k.effects)
			}
		}
		if dies == 1 {
			return
		}
		w.after(time.Duration(w.dice.Int64N(int64(lease+lease/2))), func() { w.report(k, fence, kind) })
	})
}

// report is a worker's last word.
func (w *world) report(k *work, fence int64, kind int) {
	if w.process == nil {
		return
	}
	switch {
	case kind <= 1:
		retry := time.Duration(w.dice.IntN(30)) * time.Second
		if g := w.word(k, fence, "fail", fields{"kind": "definite", "error": "refused", "retry_in_seconds": seconds(retry)}); g.Applied {
			k.held, k.next = false, w.now().Add(retry)
		}
	case kind == 2:
		if g := w.word(k, fence, "fail", fields{"kind": "permanent"}); g.Applied {
			k.held = false
		}
	default:
		result := fmt.Sprintf(`{"by": %d}`, fence)
		was := k.done
		g := w.word(k, fence, "complete", fields{"result": json.RawMessage(result)})
		if g.Applied && was && k.fence != fence {
			w.fail("%s was done, and is done again under fence %d", k.key, fence)
		}
		if g.Applied && !was {
			k.done, k.held, k.result, k.ended = true, false, fmt.Sprintf(`{"by":%d}`, fence), w.now()
		}
	}
}

type said struct {
	Applied bool
	State   string
	Reason  string
}

// word says something under a fence. Under an old one it must change nothing.
func (w *world) word(k *work, fence int64, verb string, more fields) (s said) {
	body := fields{"scope": "sim", "key": k.key, "fence": fence}
	for n, v := range more {
		body[n] = v
	}
	w.must("POST", "ledger/"+verb, body, &s)
	w.say("%s %s under fence %d: %v %s %s", verb, k.key, fence, s.Applied, s.State, s.Reason)
	old := k.fence != fence
	if s.Applied && old {
		w.fail("%s of %s under fence %d is applied; the newest is %d", verb, k.key, fence, k.fence)
	}
	if k.fence > fence && s.Reason != "fenced" && !k.done {
		w.fail("%s of %s under fence %d, which is old: %+v", verb, k.key, fence, s)
	}
	if !s.Applied && !old && k.held && w.now().Before(k.until) && !(verb == "complete" && k.once) {
		w.fail("%s of %s under fence %d, which holds it: %+v", verb, k.key, fence, s)
	}
	return s
}

// resolve is a person's word.
func (w *world) resolve(k *work) {
	a := w.call("POST", "ledger/resolve", fields{"scope": "sim", "key": k.key, "as": "retry", "note": "simulated"})
	w.say("resolve %s: %d %s", k.key, a.status, a.code)
	if a.status != 200 {
		w.fail("resolve of %s: %d %s", k.key, a.status, a.code)
	}
	k.retried, k.held, k.next = true, false, time.Time{}
}

// settleWorks sees that each key comes to an end that stays, once its workers are honest.
func (w *world) settleWorks() {
	for _, name := range slices.Sorted(maps.Keys(w.works)) {
		k := w.works[name]
		for range 200 {
			if w.failed() {
				return
			}
			var v verdict
			w.must("POST", "ledger/claim", fields{"scope": "sim", "key": k.key, "policy": policyOf(k.once), "lease_seconds": 60, "max_attempts": k.most}, &v)
			if v.Verdict == "granted" {
				if k.done {
					w.fail("%s was done, and is granted again", k.key)
				}
				w.must("POST", "ledger/begin", fields{"scope": "sim", "key": k.key, "fence": v.Fence, "lease_seconds": 60}, nil)
				w.must("POST", "ledger/complete", fields{"scope": "sim", "key": k.key, "fence": v.Fence, "result": 1}, nil)
				k.done, k.result, k.ended = true, "1", w.now()
				continue
			}
			if v.Verdict != "busy" {
				if k.done && (v.Verdict != "done" || string(v.Result) != k.result) {
					w.fail("%s was done with %s, and is %s with %s", k.key, k.result, v.Verdict, v.Result)
				}
				break
			}
			w.wait(time.Duration(v.Retry * float64(time.Second)))
		}
	}
}
