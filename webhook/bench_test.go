package webhook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/webhook"
)

// endless is a store that always has the same delivery, up to a number.
type endless struct {
	sender
	left int
	job  webhook.Job
	done chan struct{}
}

func (s *endless) TakeDeliveries(_ context.Context, t webhook.Take) (webhook.Taken, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(t.Max, s.left)
	s.left -= n
	jobs := make([]webhook.Job, n)
	for i := range jobs {
		jobs[i] = s.job
	}
	return webhook.Taken{Jobs: jobs}, nil
}

func (s *endless) SettleDeliveries(_ context.Context, out ...webhook.Outcome) ([]ledger.Applied, error) {
	for range out {
		s.done <- struct{}{}
	}
	return make1(len(out), ledger.Applied{Applied: true, State: ledger.Done}), nil
}

// BenchmarkWorker is an attempt with all that is ours but the store: the loop, the signature, the POST over loopback, and the receiver.
func BenchmarkWorker(b *testing.B) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer s.Close()
	r := setup(b)
	j, _ := r.job(b, s.URL)
	j.Payload = append(append([]byte(`"`), make([]byte, 1022)...), '"')
	store := &endless{left: b.N, job: j, done: make(chan struct{}, b.N)}
	r.conf.Store, r.conf.Logger, r.conf.Concurrency = store, nil, 64
	w, err := webhook.NewWorker(r.conf)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	b.ReportAllocs()
	for range b.N {
		<-store.done
	}
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
