package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/store"
	"github.com/onceward/onceward/store/postgres"
	"github.com/onceward/onceward/store/sqlite"
)

const (
	batchSize = 100
	lease     = 30 * time.Second
)

// BenchmarkCycle: publish, receive, claim and settle in the process, in batches of 100 messages of 1 KiB that each have a publish key and a work key, on one
// connection; and four statements written by hand that leave the same rows in the same tables, through the bare driver. The two take turns. of-bare is
// our rate as a share of theirs. postgres-4 is the same four at a time: of ours over one store, of the bare statements on a connection each.
func BenchmarkCycle(b *testing.B) {
	b.Run("sqlite", func(b *testing.B) {
		open := func(name string) (*sqlite.DB, string) {
			path := filepath.Join(b.TempDir(), name)
			db, err := sqlite.Open(b.Context(), path, sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			return db, path
		}
		ours, _ := open("ours.db")
		b.Cleanup(func() { ours.Close() })
		empty, path := open("bare.db")
		id := cycleQueue(b, empty)
		empty.Close()
		cycleQueue(b, ours)
		compare(b, 0, "bare", storeCycle(b, ours, 1), inTurn(bareSQLite(b, path, id)))
	})
	for _, at := range []int{1, 4} {
		name := "postgres"
		if at > 1 {
			name += fmt.Sprint("-", at)
		}
		b.Run(name, func(b *testing.B) {
			open := func() (*postgres.DB, string, int) {
				url, pid := database(b)
				db, err := postgres.Open(b.Context(), url, postgres.Options{})
				if err != nil {
					b.Fatal(err)
				}
				return db, url, pid
			}
			ours, _, pid := open()
			b.Cleanup(func() { ours.Close() })
			empty, url, _ := open()
			id := cycleQueue(b, empty)
			empty.Close()
			cycleQueue(b, ours)
			compare(b, pid, "bare", storeCycle(b, ours, at), barePostgres(b, url, id, at))
		})
	}
}

func cycleQueue(b *testing.B, st store.Store) int64 {
	q, err := st.CreateQueue(b.Context(), queue.Spec{Project: 1, Name: "jobs"})
	if err != nil {
		b.Fatal(err)
	}
	return q.ID
}

// cycles runs so many batches, from a number on.
type cycles func(from, n int)

func inTurn(cycle func(batch int)) cycles {
	return func(from, n int) {
		for k := range n {
			cycle(from + k)
		}
	}
}

// atOnce has so many at a time publish a batch and work off what there is, until all is settled. who is which of them.
func atOnce(b *testing.B, at int, publish func(who, batch int) error, work func(who, batch int) (settled int, err error)) cycles {
	return func(from, n int) {
		var next, settled atomic.Int64
		var all sync.WaitGroup
		for who := range at {
			all.Go(func() {
				for !b.Failed() && settled.Load() < int64(n*batchSize) {
					batch := from + int(next.Add(1)) - 1
					var err error
					if batch < from+n {
						err = publish(who, batch)
					}
					var did int
					if err == nil {
						did, err = work(who, batch)
					}
					if settled.Add(int64(did)); err != nil {
						b.Error(err)
					}
					if did == 0 {
						time.Sleep(time.Millisecond) // the rest is others'
					}
				}
			})
		}
		if all.Wait(); b.Failed() {
			b.FailNow()
		}
	}
}

// compare runs b.N messages through each, a stretch of batches in turn. The other is called name in what it reports.
func compare(b *testing.B, postmaster int, name string, ours, other cycles) {
	var took, used [2]time.Duration
	const stretch = 40 // batches at a time: the clock of CPU is coarse, and several that run at once end apart
	ours(0, stretch)   // warm
	other(0, stretch)
	batches := 0
	for n := stretch; batches*batchSize < b.N; n += stretch {
		for i, cycle := range []cycles{ours, other} {
			before, began := usage(b, postmaster), time.Now()
			cycle(n, stretch)
			took[i] += time.Since(began)
			used[i] += usage(b, postmaster) - before
		}
		batches += stretch
	}
	messages := float64(batches * batchSize)
	b.ReportMetric(used[0].Seconds()*10000/messages, "cpu-s/10k")
	b.ReportMetric(used[1].Seconds()*10000/messages, name+"-cpu-s/10k")
	b.ReportMetric(messages/took[0].Seconds(), "per-s")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "of-"+name)
	b.ReportMetric(0, "ns/op")
}

