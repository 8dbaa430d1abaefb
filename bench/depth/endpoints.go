package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

const hanging = 20 // each so-manyth endpoint

// manyEndpoints compares the way of an event to its POST at an endpoint that is well: while all are, and while each 20th hangs to its time-out and a great
// many deliveries wait for one that is disabled.
func (r *run) manyEndpoints(ctx context.Context, kind string) (err error) {
	g, err := r.newGround(ctx, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.leave(ctx)) }()
	to := newReceiver()
	defer to.Close()
	s, err := r.serve(ctx, g)
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		to.release()
		if !stopped {
			err = errors.Join(err, s.stop(ctx))
		}
	}()
	next := make(chan int, r.endpoints)
	for i := range r.endpoints {
		next <- i
	}
	close(next)
	var makers sync.WaitGroup
	for range 16 {
		makers.Go(func() {
			for i := range next {
				body := object{"url": fmt.Sprint(to.URL, "/", i), "tenant": fmt.Sprint("t", i), "timeout_seconds": 10, "max_in_flight": 10, "event_types": []string{"live"}}
				if err := s.call(ctx, "POST", "/v1/webhooks/endpoints", body, nil); err != nil {
					s.fail(err)
				}
			}
		})
	}
	makers.Wait()
	waits := object{"url": to.URL, "tenant": "waits", "event_types": []string{filled}}
	if err := errors.Join(s.sound(), s.call(ctx, "POST", "/v1/webhooks/endpoints", waits, nil)); err != nil {
		return err
	}
	span := r.stretch(30 * time.Second)
	well, err := to.around(ctx, s, r.endpoints, span)
	if err != nil {
		return err
	}
	stopped = true
	if err := s.stop(ctx); err != nil {
		return err
	}
	if err := g.open(ctx); err != nil {
		return err
	}
	disabled, err := g.db.Endpoints(ctx, webhook.Filter{Project: 1, Tenant: "waits", Page: queue.Page{Limit: 1}})
	if err != nil || len(disabled) != 1 {
		return fmt.Errorf("the endpoint to disable is not there: %w", err)
	}
	if _, err := g.db.UpdateEndpoint(ctx, 1, disabled[0].ID, func(_ time.Time, e *webhook.Endpoint) error { e.Disabled = true; return nil }); err != nil {
		return err
	}
	if err := g.fillDeliveries(ctx, r.rows, true, disabled[0].ID); err != nil {
		return err
	}
	if s, err = r.serve(ctx, g); err != nil {
		return err
	}
	stopped = false
	to.hangs.Store(true)
	ill, err := to.around(ctx, s, r.endpoints, span)
	if err != nil {
		return err
	}
	r.tell(figure{What: "requests that hung at the end", Unit: "requests", Value: float64(to.hung.Load())})
	r.tell(figure{What: fmt.Sprintf("p99 from event to its POST at 200 a second for %d endpoints", r.endpoints), Unit: "ms", Value: ill}.than(well).within(1.5 * well))
	return nil
}

// receiver takes requests for endpoints by their number, and tells how long after they were due those came that do not hang.
type receiver struct {
	*httptest.Server
	hangs   atomic.Bool
	hung    atomic.Int64
	over    chan struct{}
	ended   sync.Once
	arrived atomic.Pointer[latencies]
	came    atomic.Int64
}

func newReceiver() *receiver {
	to := &receiver{over: make(chan struct{})}
	to.arrived.Store(newLatencies())
	to.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		io.Copy(io.Discard, q.Body)
		if n, _ := strconv.Atoi(q.URL.Path[1:]); n%hanging == 0 && to.hangs.Load() {
			to.hung.Add(1)
			defer to.hung.Add(-1)
			select {
			case <-q.Context().Done():
			case <-to.over:
			}
			return
		}
		if _, at, ok := strings.Cut(q.Header.Get("webhook-id"), "-"); ok {
			if due, err := strconv.ParseInt(at, 10, 64); err == nil {
				to.arrived.Load().took(time.Since(time.UnixMicro(due)))
				to.came.Add(1)
			}
		}
	}))
	return to
}

// release lets those go that hang, so that a server can stop.
func (to *receiver) release() { to.ended.Do(func() { close(to.over) }) }

// around sends events to the endpoints in turn for a while, of which a first third only warms, and gives the p99 of those that are well.
func (to *receiver) around(ctx context.Context, s *served, endpoints int, span time.Duration) (float64, error) {
	for _, part := range []time.Duration{span / 3, span} {
		to.arrived.Store(newLatencies())
		to.came.Store(0)
		var sent atomic.Int64
		paced(ctx, 200, part, func(i int64, due time.Time) {
			n := i * 7919 % int64(endpoints) // anywhere
			body := object{"event_id": fmt.Sprintf("%d-%d", n, due.UnixMicro()), "event_type": "live", "tenant": fmt.Sprint("t", n), "payload": object{"n": i}}
			if err := s.call(ctx, "POST", "/v1/webhooks/events", body, nil); err != nil {
				s.fail(err)
			} else if n%hanging != 0 || !to.hangs.Load() {
				sent.Add(1)
			}
		})
		for end := time.Now().Add(20 * time.Second); to.came.Load() < sent.Load(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return 0, fmt.Errorf("%d of %d deliveries came", to.came.Load(), sent.Load())
			}
		}
	}
	return to.arrived.Load().p99(), s.sound()
}
