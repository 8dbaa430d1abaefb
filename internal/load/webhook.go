package load

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

// sink is a receiver that takes everything, and tells the number of each event.
func sink(came func(n int64)) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		_, n, _ := strings.Cut(r.Header.Get("webhook-id"), "-")
		if i, err := strconv.ParseInt(n, 10, 64); err == nil {
			came(i)
		}
	}))
}

// makeEndpoints makes endpoints, each of a tenant of its own.
func (l *load) makeEndpoints(ctx context.Context, url string) (ids []string, err error) {
	for i := range endpoints {
		var e struct {
			ID string `json:"endpoint_id"`
		}
		if err := l.call(ctx, "POST", "/v1/webhooks/endpoints", map[string]any{"url": url, "tenant": fmt.Sprint("t", i), "max_in_flight": 100}, &e); err != nil {
			return nil, err
		}
		ids = append(ids, e.ID)
	}
	return ids, nil
}

func (l *load) sendEvent(ctx context.Context, i int64) error {
	return l.send(ctx, "POST", "/v1/webhooks/events", fmt.Appendf(nil, `{"event_id":"%s-%d","event_type":"ticket.resolved","tenant":"t%d","payload":{"n":%d,"text":%q}}`,
		l.round, i, i%endpoints, i, l.filler), nil)
}

// deliver stores events for endpoints that are disabled, then lets them go.
func (l *load) deliver(ctx context.Context) error {
	var got atomic.Int64
	all := make(chan struct{})
	began := time.Now()
	to := sink(func(int64) {
		l.took(time.Since(began))
		if got.Add(1) == int64(l.Jobs) {
			close(all)
		}
	})
	defer to.Close()
	ids, err := l.makeEndpoints(ctx, to.URL)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := l.call(ctx, "POST", "/v1/webhooks/endpoints/"+id+"/disable", struct{}{}, nil); err != nil {
			return err
		}
	}
	l.share(ctx, l.Jobs, func(i int) {
		if err := l.sendEvent(ctx, int64(i)); err != nil {
			l.fail(err)
		}
	})
	if n := l.failed.Load(); n > 0 {
		return fmt.Errorf("%d of %d events were not stored: %w", n, l.Jobs, l.failure())
	}
	return l.measure(func() int64 {
		began = time.Now()
		for _, id := range ids {
			if err := l.call(ctx, "POST", "/v1/webhooks/endpoints/"+id+"/enable", struct{}{}, nil); err != nil {
				l.fail(err)
			}
		}
		select {
		case <-all:
		case <-ctx.Done():
		case <-time.After(10 * time.Minute):
		}
		return got.Load()
	})
}

// post sends events by the clock.
func (l *load) post(ctx context.Context) error {
	if l.Rate <= 0 {
		l.Rate = 500
	}
	l.row.Rate = l.Rate
	var c *clock
	var got atomic.Int64
	to := sink(func(n int64) {
		l.took(time.Since(c.due(n)))
		got.Add(1)
	})
	defer to.Close()
	if _, err := l.makeEndpoints(ctx, to.URL); err != nil {
		return err
	}
	return l.measure(func() int64 {
		c = l.newClock()
		var sent atomic.Int64
		l.each(ctx, c, func(i int64, _ time.Time) {
			if err := l.sendEvent(ctx, i); err != nil {
				l.fail(err)
				return
			}
			sent.Add(1)
		})
		for end := time.Now().Add(time.Minute); got.Load() < sent.Load() && time.Now().Before(end) && ctx.Err() == nil; {
			time.Sleep(time.Millisecond)
		}
		return got.Load()
	})
}
