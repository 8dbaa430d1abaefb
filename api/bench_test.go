package api_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

// The cost of the hot calls beside their store: a request of 1 KiB without the network.
func BenchmarkHot(b *testing.B) {
	s := newStub()
	now := time.Now()
	s.publish = func(context.Context, []queue.Publish) ([]queue.Published, error) {
		return []queue.Published{{ID: 1, PublishedAt: now, VisibleAt: now}}, nil
	}
	m := message(5)
	m.Body = []byte(`{"text":"` + strings.Repeat("lorem ipsum ", 85) + `"}`)
	s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) { return []queue.Message{m}, nil }
	s.settle = func(context.Context, []queue.Settle) ([]queue.Settled, error) {
		return []queue.Settled{{Applied: true}}, nil
	}
	h := api.New(api.Config{Store: s, IDs: codec, Logger: slog.New(slog.DiscardHandler)})
	for name, body := range map[string]string{
		"publish":     `{"queue":"jobs","payload":` + string(m.Body) + `}`,
		"publish key": `{"queue":"jobs","payload":` + string(m.Body) + `,"idempotency_key":"k"}`,
		"consume":     `{"queue":"jobs","max_messages":10}`,
		"ack":         `{"queue":"jobs","receipt_handle":"` + codec.Receipt(1, "jobs", 5, 3) + `"}`,
	} {
		b.Run(name, func(b *testing.B) {
			path, _, _ := strings.Cut(name, " ")
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "/v1/queue/"+path, io.NopCloser(strings.NewReader(body)))
				r.Header.Set("Authorization", "Bearer "+rootKey)
				r.Header.Set("Content-Type", "application/json")
				w := discard{http.Header{}}
				h.ServeHTTP(w, r)
			}
		})
	}
}

type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(status int) {
	if status != 200 {
		panic(status)
	}
}
