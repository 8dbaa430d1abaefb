package faults

import (
	"fmt"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// bounded is how long one call may take of what took so long where little is kept, on a machine that does other things too.
func bounded(little time.Duration) time.Duration { return max(2*time.Second, 20*little) }

// H-Q10: a great many messages fall due in one second. Receives and publishes go on, and each message comes once.
func TestAllDueAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c := serve(t, store)
		c.must(t, "POST", "/v1/queue/create", object{"name": "jobs"})
		little := ofLittle(t, c)
		n := size(5_000, 1_000_000)
		due := time.Now().Add(time.Duration(n/2000+2) * time.Second)
		for at := 0; at < n; at += 1000 {
			var batch []object
			for i := range 1000 {
				batch = append(batch, object{"payload": at + i, "priority": i % 3, "delay_seconds": max(0, time.Until(due).Seconds())})
			}
			c.must(t, "POST", "/v1/queue/publish_batch", object{"queue": "jobs", "messages": batch})
		}
		if left := time.Until(due); left > 0 {
			<-time.After(left)
		}
		seen := make(map[string]bool, n)
		var receives, publishes []time.Duration
		for len(seen) < n {
			began := time.Now()
			c.must(t, "POST", "/v1/queue/publish", object{"queue": "jobs", "payload": "late", "delay_seconds": 3600})
			publishes = append(publishes, time.Since(began))
			began = time.Now()
			got := c.consume(t, "jobs", 500, 600, 0)
			receives = append(receives, time.Since(began))
			for _, m := range got {
				id := fmt.Sprint(m["message_id"])
				if seen[id] {
					t.Fatalf("%s came twice", id)
				}
				seen[id] = true
			}
			if len(got) == 0 && time.Since(due) > size(time.Minute, time.Hour) {
				t.Fatalf("%d of %d came", len(seen), n)
			}
			c.ack(t, "jobs", got)
		}
		for what, l := range map[string][]time.Duration{"receives": receives, "publishes": publishes} {
			if slices.Sort(l); l[len(l)*99/100] > bounded(little) {
				t.Errorf("%s: p99 %v; of little it took %v", what, l[len(l)*99/100], little)
			}
		}
	})
}

// ofLittle is how long a receive of 500 messages takes where there are no more.
func ofLittle(t *testing.T, c *client) time.Duration {
	t.Helper()
	c.must(t, "POST", "/v1/queue/create", object{"name": "few"})
	batch := make([]object, 500)
	for i := range batch {
		batch[i] = object{"payload": i}
	}
	c.must(t, "POST", "/v1/queue/publish_batch", object{"queue": "few", "messages": batch})
	began := time.Now()
	c.consume(t, "few", 500, 600, 0)
	return time.Since(began)
}

// H-W13: a great many attempts are kept. Each look at them is bounded, wherever the list begins and whatever it picks.
func TestManyAttemptsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c := serve(t, store)
		r := receive(t, nil)
		e := c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": r.URL, "max_in_flight": 100}).data["endpoint_id"]
		const page = 500
		n := size(1_500, 1_000_000)
		send := func(from, to int) {
			var senders sync.WaitGroup
			for s := range 16 {
				senders.Go(func() {
					for i := from + s; i < to; i += 16 {
						body := object{"event_type": "ticket.resolved", "payload": i, "event_id": fmt.Sprintf("evt_%d", i)}
						if a := c.post(t.Context(), "/v1/webhooks/events", body); !a.ok() {
							t.Error(a)
						}
					}
				})
			}
			senders.Wait()
		}
		send(0, page)
		began := time.Now()
		c.must(t, "GET", fmt.Sprint("/v1/webhooks/deliveries?limit=", page), nil)
		little := time.Since(began)
		send(page, n)
		eventually(t, size(time.Minute, time.Hour), "all are delivered", func() bool {
			if keys, _ := r.effects(); keys < n {
				return false
			}
			return len(c.must(t, "GET", "/v1/webhooks/deliveries?state=sending", nil).items("items")) == 0
		})
		for what, query := range map[string]url.Values{
			"all":            {},
			"by endpoint":    {"endpoint_id": {fmt.Sprint(e)}},
			"by state":       {"state": {"failed"}},
			"by type":        {"event_type": {"ticket.none"}},
			"of one event":   {"event_id": {"evt_0"}},
			"of a long past": {"to": {"2020-01-01T00:00:00Z"}},
		} {
			pages, items := 0, 0
			for cursor := ""; pages == 0 || cursor != ""; pages++ {
				query.Set("limit", fmt.Sprint(page))
				if cursor != "" {
					query.Set("cursor", cursor)
				}
				began := time.Now()
				a := c.must(t, "GET", "/v1/webhooks/deliveries?"+query.Encode(), nil)
				if took := time.Since(began); took > bounded(little) {
					t.Errorf("%s: page %d took %v, where the first took %v when there was no more", what, pages, took, little)
				}
				items += len(a.items("items"))
				cursor, _ = a.data["next_cursor"].(string)
			}
			if want := map[string]int{"all": n, "by endpoint": n, "of one event": 1}[what]; items != want {
				t.Errorf("%s: %d items of %d", what, items, want)
			}
		}
	})
}
