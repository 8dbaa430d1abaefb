package examples

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/pgtest"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// A delivery that is sent twice under its key takes effect once; one under a new key is another; what is not signed changes nothing.
func TestReceivers(t *testing.T) {
	for _, language := range []string{"go", "node", "python"} {
		t.Run(language, func(t *testing.T) {
			onBoth(t, func(t *testing.T, _ *child.Server, c *client.Client) {
				ctx := t.Context()
				env := []string{"WEBHOOK_SECRET=" + secret}
				var received func() int // how many there are of the event
				if language == "python" {
					file := filepath.Join(t.TempDir(), "received.db")
					env = append(env, "DATABASE="+file)
					received = func() int { return inFile(t, file) }
				} else {
					db := pgtest.Database(t)
					env = append(env, "DATABASE_URL="+db)
					received = func() int {
						return rows(t, db, `SELECT count(*) FROM received WHERE event_id = 'evt_7' AND payload = '{"ticket":   7}'`)
					}
				}
				r := start(t, command(t, language, "receiver"), env...)
				if _, err := c.CreateEndpoint(ctx, client.NewEndpoint{Secret: secret, EndpointSettings: client.EndpointSettings{URL: r.url, Ladder: []time.Duration{time.Second, time.Second}}}); err != nil {
					t.Fatal(err)
				}
				sent, err := c.SendEvent(ctx, client.NewEvent{ID: "evt_7", Type: "ticket.resolved", Payload: json.RawMessage(`{"ticket":   7}`)})
				if err != nil {
					t.Fatal(err)
				}
				id := sent.Deliveries[0].DeliveryID
				for i, want := range []struct {
					resend *client.Resend
					n      int
				}{{nil, 1}, {&client.Resend{}, 1}, {&client.Resend{NewKey: true}, 2}} {
					if want.resend != nil {
						if _, err := c.ResendDelivery(ctx, id, *want.resend); err != nil {
							t.Fatal(err)
						}
					}
					d := delivered(t, c, id)
					if len(d.Attempts) != i+1 || received() != want.n {
						t.Errorf("after send %d: %d attempts, %d effects, not %d", i+1, len(d.Attempts), received(), want.n)
					}
				}
				now := strconv.FormatInt(time.Now().Unix(), 10)
				for what, signed := range map[string][]string{
					"not signed":     {"webhook-id", "evt_7", "webhook-timestamp", now},
					"signed falsely": {"webhook-id", "evt_7", "webhook-timestamp", now, "webhook-signature", "v1,AAAA v2,x junk"},
					// The vector of Standard Webhooks: well signed, and of 2021.
					"long ago": {"webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp", "1614265330", "webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
				} {
					q, err := http.NewRequest("POST", r.url, bytes.NewBufferString(`{"test": 2432232314}`))
					if err != nil {
						t.Fatal(err)
					}
					for h := range slices.Chunk(signed, 2) {
						q.Header.Set(h[0], h[1])
					}
					a, err := http.DefaultClient.Do(q)
					if err != nil {
						t.Fatal(err)
					}
					a.Body.Close()
					if a.StatusCode != 401 || received() != 2 {
						t.Errorf("%s: %d, and %d effects", what, a.StatusCode, received())
					}
				}
			})
		})
	}
}

// delivered waits until a delivery is at rest, which must be delivered.
func delivered(t *testing.T, c *client.Client, id string) *client.Delivery {
	t.Helper()
	var d *client.Delivery
	until(t, "the delivery is at rest", func() bool {
		var err error
		if d, err = c.Delivery(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		return !slices.Contains([]string{client.Pending, client.Sending, client.Retrying}, d.State)
	})
	if d.State != client.Delivered {
		t.Fatalf("%+v", d)
	}
	return d
}

// inFile counts what the receiver in Python keeps.
func inFile(t *testing.T, file string) int {
	t.Helper()
	path, err := python()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "-c", `import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM received WHERE event_id = 'evt_7' AND payload = ?", ('{"ticket":   7}',)).fetchone()[0])`, file).Output()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
