package simulation

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// publishBatch publishes some messages by one call, under a key that stands for each with its place; perhaps nobody hears the answer, and it is made again.
func (w *world) publishBatch(q *queueModel) {
	if w.process == nil {
		return
	}
	key, items := w.name("b"), []fields(nil)
	all := make([]*message, 2+w.dice.IntN(4))
	for i := range all {
		all[i] = w.draw(q)
		items = append(items, all[i].body())
	}
	body := fields{"queue": q.name, "messages": items, "idempotency_key": key}
	call := func(lost, again bool) {
		a := w.callOr(lost, "POST", "queue/publish_batch", body)
		w.say("publish %d to %s as %s, again %v: %d %s replay=%v lost=%v", len(all), q.name, key, again, a.status, a.code, a.replay, a.lost)
		var got page[struct {
			seen
			Replay bool `json:"idempotent_replay"`
			Error  any
		}]
		w.read(a, &got)
		if !a.lost && (a.status != 200 || len(got.Items) != len(all) || a.replay != again) {
			w.fail("a batch of %d for %s is answered %d %s with %d items, replay %v", len(all), q.name, a.status, a.code, len(got.Items), a.replay)
			return
		}
		for i, m := range all {
			id := ""
			if !a.lost {
				id = got.Items[i].ID
				if is := got.Items[i]; is.Error != nil || is.Replay != again || id == "" || again && m.id != "" && m.id != id {
					w.fail("%s, published again %v, is answered %+v; its id was %s", m.name, again, is, m.id)
				}
			}
			switch {
			case !again:
				w.stored(m, id, fmt.Sprint(key, ":", i))
			case !a.lost:
				m.id = id
			}
		}
	}
	call(w.chance(6), false)
	if w.chance(3) {
		w.after(time.Duration(w.dice.Int64N(int64(q.window*9/10))), func() {
			if w.process != nil {
				call(w.chance(6), true)
			}
		})
	}
}

// burst has many callers do the same at one moment: publish one message under one key, then receive what there is.
func (w *world) burst(q *queueModel) {
	if w.process == nil || w.unsure(q) {
		return
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	at := w.now()
	each := func(n int, method, path string, body fields, do func(answer)) {
		for range n {
			all.Go(func() {
				a := w.call(method, path, body)
				mu.Lock()
				defer mu.Unlock()
				do(a)
			})
		}
		all.Wait()
	}
	m, key, n, fresh := w.draw(q), w.name("u"), 3+w.dice.IntN(10), 0
	m.delay = 0
	body := m.body()
	body["queue"], body["idempotency_key"] = q.name, key
	each(n, "POST", "queue/publish", body, func(a answer) {
		var got seen
		w.read(a, &got)
		if a.status != 200 || m.id != "" && m.id != got.ID {
			w.fail("%s is published by %d callers at once, and one is answered %d %s, id %s; another had %s", m.name, n, a.status, a.code, got.ID, m.id)
		}
		if m.id = got.ID; !a.replay {
			fresh++
		}
	})
	if fresh != 1 {
		w.fail("%s is published by %d callers at once; for %d it was the first time", m.name, n, fresh)
	}
	w.stored(m, m.id, key)
	w.say("%d publish %s to %s", n, m.name, q.name)
	if !w.now().Equal(at) {
		w.until(w.now()) // a moment of its own
	}
	can, items := w.receivable(q), []seen(nil)
	const callers, most = 3, 2
	each(callers, "POST", "queue/consume", fields{"queue": q.name, "max_messages": most}, func(a answer) {
		var got page[seen]
		w.read(a, &got)
		items = append(items, got.Items...)
	})
	if want := min(callers*most, len(can)); len(items) != want {
		w.fail("%d consumes of %d at once from %s give %d messages; %d can be received", callers, most, q.name, len(items), len(can))
	}
	slices.SortFunc(items, func(a, b seen) int { return slices.Compare([]byte(a.name()), []byte(b.name())) })
	for _, s := range items {
		i := slices.IndexFunc(can, func(m *message) bool { return m.name == s.name() })
		if i < 0 || !q.fifo && i >= callers*most || can[i].leased && can[i].visible.After(w.now()) {
			w.fail("consumes at once from %s give %s, which is not theirs or was given twice", q.name, s.name())
			return
		}
		w.taken(can[i], s, q.visibility)
	}
}

// waitFor is a consume that waits: what falls due meanwhile is answered when it does, what is there at once, and nothing else ends it before its time.
func (w *world) waitFor(q *queueModel) {
	if w.process == nil || q.fifo || w.unsure(q) {
		return
	}
	most, begun := 1+w.dice.IntN(3), w.now()
	limit := time.Duration(1+w.dice.IntN(20)) * time.Second
	end := begun.Add(limit)
	there := len(w.receivable(q)) > 0
	var got page[seen]
	w.must("POST", "queue/consume", fields{"queue": q.name, "max_messages": most, "wait_seconds": seconds(limit)}, &got)
	took := w.now().Sub(begun)
	can, unsure := w.receivable(q), w.unsure(q)
	w.say("consume %s, waiting %v: %d after %v", q.name, limit, len(got.Items), took)
	if there && took > 0 || took > limit+soon || len(got.Items) == 0 && w.now().Before(end) {
		w.fail("a consume of %s that waits for %v gives %d messages after %v; there were some: %v", q.name, limit, len(got.Items), took, there)
	}
	if unsure {
		// between two states: what it gives is received all the same
	} else if len(got.Items) != min(most, len(can)) && (len(got.Items) > 0 || slices.ContainsFunc(can, func(m *message) bool { return m.visible.Add(2 * soon).Before(w.now()) })) {
		w.fail("a consume of %d from %s that waited %v gives %d; %d can be received", most, q.name, took, len(got.Items), len(can))
	}
	for i, s := range got.Items {
		m := w.received(s, can)
		if m == nil {
			w.fail("consume of %s gives %s, which cannot be received now", q.name, s.Payload)
			return
		}
		if there && !unsure && m != can[i] {
			w.fail("a consume of %s that need not wait gives %s as number %d; it must be %s, by priority, time and id", q.name, m.name, i, can[i].name)
		}
		if late := w.now().Sub(m.visible); !there && late > 2*soon && m.visible.After(begun) {
			w.fail("%s was due %v before the consume that waited for it ended", m.name, late)
		}
		w.taken(m, s, q.visibility)
	}
}
