package onceward

import (
	"context"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/webhook"
)

// metrics counts at the edges. The names and labels are a contract: they are listed in docs/metrics.md.
type metrics struct {
	requests *prometheus.HistogramVec
	attempts *prometheus.CounterVec
	latency  prometheus.Histogram
	verdicts *prometheus.CounterVec
	commits  *prometheus.HistogramVec
	batches  *prometheus.HistogramVec
}

func newMetrics() *metrics {
	times := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	return &metrics{
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onceward_http_request_seconds",
			Help: "HTTP requests by route, method and status (499: the client went away).", Buckets: times,
		}, []string{"route", "method", "status"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onceward_webhook_attempts_total",
			Help: "Delivery attempts by what came of them, and whether that was recorded or its worker was fenced out.",
		}, []string{"outcome", "applied"}),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "onceward_webhook_attempt_seconds",
			Help: "Time from an attempt's start to the receiver's answer.", Buckets: times,
		}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "onceward_claim_verdicts_total",
			Help: "What the ledger ruled on deliveries that were received.",
		}, []string{"verdict"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onceward_store_commit_seconds",
			Help: "Time of the store's commits by verb.", Buckets: times,
		}, []string{"op"}),
		batches: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "onceward_store_commit_items",
			Help: "Items that shared a commit, by verb.", Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
		}, []string{"op"}),
	}
}

func (m *metrics) register(r prometheus.Registerer, s store.Store) error {
	for _, c := range []prometheus.Collector{m.requests, m.attempts, m.latency, m.verdicts, m.commits, m.batches, newDepths(s)} {
		if err := r.Register(c); err != nil {
			return err
		}
	}
	return nil
}

func (m *metrics) request(route, method string, status int, took time.Duration) {
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(took.Seconds())
}

func (m *metrics) attempt(o webhook.Outcome, a ledger.Applied) {
	outcome := string(o.Result)
	if o.Kind == ledger.GivenBack {
		outcome = string(ledger.GivenBack)
	}
	m.attempts.WithLabelValues(outcome, strconv.FormatBool(a.Applied)).Inc()
	if o.Status != 0 {
		m.latency.Observe(o.Latency.Seconds())
	}
}

func (m *metrics) commit(op string, items int, took time.Duration) {
	m.commits.WithLabelValues(op).Observe(took.Seconds())
	m.batches.WithLabelValues(op).Observe(float64(items))
}

// sender counts the ledger's verdicts as they pass.
type sender struct {
	webhook.Sender
	metrics *metrics
}

func (s sender) TakeDeliveries(ctx context.Context, t webhook.Take) (webhook.Taken, error) {
	got, err := s.Sender.TakeDeliveries(ctx, t)
	s.count(got)
	return got, err
}

func (s sender) WaitDeliveries(ctx context.Context, t webhook.Take) webhook.Taken {
	got := s.Sender.WaitDeliveries(ctx, t)
	s.count(got)
	return got
}

func (s sender) count(t webhook.Taken) {
	for v, n := range t.Verdicts {
		s.metrics.verdicts.WithLabelValues(string(v)).Add(float64(n))
	}
}
