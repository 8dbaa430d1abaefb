package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/webhook"
)

// BenchmarkStored: events that are stored already are delivered to a receiver in a process of its own: takes, POSTs, the ledger and the
// attempts' rows. of-bare is its rate as a share of bareSigned's, of-plain as a share of bareLoop's.
func BenchmarkStored(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) { stored(b, "sqlite:"+filepath.Join(b.TempDir(), "bench.db"), nil, 0) })
	b.Run("postgres", func(b *testing.B) {
		url, pid := database(b)
		stored(b, url, bytes.Repeat([]byte{7}, 32), pid)
	})
}

func stored(b *testing.B, store string, secretsKey []byte, postmaster int) {
	o, err := onceward.New(b.Context(), onceward.Config{
		Store: store, APIKey: key, SecretsKey: secretsKey, AllowPrivateNetworks: true, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	defer o.Close()
	front := httptest.NewServer(o.Handler()) // nothing is sent before Run
	defer front.Close()
	s := &server{postmaster: postmaster, caller: &child.Caller{URL: front.URL, Key: key}}
	to := startSink(b)
	const endpoints = 20
	for i := range endpoints {
		s.post(b, "/v1/webhooks/endpoints", fmt.Appendf(nil, `{"url":%q,"tenant":"t%d"}`, to.url, i), nil)
	}
	share(b.N, 64, func(i int) {
		s.post(b, "/v1/webhooks/events", fmt.Appendf(nil, `{"event_id":"e-%d","event_type":"ticket.resolved","tenant":"t%d","payload":{"n":%d,"text":%q}}`, i, i%endpoints, i, text), nil)
	})
	s.caller.Close()
	bare, plain := bareSigned(b), bareLoop(b)
	used := func() time.Duration { return usage(b, postmaster) + usageOf(b, to.pid) }
	before, began := used(), time.Now()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := o.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	to.until(b, b.N)
	rate := float64(b.N) / time.Since(began).Seconds()
	b.ReportMetric((used()-before).Seconds()*10000/float64(b.N), "cpu-s/10k")
	b.ReportMetric(rate, "per-s")
	b.ReportMetric(rate/bare, "of-bare")
	b.ReportMetric(rate/plain, "of-plain")
	b.ReportMetric(0, "ns/op")
	stop()
	running.Wait()
}

// bareSigned gives how many POSTs a second 64 senders make by net/http alone to a receiver in a process of its own: of the same body, with the same
// headers, signed. It records nothing, and loses what it has when it dies.
func bareSigned(b *testing.B) float64 {
	to := startSink(b)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	secret, digest := make([]byte, 32), strings.Repeat("0123456789abcdef", 4)
	post := func(i int) {
		id, now := fmt.Sprint("e-", i), time.Now()
		q, err := http.NewRequest("POST", to.url, strings.NewReader(text))
		if err != nil {
			b.Error(err)
			return
		}
		for name, value := range map[string]string{
			"User-Agent": webhook.UserAgent, "Content-Type": "application/json", "Traceparent": "00-" + digest[:32] + "-" + digest[:16] + "-01",
			"Webhook-Id": id, "Webhook-Timestamp": fmt.Sprint(now.Unix()), "Webhook-Signature": webhook.Sign(secret, id, now, []byte(text)),
			"Webhook-Attempt": "1", "Idempotency-Key": digest,
		} {
			q.Header.Set(name, value)
		}
		a, err := client.Do(q)
		if err != nil {
			b.Error(err)
			return
		}
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
	}
	return rate(post)
}
