package simulation

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// tasks is a queue whose messages carry keys of the ledger: each is claimed by its receipt, and settled with the word on its key.
type tasks struct {
	most int // receives
	all  map[string]*task
}

// task is one, as its workers know it.
type task struct {
	name    string
	once    bool
	fence   int64     // the newest; -1: nobody heard it
	until   time.Time // of the lease under it
	done    bool
	gone    bool // its message, with the word that it is done: nobody else had it by then
	effects int
	ruled   bool // a person or a redrive had it tried again
}

// rule notes that it is to be tried again though somebody may hold it.
func (k *task) rule() { k.ruled, k.until = true, time.Time{} }

func (w *world) buildTasks() {
	w.tasks = &tasks{most: 2 + w.dice.IntN(3), all: map[string]*task{}}
	w.must("POST", "queue/create", fields{"name": "tasks", "max_receive_count": w.tasks.most}, nil)
}

// task publishes one, or has workers receive some.
func (w *world) task() {
	if w.process == nil {
		return
	}
	if w.chance(2) {
		k := &task{name: w.name("t"), once: w.chance(2)}
		a := w.callOr(w.chance(6), "POST", "queue/publish", fields{"queue": "tasks", "payload": fields{"name": k.name}})
		w.say("publish tasks %s: %d", k.name, a.status)
		w.tasks.all[k.name] = k
		return
	}
	lease := time.Duration(2+w.dice.IntN(30)) * time.Second
	var got page[seen]
	w.must("POST", "queue/consume", fields{"queue": "tasks", "max_messages": 3, "visibility_timeout": seconds(lease)}, &got)
	for _, s := range got.Items {
		k := w.tasks.all[s.name()]
		if k == nil {
			w.fail("consume of tasks gives %s, which was never published", s.Payload)
			return
		}
		if k.gone {
			w.fail("%s is done, its message was settled with it, and is received again", k.name)
		}
		w.say("consume tasks: %s, receive %d", k.name, s.Count)
		if !w.chance(8) { // else it dies
			w.after(time.Duration(w.dice.Int64N(int64(lease+lease/4))), func() { w.toil(k, s, lease) })
		}
	}
}

// toil is a worker with a message: it claims, begins if it must, does the work and says what came of it, in time or late, or dies on the way.
func (w *world) toil(k *task, s seen, lease time.Duration) {
	if w.process == nil {
		return
	}
	v, ok := w.claimTask(k, s, lease, w.chance(10))
	if !ok || v.Verdict != "granted" {
		w.giveUp(k, s, v)
		return
	}
	dies, kind, wait := w.dice.IntN(12), w.dice.IntN(8), w.dice.Int64N(int64(lease+lease/3))
	if dies == 0 {
		return
	}
	if k.once {
		if b := w.taskWord(k, v.Fence, "begin", fields{"lease_seconds": seconds(lease)}); !b.Applied || dies == 1 {
			return
		}
	}
	if kind > 2 {
		if k.effects++; k.once && k.effects > 1 && !k.ruled {
			w.fail("%s is once, and takes effect %d times", k.name, k.effects)
		}
	}
	w.after(time.Duration(wait), func() {
		if w.process == nil {
			return
		}
		switch {
		case kind <= 1:
			w.taskWord(k, v.Fence, "fail", fields{"kind": "definite", "error": "refused", "retry_in_seconds": w.dice.IntN(20), "settle": true})
		case kind == 2:
			w.taskWord(k, v.Fence, "fail", fields{"kind": "permanent", "error": "never", "settle": true})
		default:
			w.completeTask(k, v.Fence)
		}
	})
}

// claimTask claims a task's key for who has the receipt. It reports whether an answer came that rules on it.
func (w *world) claimTask(k *task, s seen, lease time.Duration, lost bool) (v verdict, ok bool) {
	a := w.callOr(lost, "POST", "ledger/claim", fields{
		"scope": "tasks", "key": k.name, "policy": policyOf(k.once), "lease_seconds": seconds(lease), "max_attempts": 3, "queue": "tasks", "receipt_handle": s.Receipt,
	})
	w.read(a, &v)
	w.say("claim task %s by receive %d: %d %s %s fence %d %s", k.name, s.Count, a.status, a.code, v.Verdict, v.Fence, v.Reason)
	switch {
	case a.lost:
		k.fence = -1
		return v, false
	case a.status == 404 && (k.done || k.fence != 0), a.status == 409: // gone, or a dead letter: somebody else had it since
		return v, false
	case a.status != 200:
		w.fail("claim of task %s: %d %s", k.name, a.status, a.code)
		return v, false
	case v.Verdict == "granted":
		if k.done {
			w.fail("%s was done, and is granted under fence %d", k.name, v.Fence)
		}
		if k.fence >= 0 && v.Fence != k.fence+1 {
			w.fail("%s is granted under fence %d after %d", k.name, v.Fence, k.fence)
		}
		if w.now().Before(k.until) {
			w.fail("%s is granted under fence %d, and another holds it until %s", k.name, v.Fence, k.until)
		}
		k.fence, k.until = v.Fence, w.now().Add(lease)
	case v.Verdict == "done" && !k.done:
		w.fail("%s is done, and nobody has said so", k.name)
	}
	return v, true
}

