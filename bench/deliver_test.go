package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkDeliver: 64 callers hand over events of 1 KiB, which go to 20 endpoints in turn, one each; the figure is all there
// is: the handing over, the POSTs, the receiver, the ledger and the attempts' rows. of-bare is its rate as a share of a loop that only sends the
// POSTs, signs nothing, records nothing and loses what it has when it dies.
func BenchmarkDeliver(b *testing.B) {
	onStores(b, func(b *testing.B, s *server) {
		var got atomic.Int64
		all := make(chan struct{}, 1)
		var want int64
		sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			if got.Add(1) == want {
				all <- struct{}{}
			}
		}))
		b.Cleanup(sink.Close)
		const endpoints = 20
		for i := range endpoints {
			s.post(b, "/v1/webhooks/endpoints", fmt.Appendf(nil, `{"url":%q,"tenant":"t%d"}`, sink.URL, i), nil)
		}
		send := func(i int, round string) {
			body := fmt.Appendf(nil, `{"event_id":"%s-%d","event_type":"ticket.resolved","tenant":"t%d","payload":{"n":%d,"text":%q}}`, round, i, i%endpoints, i, text)
			s.post(b, "/v1/webhooks/events", body, nil)
		}
		run := func(n int, round string) {
			want = got.Load() + int64(n)
			share(n, 64, func(i int) { send(i, round) })
			select {
			case <-all:
			case <-time.After(5 * time.Minute):
				b.Fatalf("%d of %d delivered", got.Load(), want)
			}
		}
		run(500, "warm")
		posts := bareLoop(b)
		before, began := usage(b, s.postmaster), time.Now()
		run(b.N, "run")
		took := time.Since(began)
		s.report(b, before, took)
		b.ReportMetric(float64(b.N)/took.Seconds()/posts, "of-bare")
	})
}

// bareLoop gives how many POSTs of 1 KiB a second 64 senders make by net/http alone, to a receiver like the sink.
func bareLoop(b *testing.B) float64 {
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) }))
	defer sink.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	post := func(int) {
		a, err := client.Post(sink.URL, "application/json", strings.NewReader(text))
		if err != nil {
			b.Error(err)
			return
		}
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
	}
	return rate(post)
}
