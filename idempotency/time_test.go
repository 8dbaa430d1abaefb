package idempotency_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/ledger"
)

// inBubble runs a test in which days pass in a moment, over real files.
func inBubble(t *testing.T, test func(r *rig)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(testing.TB, string) idempotency.Ledger{
		"Onceward's": ours, "the caller's": func(t testing.TB, dir string) idempotency.Ledger { return theirs(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				test(newRig(t, idempotency.Config{Ledger: open(t, dir), Timeout: 15 * time.Minute}))
			})
		})
	}
}

// first begins the first request of the key, and waits until its handler runs.
func (r *rig) first(h http.HandlerFunc) <-chan *http.Response {
	r.serve(h)
	out := make(chan *http.Response, 1)
	go func() {
		defer close(out)
		out <- r.post()
	}()
	synctest.Wait()
	return out
}

// While a handler runs its key is taken, however long that is.
func TestLongHandler(t *testing.T) {
	inBubble(t, func(r *rig) {
		first := r.first(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(10 * time.Minute)
			made(w, q)
		})
		for range 19 {
			time.Sleep(30 * time.Second)
			r.is(r.post(), http.StatusConflict, "IN_FLIGHT")
		}
		time.Sleep(time.Minute)
		whole := r.is(<-first, http.StatusAccepted, "")
		r.replayed(r.post(), http.StatusAccepted, whole)
		r.want(1)
	})
}

// The process dies in the midst of its work: the repeated request takes the key over when the lease is over, as the same operation.
func TestTakenOver(t *testing.T) {
	inBubble(t, func(r *rig) {
		live := r.config.Ledger
		r.config.Ledger = away{live, never, always, always}
		r.build()
		r.first(func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		r.config.Ledger = live
		r.build()
		r.serve(made)
		time.Sleep(29 * time.Second)
		r.is(r.post(), http.StatusConflict, "IN_FLIGHT")
		time.Sleep(time.Second)
		r.is(r.post(), http.StatusAccepted, r.ops[0].ID)
		if op := r.ops[1]; op.Attempt != 2 || op.ID != r.ops[0].ID {
			r.Errorf("%+v after %+v", op, r.ops[0])
		}
	})
}

// A process stands still past its lease, while another serves the repeated request. Woken, it overwrites nothing: H-L05.
func TestFrozen(t *testing.T) {
	for name, streams := range map[string]bool{"an answer held back": false, "an answer under way": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				live := r.config.Ledger
				var woken atomic.Bool
				r.config.Ledger = away{live, never, always, never}
				r.config.MaxAnswer = 1000
				r.build()
				first := make(chan string, 1)
				r.serve(func(w http.ResponseWriter, q *http.Request) {
					<-q.Context().Done()
					if err := context.Cause(q.Context()); !errors.Is(err, idempotency.ErrLeaseLost) {
						r.Errorf("the context ended by %v", err)
					}
					for !woken.Load() {
						time.Sleep(time.Second)
					}
					if streams {
						w.Write(make([]byte, 2000))
						return
					}
					io.WriteString(w, "of the frozen")
				})
				go func() {
					defer func() {
						if p := recover(); p != nil {
							first <- "broken off"
						}
					}()
					b, _ := io.ReadAll(r.post().Body)
					first <- string(b)
				}()
				synctest.Wait()
				time.Sleep(31 * time.Second)
				r.config.Ledger = live
				r.build()
				r.serve(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "of the other") })
				r.is(r.post(), http.StatusOK, "of the other")
				woken.Store(true)
				told := <-first
				if streams && told != "broken off" {
					r.Errorf("the frozen answered %d bytes", len(told))
				}
				if !streams {
					r.is(&http.Response{StatusCode: http.StatusConflict, Body: io.NopCloser(strings.NewReader(told))}, http.StatusConflict, "IN_FLIGHT")
				}
				r.replayed(r.post(), http.StatusOK, "of the other")
				r.want(2)
			})
		})
	}
}