// giveUp is what a worker does with a message whose key it was not granted.
func (w *world) giveUp(k *task, s seen, v verdict) {
	verb, body := "", fields{"queue": "tasks", "receipt_handle": s.Receipt}
	switch v.Verdict {
	case "busy":
		verb, body["delay_seconds"] = "release", v.Retry
	case "done":
		verb = "ack"
	case "failed", "stuck":
		verb, body["requeue"] = "nack", false
	default:
		return
	}
	a := w.call("POST", "queue/"+verb, body)
	w.say("%s task %s, which is %s: %d %s", verb, k.name, v.Verdict, a.status, a.code)
	if a.status != 200 && a.status != 404 {
		w.fail("%s of task %s: %d %s", verb, k.name, a.status, a.code)
	}
}

func (w *world) taskWord(k *task, fence int64, verb string, more fields) (s said) {
	body := fields{"scope": "tasks", "key": k.name, "fence": fence}
	maps.Copy(body, more)
	w.must("POST", "ledger/"+verb, body, &s)
	w.say("%s task %s under fence %d: %v %s %s", verb, k.name, fence, s.Applied, s.State, s.Reason)
	if s.Applied && k.fence > fence {
		w.fail("%s of task %s under fence %d is applied; the newest is %d", verb, k.name, fence, k.fence)
	}
	if s.Applied && verb != "complete" && k.done {
		w.fail("%s of task %s is applied, which was done", verb, k.name)
	}
	if s.Applied {
		k.until = time.Time{}
		if by, begins := more["lease_seconds"].(float64); begins {
			k.until = w.now().Add(time.Duration(by * float64(time.Second)))
		}
	}
	return s
}

// completeTask says that it is done. If that counts, its message is gone with it, or somebody else's who will find it done.
func (w *world) completeTask(k *task, fence int64) {
	if s := w.taskWord(k, fence, "complete", fields{"result": json.RawMessage("1"), "settle": true}); !s.Applied {
		return
	}
	was := k.done
	k.done, k.gone = true, true
	for _, s := range list[seen](w, "queue/messages/tasks?") {
		if s.name() == k.name {
			if k.gone = false; s.Status != "in_flight" && !was {
				w.fail("%s is done, and its message is %s", k.name, s.Status)
			}
		}
	}
	for _, s := range list[seen](w, "queue/dlq/list/tasks?") {
		if s.name() == k.name {
			w.fail("%s is done, and its message is a dead letter", k.name)
		}
	}
}

// settleTasks has honest workers do what is left: what is dead is redriven, what nobody can know of is resolved, and each that was stored is done once, its message gone.
func (w *world) settleTasks() {
	left := 1
	for range 300 {
		var stats struct {
			Messages int `json:"message_count"`
			Dead     int `json:"dlq_count"`
		}
		w.must("GET", "queue/stats/tasks", nil, &stats)
		if left = stats.Messages + stats.Dead; left == 0 || w.failed() {
			break
		}
		for _, k := range list[struct {
			Key   string
			Fence int64
		}](w, "ledger/claims?state=stuck&") {
			if t := w.tasks.all[k.Key]; t != nil {
				t.rule()
				w.must("POST", "ledger/resolve", fields{"scope": "tasks", "key": k.Key, "fence": k.Fence, "as": "retry", "note": "simulated"}, nil)
			}
		}
		if stats.Dead > 0 {
			for _, s := range list[seen](w, "queue/dlq/list/tasks?") {
				w.tasks.all[s.name()].rule()
			}
			w.must("POST", "queue/dlq/redrive/tasks", nil, nil)
			w.wait(2 * soon)
		}
		var got page[seen]
		w.must("POST", "queue/consume", fields{"queue": "tasks", "max_messages": 100, "visibility_timeout": 60}, &got)
		for _, s := range got.Items {
			k := w.tasks.all[s.name()]
			if k == nil || k.gone {
				w.fail("consume of tasks gives %s, which is done or was never published", s.Payload)
				return
			}
			v, ok := w.claimTask(k, s, time.Minute, false)
			if !ok || v.Verdict != "granted" {
				w.giveUp(k, s, v)
				continue
			}
			if k.once {
				w.taskWord(k, v.Fence, "begin", fields{"lease_seconds": seconds(time.Minute)})
			}
			w.completeTask(k, v.Fence)
		}
		w.wait(10 * time.Second)
	}
	if left > 0 && !w.failed() {
		w.fail("%d messages of tasks do not come to an end", left)
	}
	for _, name := range slices.Sorted(maps.Keys(w.tasks.all)) {
		if k := w.tasks.all[name]; !k.done && !w.failed() {
			w.fail("%s was published, its queue is empty, and it is not done; it was granted %d times", name, k.fence)
		}
	}
}
