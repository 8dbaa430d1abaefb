package load

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

const jobs = "bench"

// publish loads a queue with messages, each with a key of its own.
func (l *load) publish(ctx context.Context) error {
	if err := l.makeQueue(ctx); err != nil {
		return err
	}
	l.row.Rate = l.Rate
	return l.measure(func() int64 {
		var done atomic.Int64
		l.each(ctx, l.newClock(), func(i int64, due time.Time) {
			if err := l.publishSome(ctx, i*int64(l.Batch), l.Batch); err != nil {
				l.fail(err)
				return
			}
			l.took(time.Since(due))
			done.Add(int64(l.Batch))
		})
		return done.Load()
	})
}

func (l *load) makeQueue(ctx context.Context) error {
	return l.call(ctx, "POST", "/v1/queue/create", map[string]any{"name": jobs}, nil)
}

// publishSome publishes n messages from number i on in one call.
func (l *load) publishSome(ctx context.Context, i int64, n int) error {
	if n == 1 {
		return l.send(ctx, "POST", "/v1/queue/publish", append(append([]byte(`{"queue":"`+jobs+`",`), l.message(i)...), '}'), nil)
	}
	b := []byte(`{"queue":"` + jobs + `","messages":[`)
	for k := range int64(n) {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '{'), l.message(i+k)...), '}')
	}
	return l.send(ctx, "POST", "/v1/queue/publish_batch", append(b, "]}"...), nil)
}

// message gives the fields of a message.
func (l *load) message(i int64) []byte {
	return fmt.Appendf(nil, `"payload":{"n":%d,"text":"%s"},"idempotency_key":"%s-%d"`, i, l.filler, l.round, i)
}

// work receives and acks what was stored beforehand, in batches.
func (l *load) work(ctx context.Context) error {
	if err := l.makeQueue(ctx); err != nil {
		return err
	}
	const each = 500
	var stored atomic.Int64
	l.share(ctx, (l.Jobs+each-1)/each, func(i int) {
		n := min(each, l.Jobs-i*each)
		if err := l.publishSome(ctx, int64(i*each), n); err != nil {
			l.fail(err)
			return
		}
		stored.Add(int64(n))
	})
	if n := l.failed.Load(); n > 0 {
		return fmt.Errorf("%d calls to store messages failed: %w", n, l.failure())
	}
	return l.measure(func() int64 {
		var done atomic.Int64
		var all sync.WaitGroup
		for range min(2, l.Callers) { // more receivers of one queue cost more and bring no more
			all.Go(func() {
				for done.Load() < stored.Load() && ctx.Err() == nil {
					began := time.Now()
					n, err := l.workOnce(ctx, 0, nil)
					if err != nil {
						l.fail(err)
						return
					}
					if n > 0 {
						l.took(time.Since(began))
					}
					done.Add(int64(n))
				}
			})
		}
		all.Wait()
		return done.Load()
	})
}

type received struct {
	Items []struct {
		Receipt string `json:"receipt_handle"`
		Payload struct {
			N int64 `json:"n"`
		} `json:"payload"`
	} `json:"items"`
}

type item struct {
	Receipt string `json:"receipt_handle"`
}

// workOnce receives a batch, tells what came, and acks it.
func (l *load) workOnce(ctx context.Context, wait int, came func(n int64)) (int, error) {
	var got received
	err := l.call(ctx, "POST", "/v1/queue/consume", map[string]any{"queue": jobs, "max_messages": max(100, l.Batch), "wait_seconds": wait}, &got)
	if err != nil || len(got.Items) == 0 {
		return 0, err
	}
	items := make([]item, len(got.Items))
	for i, m := range got.Items {
		if came != nil {
			came(m.Payload.N)
		}
		items[i].Receipt = m.Receipt
	}
	return len(items), l.call(ctx, "POST", "/v1/queue/ack_batch", map[string]any{"queue": jobs, "items": items}, nil)
}

// start publishes by the clock; one consumer waits for what comes.
func (l *load) start(ctx context.Context) error {
	if l.Rate <= 0 {
		l.Rate = 500
	}
	l.row.Rate = l.Rate
	if err := l.makeQueue(ctx); err != nil {
		return err
	}
	return l.measure(func() int64 {
		c := l.newClock()
		var published, consumed atomic.Int64
		var over atomic.Bool
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil && !(over.Load() && consumed.Load() >= published.Load()) {
				n, err := l.workOnce(ctx, 1, func(n int64) { l.took(time.Since(c.due(n))) })
				if err != nil {
					l.fail(err)
					return
				}
				consumed.Add(int64(n))
			}
		}()
		l.each(ctx, c, func(i int64, _ time.Time) {
			if err := l.publishSome(ctx, i, 1); err != nil {
				l.fail(err)
				return
			}
			published.Add(1)
		})
		over.Store(true)
		<-ended
		return consumed.Load()
	})
}