// storeCycle is the cycle by the store's own calls.
func storeCycle(b *testing.B, st store.Store, at int) cycles {
	ctx := b.Context()
	return atOnce(b, at, func(_, batch int) error {
		in := make([]queue.Publish, batchSize)
		for i := range in {
			key := fmt.Sprint(batch, "-", i)
			hash := sha256.Sum256([]byte(text))
			in[i] = queue.Publish{Project: 1, Queue: "jobs", Body: []byte(text), Key: key, Hash: hash[:]}
		}
		published, err := st.Publish(ctx, in...)
		return cmp.Or(err, published[0].Err)
	}, func(_, batch int) (int, error) {
		got, err := st.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: batchSize, Visibility: lease})
		if err != nil || len(got) == 0 {
			return 0, err
		}
		calls, words := make([]ledger.Call, len(got)), make([]ledger.Word, len(got))
		for i, m := range got {
			calls[i] = ledger.Call{
				Project: 1, Scope: "work", Key: fmt.Sprint(m.ID), Grant: ledger.Grant{GrantID: fmt.Sprint(batch, "-", i), Owner: "bench", Lease: lease},
				Policy: ledger.Idempotent, MaxTries: 5, MessageID: m.ID, Lease: m.Lease,
			}
		}
		answers, err := st.Claim(ctx, calls...)
		if err != nil {
			return 0, err
		}
		for i, a := range answers {
			if a.Verdict != ledger.Granted {
				return 0, fmt.Errorf("a claim: %v", a)
			}
			words[i] = ledger.Word{Project: 1, Scope: "work", Key: calls[i].Key, Fence: a.Claim.Fence, Kind: ledger.Succeeded, Settle: true}
		}
		applied, err := st.SettleClaims(ctx, words...)
		for _, a := range applied {
			if !a.Applied {
				return 0, fmt.Errorf("a settling: %v", a)
			}
		}
		return len(applied), err
	})
}

// BenchmarkCycleHTTP: publish, consume and acknowledge over HTTP in batches of 100, and the store's own calls for the same in the process, in turn. of-process is the
// rate over HTTP as a share of theirs.
func BenchmarkCycleHTTP(b *testing.B) {
	onStores(b, func(b *testing.B, s *server) {
		s.post(b, "/v1/queue/create", []byte(`{"name":"jobs"}`), nil)
		var st store.Store
		var err error
		if s.postmaster == 0 {
			st, err = sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "process.db"), sqlite.Options{})
		} else {
			url, _ := database(b)
			st, err = postgres.Open(b.Context(), url, postgres.Options{})
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { st.Close() })
		cycleQueue(b, st)
		compare(b, s.postmaster, "process", inTurn(httpCycle(b, s)), inTurn(queueCycle(b, st)))
	})
}

// httpCycle is a batch's cycle over HTTP.
func httpCycle(b *testing.B, s *server) func(batch int) {
	return func(batch int) {
		body := []byte(`{"queue":"jobs","messages":[`)
		for i := range batchSize {
			if i > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"payload":{"text":%q},"idempotency_key":"%d-%d"}`, text, batch, i)
		}
		s.post(b, "/v1/queue/publish_batch", append(body, "]}"...), nil)
		var got struct {
			Items []struct {
				Receipt string `json:"receipt_handle"`
			} `json:"items"`
		}
		s.post(b, "/v1/queue/consume", fmt.Appendf(nil, `{"queue":"jobs","max_messages":%d}`, batchSize), &got)
		if len(got.Items) != batchSize {
			b.Fatal(len(got.Items))
		}
		body = []byte(`{"queue":"jobs","items":[`)
		for i := range got.Items {
			if i > 0 {
				body = append(body, ',')
			}
			body = fmt.Appendf(body, `{"receipt_handle":%q}`, got.Items[i].Receipt)
		}
		s.post(b, "/v1/queue/ack_batch", append(body, "]}"...), nil)
	}
}

// queueCycle is the same by the store's own calls.
func queueCycle(b *testing.B, st store.Store) func(batch int) {
	ctx := b.Context()
	return func(batch int) {
		in := make([]queue.Publish, batchSize)
		for i := range in {
			in[i] = queue.Publish{Project: 1, Queue: "jobs", Body: fmt.Appendf(nil, `{"text":%q}`, text)}
			if err := in[i].SetKey(fmt.Sprint(batch, "-", i)); err != nil {
				b.Fatal(err)
			}
		}
		if published, err := st.Publish(ctx, in...); err != nil || published[0].Err != nil {
			b.Fatal(err, published)
		}
		got, err := st.Receive(ctx, queue.Receive{Project: 1, Queue: "jobs", Max: batchSize})
		if err != nil || len(got) != batchSize {
			b.Fatal(err, len(got))
		}
		acks := make([]queue.Settle, len(got))
		for i, m := range got {
			acks[i] = queue.Settle{Verb: queue.Ack, Project: 1, Queue: "jobs", ID: m.ID, Lease: m.Lease}
		}
		if settled, err := st.Settle(ctx, acks...); err != nil || !settled[0].Applied {
			b.Fatal(err, settled)
		}
	}
}

// work is a batch as the bare statements take it.
type work struct {
	bodies, hashes [][]byte
	keys           []string
}

func newWork(batch int) (w work) {
	for i := range batchSize {
		hash := sha256.Sum256([]byte(text))
		w.bodies, w.hashes, w.keys = append(w.bodies, []byte(text)), append(w.hashes, hash[:]), append(w.keys, fmt.Sprint(batch, "-", i))
	}
	return w
}

// workKey names a message's work and gives its hash.
func workKey(id int64) (key string, hash []byte) {
	key = fmt.Sprint(id)
	h := sha256.Sum256([]byte("work/" + key))
	return key, h[:]
}

var background = context.Background()
