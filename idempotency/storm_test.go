package idempotency_test

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"
)

// callers are how many send the same request at once, on pools of a few connections.
const callers = 64

// storm sends one request 64 times at once for each of two tenants, each until it is answered, and gives what the tenants' callers were answered.
func storm(r *rig) map[string]map[string]int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	answers := map[string]map[string]int{"acme": {}, "bolt": {}}
	start := make(chan struct{})
	for tenant := range answers {
		for range callers {
			wg.Go(func() {
				<-start
				for {
					resp := r.post(header("Tenant", tenant))
					b, _ := io.ReadAll(resp.Body)
					switch resp.StatusCode {
					case http.StatusConflict:
						if resp.Header.Get("Retry-After") == "" {
							r.Errorf("%s", b)
						}
						time.Sleep(10 * time.Millisecond)
						continue
					case http.StatusServiceUnavailable:
						r.Errorf("%s", b)
					}
					mu.Lock()
					answers[tenant][string(b)]++
					mu.Unlock()
					return
				}
			})
		}
	}
	close(start)
	wg.Wait()
	return answers
}

func (r *rig) oneEach(answers map[string]map[string]int) {
	r.Helper()
	all := map[string]bool{}
	for tenant, got := range answers {
		if len(got) != 1 {
			r.Errorf("%s was answered %v", tenant, got)
		}
		for text, n := range got {
			all[text] = true
			if n != callers {
				r.Errorf("%s: %d of %d were answered", tenant, n, callers)
			}
		}
	}
	if len(all) != 2 {
		r.Errorf("two tenants, and the answers %v", all)
	}
	r.want(2)
}

// 64 callers of one key on a pool of 4 connections: one effect, one answer, no deadlock; and another tenant with the same key has its own: I13, H-L15.
func TestStorm(t *testing.T) {
	onAll(t, func(r *rig) {
		r.serve(func(w http.ResponseWriter, q *http.Request) {
			time.Sleep(20 * time.Millisecond)
			made(w, q)
		})
		r.oneEach(storm(r))
	})
}

// The same where the handlers hold a connection of the pool for their transaction.
func TestTxStorm(t *testing.T) {
	onTx(t, func(r *txRig) {
		r.oneEach(storm(r.rig))
		r.wants(2, 2)
	})
}

// Many keys at once, whose transactions take every connection of the pool, come to an end too.
func TestTxStormOfKeys(t *testing.T) {
	onTx(t, func(r *txRig) {
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				for {
					resp := r.post(header("Idempotency-Key", fmt.Sprint(i/2)))
					if resp.StatusCode == http.StatusAccepted {
						return
					}
					if resp.StatusCode != http.StatusConflict {
						b, _ := io.ReadAll(resp.Body)
						r.Errorf("%d %s", resp.StatusCode, b)
						return
					}
					time.Sleep(10 * time.Millisecond)
				}
			})
		}
		wg.Wait()
		r.wants(callers/2, callers/2)
	})
}
