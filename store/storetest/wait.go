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
	{"I2: each message comes to one of those who wait, under one lease", waitersShare},
	{"I1: a waiter that leaves as a message comes loses nothing", waiterLeaves},
	{"what one who waits has no room for comes to the next at once", waitersNext},
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
				r.WaitMessages(ctx, queue.Receive{Project: 1, Queue: "jobs"})
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

// await receives at most n, or waits for them.
func (r *rig) await(ctx context.Context, name string, n int) ([]queue.Message, error) {
	c := queue.Receive{Project: r.project, Queue: name, Max: n, Visibility: time.Minute, Waits: true}
	if m, err := r.Receive(ctx, c); len(m) > 0 || err != nil {
		return m, err
	}
	return r.WaitMessages(ctx, c), nil
}

func waitersShare(r *rig) {
	const n = 120
	r.queue("jobs")
	ctx, stop := context.WithTimeout(r.ctx, 30*time.Second)
	defer stop()
	var mu sync.Mutex
	got := map[int64]int{}
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			for ctx.Err() == nil {
				m, _ := r.await(ctx, "jobs", 1+i)
				mu.Lock()
				for _, m := range m {
					got[m.ID] += m.Lease
				}
				if len(got) == n {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	for i := range 4 {
		all.Go(func() {
			for k := range n / 4 {
				if _, err := r.Publish(r.ctx, queue.Publish{Project: r.project, Queue: "jobs", Priority: (i + k) % 3, Body: []byte("{}")}); err != nil {
					r.Errorf("publish: %v", err)
				}
			}
		})
	}
	all.Wait()
	want(r, "messages that came", len(got), n)
	for id, leases := range got {
		want(r, "leases of "+itoa(id), leases, 1)
	}
}

func waiterLeaves(r *rig) {
	r.queue("jobs")
	for i := range 40 {
		ctx, leave := context.WithCancel(r.ctx)
		left := make(chan []queue.Message)
		go func() {
			m, _ := r.await(ctx, "jobs", 10)
			left <- m
		}()
		if i%4 > 0 {
			time.Sleep(time.Duration(i%4) * time.Millisecond) // it may wait by then
		}
		go leave()
		id := r.publish(queue.Publish{Queue: "jobs"})[0]
		m := <-left
		if len(m) == 0 {
			m = []queue.Message{r.soon("jobs", time.Minute)}
		}
		want(r, "received", ids(m)[0], id)
		want(r, "lease", m[0].Lease, 1)
		r.applied(act(queue.Ack, m[0]))
	}
}

func waitersNext(r *rig) {
	r.queue("jobs")
	r.none("jobs")
	for range 5 {
		got := make(chan int, 2)
		for range 2 {
			go func() {
				for r.ctx.Err() == nil {
					if m, err := r.await(r.ctx, "jobs", 1); len(m) > 0 || err != nil {
						got <- len(m)
						return
					}
				}
			}()
		}
		time.Sleep(20 * time.Millisecond) // they may wait by then
		r.publish(bodies("jobs", 2)...)
		for range 2 {
			select {
			case <-got:
			case <-time.After(10 * time.Second):
				r.Fatal("a message was left that nobody was told of")
			}
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
				r.WaitMessages(ctx, queue.Receive{Project: 1, Queue: name})
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
	go func() { r.WaitMessages(ctx, queue.Receive{Project: 1, Queue: "jobs"}); close(done) }()
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
			s.WaitMessages(ctx, queue.Receive{Project: 1, Queue: "jobs"})
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
