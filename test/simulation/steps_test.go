package simulation

import (
	"time"
)

// build makes what the world begins with.
func (w *world) build() {
	w.buildQueues()
	w.buildHosts()
	w.buildPushes()
	w.buildTasks()
	w.buildNeighbours()
}

// step is one step of the run, drawn.
func (w *world) step() {
	q, h := w.queues[w.dice.IntN(len(w.queues))], w.hosts[w.dice.IntN(len(w.hosts))]
	switch n := w.dice.IntN(124); {
	case n >= 118:
		w.neighbour()
	case n >= 112:
		w.task()
	case n >= 108:
		w.waitFor(q)
	case n >= 104:
		w.burst(q)
	case n >= 100:
		w.publishBatch(q)
	case n < 26:
		w.publish(q)
	case n < 54:
		w.consume(q)
	case n < 58:
		w.look(q)
	case n < 60:
		w.redrive(q)
	case n < 64:
		w.outage()
	case n < 68:
		w.push()
	case n < 76:
		w.send()
	case n < 82:
		w.claim()
	case n < 85:
		w.rotate(h)
	case n < 87:
		w.toggle(h, true)
	case n < 91:
		w.toggle(h, false)
	case n < 93:
		w.redriveHost(h)
	case n < 96 && len(w.sent) > 0:
		w.person(w.sent[w.dice.IntN(len(w.sent))].deliveries[h])
	case len(w.sent) > 0:
		w.lookDelivery(w.sent[w.dice.IntN(len(w.sent))].deliveries[h])
	}
}

// outage is a time without a server: a restart, a crash, a night.
func (w *world) outage() {
	if w.process == nil {
		return
	}
	pause := time.Duration(w.dice.IntN(5000)) * time.Millisecond
	switch w.dice.IntN(6) {
	case 0:
		pause = time.Duration(w.dice.IntN(30)) * time.Hour
	case 1:
		pause = time.Duration(w.dice.IntN(3600)) * time.Second
	}
	back := false
	if w.chance(2) {
		back = w.chance(2)
		for _, q := range w.queues { // what the server has done of itself by now is certain
			w.living(q, false)
			back = back && !w.unsure(q)
		}
		w.say("the server is cut off, for %v", pause)
		w.cut()
	} else {
		w.say("the server is stopped, for %v", pause)
		w.stop()
	}
	w.after(pause, func() {
		if back {
			w.clockBack()
		}
		w.up()
		w.say("the server is up")
	})
}

// settle ends the faults, and sees that all comes to rest by itself.
func (w *world) settle() {
	for len(w.agenda) > 0 && !w.failed() {
		w.next()
	}
	w.mu.Lock()
	w.calm = true
	w.mu.Unlock()
	if w.failed() {
		return
	}
	w.wait(2 * soon)
	for _, q := range w.queues {
		for range 1000 {
			if w.failed() || len(w.living(q, false))+len(w.living(q, true)) == 0 {
				break
			}
			w.look(q)
			w.drain(q)
			w.wait(10 * time.Second)
		}
		w.look(q)
		if left := len(w.living(q, false)) + len(w.living(q, true)); left > 0 && !w.failed() {
			w.fail("%d messages of %s do not come to an end", left, q.name)
		}
	}
	w.settlePushes()
	w.settleWorks()
	w.settleTasks()
	w.settleNeighbours()
	w.settleHosts()
	w.forget()
}

// drain acks what there is, and sends dead letters back.
func (w *world) drain(q *queueModel) {
	if len(w.living(q, true)) > 0 {
		w.redrive(q)
	}
	if q.fifo && w.unsure(q) {
		return
	}
	var got page[seen]
	w.must("POST", "queue/consume", fields{"queue": q.name, "max_messages": 100}, &got)
	for _, s := range got.Items {
		if m := w.received(s, w.receivable(q)); m != nil {
			w.receive(m, q.visibility)
			w.must("POST", "queue/ack", fields{"queue": q.name, "receipt_handle": s.Receipt}, nil)
			m.gone = true
		} else {
			w.fail("consume of %s gives %s, which cannot be received now", q.name, s.Payload)
		}
	}
}
