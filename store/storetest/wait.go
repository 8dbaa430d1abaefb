package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/onceward/onceward/queue"
)

var waitTests = []named{
	{"a waiter is woken by a publish", waiterWoken},
	{"a waiter is let go when its context ends", waiterEnds},
	{"H-Q09: with delayed work alone and every connection cut, a waiter wakes in time", waiterDelayed},
	{"H-Q14: a store that closes lets waiters go and keeps what it answered", waiterClosed},
}

func waiterWoken(r *rig) {
	r.queue("jobs")
	for _, g := range []string{"", "g"} {
		got := make(chan queue.Message)
		go func() {
			for r.ctx.Err() == nil {
				l, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: "jobs", Max: 1, Visibility: time.Minute})
				if err == nil && len(l) == 1 {
					got <- l[0]
					return
				}
				ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
				r.WaitMessages(ctx, 1, "jobs")
				cancel()
			}
		}()
		id := r.publish(queue.Publish{Queue: "jobs", Group: g})[0]
		select {
		case m := <-got:
			want(r, "id", m.ID, id)
		case <-time.After(10 * time.Second):
			r.Fatalf("group %q: nobody was woken in 10 s", g)
		}
	}
}

// bullmq#1658: only delayed messages, published by a process that is gone, and nobody to wake the receiver.
func waiterDelayed(r *rig) {
	const late = 3 * time.Second // a poll, and a slow machine
	for _, g := range []string{"", "g"} {
		name := "jobs" + g
		r.queue(name)
		due := r.tryPublish(queue.Publish{Queue: name, Group: g, Delay: 900 * time.Millisecond})[0].VisibleAt
		r.reopen()
		got := make(chan time.Time, 1)
		go func() {
			for r.ctx.Err() == nil {
				l, err := r.Receive(r.ctx, queue.Receive{Project: 1, Queue: name, Max: 1, Visibility: time.Minute})
				if err == nil && len(l) == 1 {
					got <- l[0].ReceivedAt
					return
				}
				ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
				r.WaitMessages(ctx, 1, name)
				cancel()
			}
		}()
		r.cut()
		select {
		case at := <-got:
			if d := at.Sub(due); d < 0 || d > late {
				r.Errorf("group %q: received %v after it was due", g, d)
			}
		case <-time.After(15 * time.Second):
			r.Fatalf("group %q: a waiter slept through what was due", g)
		}
	}
}

// cut ends the store's connections, where it has some that can be cut.
func (r *rig) cut() {
	r.Helper()
	if r.b.Dialect == Postgres {
		r.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	}
}

func waiterEnds(r *rig) {
	r.queue("jobs")
	ctx, cancel := context.WithTimeout(r.ctx, 50*time.Millisecond)
	defer cancel()
	done := make(chan struct{})
	go func() { r.WaitMessages(ctx, 1, "jobs"); close(done) }()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		r.Error("the wait did not end with its context")
	}
}

func waiterClosed(r *rig) {
	r.queue("jobs")
	r.publish(bodies("jobs", 40)...)
	l := r.receive("jobs", 40, time.Minute)
	s := r.Store // the reopened one takes its place
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(r.ctx, 20*time.Second)
			defer cancel()
			s.WaitMessages(ctx, 1, "jobs")
			if ctx.Err() != nil {
				r.Error("a waiter was not let go")
			}
		})
	}
	acked := make(chan int64, len(l))
	for _, m := range l {
		wg.Go(func() {
			if out, err := s.Settle(r.ctx, act(queue.Ack, m)); err == nil && out[0].Applied {
				acked <- m.ID
			}
		})
	}
	first := <-acked
	r.reopen()
	wg.Wait()
	close(acked)
	gone := map[int64]bool{first: true}
	for id := range acked {
		gone[id] = true
	}
	for _, m := range l {
		if gone[m.ID] && r.count("SELECT count(*) FROM messages WHERE id = "+itoa(m.ID)) > 0 {
			r.Errorf("the ack of %d was answered and is not kept", m.ID)
		}
	}
}
