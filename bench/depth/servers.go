package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/internal/cost"
)

const callers = 64 // of each server

// servers has one, two and four servers share a database, each with as many callers; four consumers take from them in all; each message is counted.
func (r *run) servers(ctx context.Context, kind string) error {
	var alone float64
	for _, n := range []int{1, 2, 4} {
		rate, cpu, err := r.share(ctx, kind, n)
		if err != nil {
			return err
		}
		if n == 1 {
			alone = rate
		}
		f := figure{What: fmt.Sprintf("published, received and acked through %d servers", n), Unit: "messages a second", Rows: n, Value: rate}
		r.tell(f.than(alone))
		r.tell(figure{What: fmt.Sprintf("the same, with their database and who calls them, through %d servers", n), Unit: "CPU-seconds for 10,000", Rows: n, Value: cpu})
	}
	return nil
}

func (r *run) share(ctx context.Context, kind string, n int) (rate, cpu float64, err error) {
	g, err := r.newGround(ctx, kind)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, g.leave(ctx)) }()
	var all []*served
	for range n {
		s, err := r.serve(ctx, g)
		if err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, s.stop(ctx)) }()
		all = append(all, s)
	}
	if err := all[0].call(ctx, "POST", "/v1/queue/create", object{"name": "jobs"}, nil); err != nil {
		return 0, 0, err
	}
	spent := func() (sum float64, err error) {
		sum, err = g.cpu()
		for _, s := range all {
			d, e := cost.Tree(s.Process.Pid)
			sum, err = sum+d.Seconds(), errors.Join(err, e)
		}
		return sum, err
	}
	was, err := spent()
	if err != nil {
		return 0, 0, err
	}
	var published, consumed atomic.Int64
	var over atomic.Bool
	var seen sync.Map
	var publishers, consumers sync.WaitGroup
	end := time.Now().Add(r.stretch(10 * time.Second))
	began := time.Now()
	for c := range callers * n {
		publishers.Go(func() {
			s := all[c%n]
			for i := 0; time.Now().Before(end) && ctx.Err() == nil; i++ {
				body := object{"queue": "jobs", "payload": object{"n": i, "text": string(filling[:200])}, "idempotency_key": fmt.Sprintf("%d-%d", c, i)}
				if err := s.call(ctx, "POST", "/v1/queue/publish", body, nil); err != nil {
					s.fail(err)
					return
				}
				published.Add(1)
			}
		})
	}
	for c := range 4 { // in all: more receivers of one queue cost more and bring no more
		consumers.Go(func() {
			s := all[c%n]
			for idle := 0; ctx.Err() == nil && !(over.Load() && consumed.Load() >= published.Load()) && idle < 30; {
				got, err := s.work(ctx)
				if err != nil {
					s.fail(err)
					return
				}
				if idle++; len(got) > 0 {
					idle = 0
				}
				for _, id := range got {
					if _, twice := seen.LoadOrStore(id, true); twice {
						s.fail(fmt.Errorf("message %s came twice", id))
					}
				}
				consumed.Add(int64(len(got)))
			}
		})
	}
	publishers.Wait()
	over.Store(true)
	consumers.Wait()
	rate = float64(consumed.Load()) / time.Since(began).Seconds()
	now, err := spent()
	if err != nil {
		return 0, 0, err
	}
	cpu = (now - was) * 10_000 / float64(max(1, consumed.Load()))
	for _, s := range all {
		if err := s.sound(); err != nil {
			return 0, 0, err
		}
	}
	if p, c := published.Load(), consumed.Load(); p != c {
		return 0, 0, fmt.Errorf("published %d through %d servers and received %d", p, n, c)
	}
	return rate, cpu, nil
}

// work receives a batch, acks it, and gives the messages' ids.
func (s *served) work(ctx context.Context) (ids []string, err error) {
	var got struct {
		Items []struct {
			ID      string `json:"message_id"`
			Receipt string `json:"receipt_handle"`
		} `json:"items"`
	}
	if err := s.call(ctx, "POST", "/v1/queue/consume", object{"queue": "jobs", "max_messages": 100, "wait_seconds": 1}, &got); err != nil || len(got.Items) == 0 {
		return nil, err
	}
	acks := make([]object, len(got.Items))
	for i, m := range got.Items {
		ids = append(ids, m.ID)
		acks[i] = object{"receipt_handle": m.Receipt}
	}
	return ids, s.call(ctx, "POST", "/v1/queue/ack_batch", object{"queue": "jobs", "items": acks}, nil)
}
