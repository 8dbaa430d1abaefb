package wire

import (
	"strconv"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// While the store is away: 503 with Retry-After, and again 200 when it is back.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	c, err := pgtest.Start(t.Context(), pgtest.Options{Fsync: true}) // what was answered is there after a crash
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := start(t, c.URL("postgres"))
	s.queue(t, "away", nil)
	c.Down()
	for path, body := range map[string]any{
		"/v1/queue/publish": object{"queue": "away", "payload": 1}, "/v1/queue/consume": object{"queue": "away"}, "/v1/queue/create": object{"name": "away2"},
		events: object{"event_type": "a", "payload": 1}, endpoints: object{"url": "http://127.0.0.1:9/"},
	} {
		a := s.post(t, path, body, "Idempotency-Key", "away")
		a.refused(t, 503, "UNAVAILABLE")
		if n, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || n < 1 {
			t.Errorf("%s: Retry-After is %q", path, a.header.Get("Retry-After"))
		}
	}
	if a := s.call(t, "GET", "/readyz", nil, "Authorization", "-"); a.status != 503 {
		t.Errorf("/readyz says %d", a.status)
	}
	if a := s.call(t, "GET", "/healthz", nil, "Authorization", "-"); a.status != 200 {
		t.Errorf("/healthz says %d", a.status)
	}
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is back", 30*time.Second, func() bool {
		return s.post(t, "/v1/queue/publish", object{"queue": "away", "payload": 1}, "Idempotency-Key", "away").status == 200
	})
	s.stop(t, 25*time.Second)
}