// A handler has its time. One that goes on all the same loses the key when the lease is over; one that says nothing has not answered.
func TestTimeout(t *testing.T) {
	inBubble(t, func(r *rig) {
		var ended atomic.Bool
		first := r.first(func(w http.ResponseWriter, q *http.Request) {
			<-q.Context().Done()
			if err := q.Context().Err(); !errors.Is(err, context.DeadlineExceeded) {
				r.Errorf("%v", err)
			}
			for !ended.Load() {
				time.Sleep(time.Second)
			}
		})
		time.Sleep(15*time.Minute + 15*time.Second)
		r.is(r.post(), http.StatusConflict, "IN_FLIGHT")
		time.Sleep(15 * time.Second)
		r.serve(func(w http.ResponseWriter, q *http.Request) { <-q.Context().Done() })
		silent := r.post()
		r.is(silent, http.StatusServiceUnavailable, "not done in its time")
		ended.Store(true)
		r.is(<-first, http.StatusServiceUnavailable, "not done in its time")
		r.serve(made)
		r.is(r.post(), http.StatusAccepted, "")
		r.want(3)
	})
}

// The ledger answers when the lease that it gives is over already: the handler is not begun, since another may have the key by now.
func TestLateClaim(t *testing.T) {
	inBubble(t, func(r *rig) {
		slow := true
		r.config.Ledger = late{r.config.Ledger, &slow}
		r.config.Lease = time.Second
		r.build()
		resp := r.post()
		if r.is(resp, http.StatusServiceUnavailable, "UNAVAILABLE"); resp.Header.Get("Retry-After") == "" {
			r.Errorf("%v", resp.Header)
		}
		r.want(0)
		slow = false
		r.is(r.post(), http.StatusAccepted, "")
		if op := r.ops[0]; op.Attempt > 2 {
			r.Errorf("%+v", op)
		}
	})
}

// late is a ledger whose answers to claims come late.
type late struct {
	idempotency.Ledger
	slow *bool
}

func (l late) Claim(ctx context.Context, c ...ledger.Call) ([]ledger.Answer, error) {
	out, err := l.Ledger.Claim(ctx, c...)
	if *l.slow {
		time.Sleep(2 * time.Second)
	}
	return out, err
}

// The ledger is away when the work is done: its record is made as soon as it is back, within the lease.
func TestLedgerAwayAtTheEnd(t *testing.T) {
	inBubble(t, func(r *rig) {
		var back atomic.Bool
		r.config.Ledger = away{r.config.Ledger, never, never, func() error {
			if back.Load() {
				return nil
			}
			return errAway
		}}
		r.build()
		first := r.first(made)
		time.Sleep(20 * time.Second)
		back.Store(true)
		whole := r.is(<-first, http.StatusAccepted, "")
		r.replayed(r.post(), http.StatusAccepted, whole)
		r.want(1)
	})
}

// It stays away: the client is told to repeat the request, and the work is done again as the same operation.
func TestLedgerAwayForLong(t *testing.T) {
	inBubble(t, func(r *rig) {
		live := r.config.Ledger
		r.config.Ledger = away{live, never, never, always}
		r.build()
		begun := time.Now()
		resp := r.post()
		r.is(resp, http.StatusServiceUnavailable, "the work was done")
		if took := time.Since(begun); took > 30*time.Second || resp.Header.Get("Retry-After") == "" {
			r.Errorf("after %v, %v", took, resp.Header)
		}
		r.config.Ledger = live
		r.build()
		time.Sleep(30 * time.Second)
		r.is(r.post(), http.StatusAccepted, r.ops[0].ID)
		r.want(2)
	})
}

// An answer is remembered for a day; then the key is new, and its work another operation.
func TestForgotten(t *testing.T) {
	inBubble(t, func(r *rig) {
		whole := r.is(r.post(), http.StatusAccepted, "")
		time.Sleep(24*time.Hour - time.Second)
		r.replayed(r.post(), http.StatusAccepted, whole)
		time.Sleep(2 * time.Second)
		if again := r.is(r.post(body(`{"month":6}`)), http.StatusAccepted, "op_"); again == whole {
			r.Errorf("a new request is the operation of one that is forgotten: %s", again)
		}
	})
}
