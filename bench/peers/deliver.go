package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

const endpoints = 20

// receiver takes every POST, and tells the number of each. It runs in this process, so what it costs is counted.
func receiver(came func(i int64)) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if i, err := strconv.ParseInt(strings.TrimPrefix(r.Header.Get("webhook-id"), "e-"), 10, 64); err == nil {
			came(i)
		}
	}))
}

// endpoints makes some, each of a tenant of its own.
func (s *oncewardSubject) endpoints(ctx context.Context, url string) (ids []string, err error) {
	for i := range endpoints {
		var e struct {
			ID string `json:"endpoint_id"`
		}
		if err := s.post(ctx, "/v1/webhooks/endpoints", fmt.Appendf(nil, `{"url":%q,"tenant":"t%d","max_in_flight":100}`, url, i), &e); err != nil {
			return nil, err
		}
		ids = append(ids, e.ID)
	}
	return ids, nil
}

func (s *oncewardSubject) event(ctx context.Context, i int64, body []byte) error {
	tenant := (i + 1<<20*endpoints) % endpoints // numbers below 0 too
	return s.post(ctx, "/v1/webhooks/events", fmt.Appendf(nil, `{"event_id":"e-%d","event_type":"ticket.resolved","tenant":"t%d","payload":%s}`, i, tenant, body), nil)
}

// deliver stores events for endpoints that are disabled, then lets them go.
func deliver(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	o := x.(*oncewardSubject)
	var got atomic.Int64
	all := make(chan struct{})
	to := receiver(func(int64) {
		if got.Add(1) == int64(s.Deliveries) {
			close(all)
		}
	})
	defer to.Close()
	ids, err := o.endpoints(ctx, to.URL)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := o.post(ctx, "/v1/webhooks/endpoints/"+id+"/disable", []byte("{}"), nil); err != nil {
			return nil, err
		}
	}
	whole := s
	whole.Seconds = 300 // all of them, however long it takes
	if _, err := whole.closed(s.Callers, int64(s.Deliveries), func(i int64) (int64, error) { return 1, o.event(ctx, i, s.body(i)) }); err != nil {
		return nil, err
	}
	f, err := p.meter("deliver", x.roots(), func() (done, error) {
		began := time.Now()
		for _, id := range ids {
			if err := o.post(ctx, "/v1/webhooks/endpoints/"+id+"/enable", []byte("{}"), nil); err != nil {
				return done{}, err
			}
		}
		select {
		case <-all:
			return done{jobs: got.Load(), span: time.Since(began)}, nil
		case <-ctx.Done():
			return done{}, ctx.Err()
		case <-time.After(2 * time.Minute):
			return done{}, fmt.Errorf("%d of %d were delivered", got.Load(), s.Deliveries)
		}
	})
	return []figure{f}, err
}

// post hands over events by the clock.
func post(ctx context.Context, s settings, x subject, p peer) ([]figure, error) {
	o := x.(*oncewardSubject)
	a := newArrivals()
	to := receiver(a.came)
	defer to.Close()
	if _, err := o.endpoints(ctx, to.URL); err != nil {
		return nil, err
	}
	send := func(i int64) error { return o.event(ctx, i, s.body(i)) }
	if err := a.warm(s, send); err != nil {
		return nil, err
	}
	f, err := p.meter("post", x.roots(), func() (done, error) {
		return a.begin(s).send(ctx, s.Callers, send)
	})
	return []figure{f}, err
}
