package faults

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// H-W14: two tenants with the same event type and the same subjects, their events sent at once. Nothing crosses: not the events, not a resend, not
// a redrive, not an event that names the other's endpoint, nor a list.
func TestTenantsAreApart(t *testing.T) {
	onBoth(t, func(t *testing.T, store string) {
		c := serve(t, store)
		tenants := []string{"acme", "globex"}
		var sick atomic.Bool
		sick.Store(true)
		got := map[string]*receiver{}
		var mu sync.Mutex
		bodies := map[string][]string{} // by tenant
		endpoints := map[string]string{}
		for _, name := range tenants {
			got[name] = receive(t, func(w http.ResponseWriter, q *http.Request) {
				mu.Lock()
				bodies[name] = append(bodies[name], q.Header.Get("Webhook-Id"))
				mu.Unlock()
				if sick.Load() {
					w.WriteHeader(http.StatusBadRequest)
				}
			})
			a := c.must(t, "POST", "/v1/webhooks/endpoints", object{"url": got[name].URL, "tenant": name, "event_types": []string{"thing.*"}, "retry_4xx": false})
			endpoints[name] = a.data["endpoint_id"].(string)
		}
		const n = 20
		var wg sync.WaitGroup
		for _, name := range tenants {
			wg.Go(func() {
				for i := range n {
					c.must(t, "POST", "/v1/webhooks/events", object{
						"event_type": "thing.done", "tenant": name, "subject": "the same",
						"event_id": fmt.Sprint(name, "-", i), "payload": object{"of": name},
					})
				}
			})
		}
		wg.Wait()
		list := func(query string) []object {
			return c.must(t, "GET", "/v1/webhooks/deliveries?limit=500&"+query, nil).items("items")
		}
		eventually(t, 30*time.Second, "every delivery is refused", func() bool { return len(list("state=failed")) == 2*n })
		for _, name := range tenants {
			for _, d := range list("subject=the+same&tenant=" + name) {
				if d["tenant"] != name || d["endpoint_id"] != endpoints[name] || !strings.HasPrefix(d["event_id"].(string), name) {
					t.Errorf("listed for %s: %v", name, d)
				}
			}
		}
		if a := c.post(t.Context(), "/v1/webhooks/events", object{"event_type": "thing.done", "tenant": "acme", "endpoint_ids": []string{endpoints["globex"]}, "payload": 1}); a.status != http.StatusBadRequest {
			t.Errorf("an event of one tenant for an endpoint of the other: %v", a)
		}
		if a := c.must(t, "POST", "/v1/webhooks/events", object{"event_type": "thing.done", "payload": 1, "event_id": "of-nobody"}); len(a.items("deliveries")) != 0 {
			t.Errorf("an event without a tenant: %v", a)
		}

		sick.Store(false)
		mu.Lock()
		clear(bodies)
		mu.Unlock()
		c.must(t, "POST", "/v1/webhooks/deliveries/"+list("tenant=acme")[0]["delivery_id"].(string)+"/resend", object{"reason": "asked"})
		c.must(t, "POST", "/v1/webhooks/redrive", object{"tenant": "acme"})
		eventually(t, 30*time.Second, "the one tenant's are delivered", func() bool { return len(list("state=delivered")) == n })
		mu.Lock()
		defer mu.Unlock()
		if len(bodies["globex"]) > 0 {
			t.Errorf("the other tenant got %v by a resend and a redrive of the one's", bodies["globex"])
		}
		for _, id := range bodies["acme"] {
			if !strings.HasPrefix(id, "acme-") {
				t.Errorf("the one got %s", id)
			}
		}
		if len(list("state=failed&tenant=globex")) != n {
			t.Error("the other tenant's deliveries did not stay as they were")
		}
	})
}
