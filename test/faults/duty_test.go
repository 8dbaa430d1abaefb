package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// H-Q16: three servers sweep and redrive on one PostgreSQL. What is done is done once: each last try is dead-lettered once, each dead letter goes
// back once, and the rate of a redrive is that of all servers together.
func TestServersDoEachDutyOnce(t *testing.T) {
	t.Parallel()
	f := startFleet(t, pgtest.Database(t)+"&pool_max_conns=5", 3)
	const n, rate = 120, 40.0
	c := f.at(0)
	c.must(t, "POST", "/v1/queue/create", object{"name": "jobs", "max_receive_count": 1})
	var batch []object
	for i := range n {
		batch = append(batch, object{"payload": i})
	}
	c.must(t, "POST", "/v1/queue/publish_batch", object{"queue": "jobs", "messages": batch})
	first := map[string]bool{}
	eventually(t, time.Minute, "all are received", func() bool {
		for _, m := range c.consume(t, "jobs", n, 1, 0) {
			first[m["message_id"].(string)] = true
		}
		return len(first) == n
	})
	eventually(t, time.Minute, "all are dead-lettered", func() bool { return c.stats(t, "jobs")("message_count") == 0 })
	if dead := c.stats(t, "jobs")("dlq_count"); dead != n {
		t.Errorf("%d dead letters of %d last tries", dead, n)
	}
	began := time.Now()
	id := c.must(t, "POST", "/v1/queue/dlq/redrive/jobs", object{"rate_per_second": rate}).data["redrive_id"]
	var got object
	eventually(t, time.Minute, "the redrive is over", func() bool {
		got = f.at(1).must(t, "GET", fmt.Sprint("/v1/redrives/", id), nil).data
		return got["state"] != "running"
	})
	took := time.Since(began)
	if got["moved"] != float64(n) || got["left"] != 0.0 {
		t.Errorf("the redrive ended as %v", got)
	}
	if least := time.Duration((n/rate - 1) * float64(time.Second)); took < least {
		t.Errorf("%d dead letters went back in %v; at %v a second it takes %v", n, took, rate, least)
	}
	back := map[string]bool{}
	for len(back) < n {
		l := f.at(2).consume(t, "jobs", n, 600, 0)
		if len(l) == 0 {
			break
		}
		for _, m := range l {
			id := m["message_id"].(string)
			if back[id] || !first[id] {
				t.Errorf("%s came back twice, or never was there", id)
			}
			back[id] = true
		}
	}
	if len(back) != n {
		t.Errorf("%d of %d came back", len(back), n)
	}
}

// H-Q13: a poll on each server is woken by a publish on each other one.
func TestPollsAreWokenByAnyServer(t *testing.T) {
	t.Parallel()
	f := startFleet(t, pgtest.Database(t)+"&pool_max_conns=5", 3)
	f.at(0).must(t, "POST", "/v1/queue/create", object{"name": "woken"})
	for i := range 3 {
		for j := range 3 {
			quickest := time.Hour
			for range 3 {
				got := make(chan time.Time, 1)
				go func() {
					a := f.at(i).post(t.Context(), "/v1/queue/consume", object{"queue": "woken", "wait_seconds": 20})
					if len(a.items("items")) != 1 {
						t.Errorf("the poll got %v", a)
					}
					got <- time.Now()
				}()
				<-time.After(100 * time.Millisecond) // most often it waits by now; if not, it is no slower
				sent := time.Now()
				f.at(j).must(t, "POST", "/v1/queue/publish", object{"queue": "woken", "payload": 1})
				quickest = min(quickest, (<-got).Sub(sent))
			}
			if quickest > time.Second {
				t.Errorf("of three publishes on server %d the quickest was received on server %d after %v", j, i, quickest)
			}
		}
	}
}
