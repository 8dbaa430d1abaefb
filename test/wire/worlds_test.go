package wire

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/pgtest"
)

// I13: what one project sees does not depend on what another does. The same random calls are made in project "a" of two servers; beside one
// of the two, other projects make random calls of their own, with the same names, and try what they heard of a's ids. Every answer that a
// gets must be the same in both worlds, ids and times aside.
func TestPairedWorlds(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "o.db") },
		"postgres": func(t *testing.T) string { return pgtest.Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alone, crowded := start(t, store(t), "--publish-price-usd", "0.001"), start(t, store(t), "--publish-price-usd", "0.001")
			for seed := range uint64(2) {
				pairWorlds(t, seed, alone, crowded)
			}
			alone.stop(t, 25*time.Second)
			crowded.stop(t, 25*time.Second)
		})
	}
}

const worldSteps = 200

func pairWorlds(t *testing.T, seed uint64, alone, crowded *server) {
	quiet := newPaired(t, alone, fmt.Sprintf("a-%d", seed), "a-secret", seed)
	busy := newPaired(t, crowded, fmt.Sprintf("a-%d", seed), "a-secret", seed)
	heard := &rumours{}
	end := make(chan struct{})
	var neighbours sync.WaitGroup
	var wild []*paired
	for i := range uint64(2) {
		w := newPaired(t, crowded, fmt.Sprintf("b-%d-%d", seed, i), "b-secret", 1000+10*seed+i)
		w.wild, w.heard = true, heard
		wild = append(wild, w)
		neighbours.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-end:
					t.Logf("seed %d: a neighbour made %d calls, %d of them with ids that are not its own", seed, n, w.tries)
					return
				default:
					w.step()
				}
			}
		})
	}
	stop := sync.OnceFunc(func() { close(end); neighbours.Wait() })
	defer stop()
	for n := range worldSteps {
		asked, want := quiet.step()
		again, got := busy.step()
		if asked != again {
			t.Fatalf("seed %d, step %d: the worlds ask for other things: %s and %s", seed, n, asked, again)
		}
		if got != want {
			t.Fatalf("seed %d, step %d: %s\nalone:        %s\nbeside others: %s", seed, n, asked, want, got)
		}
		heard.hear(busy.known())
	}
	want, got := quiet.finish(), busy.finish()
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Errorf("seed %d: at the end, from line %d\nalone:         %s\nbeside others: %s", seed, i, want[min(i, len(want)):], got[min(i, len(got)):])
			break
		}
	}
	stop()
	if len(busy.receiver.requests()) == 0 {
		t.Error("a's endpoints got nothing")
	}
	for _, w := range wild {
		if w.tries == 0 || len(w.receiver.requests()) == 0 {
			t.Errorf("%s made %d tries and its endpoints got %d requests", w.name, w.tries, len(w.receiver.requests()))
		}
	}
}

// rumours are ids of a project that others have heard of.
type rumours struct {
	mu  sync.Mutex
	ids []string
}

func (r *rumours) hear(ids []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = ids
}

func (r *rumours) pick(d *rand.Rand, kind string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var fit []string
	for _, id := range r.ids {
		if strings.HasPrefix(id, kind) {
			fit = append(fit, id)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return fit[d.IntN(len(fit))]
}

// paired is a project of a server, and what was heard of in it.
type paired struct {
	t        *testing.T
	as       caller
	keyID    string
	name     string
	secret   string // is in everything that the project stores
	dice     *rand.Rand
	receiver *receiver
	wild     bool // its endpoints are enabled, and it tries ids that are not its own
	heard    *rumours
	tries    int

	names   map[string]string // what the server named, by what it is shown as
	ids     map[string][]string
	queueOf map[string]string // by the receipts and the ids of messages
}

func newPaired(t *testing.T, s *server, name, secret string, seed uint64) *paired {
	w := &paired{t: t, name: name, secret: secret, dice: rand.New(rand.NewPCG(seed, 7)), receiver: receive(t), names: map[string]string{}, ids: map[string][]string{}, queueOf: map[string]string{}}
	w.as, w.keyID = s.as(t, s.project(t, name), "admin")
	w.as.call(t, "POST", "/v1/queue/create", object{"name": "jobs"}).ok(t)
	w.as.call(t, "POST", "/v1/queue/create", object{"name": "mail", "max_retries": 2}).ok(t)
	w.as.call(t, "POST", "/v1/queue/create", object{"name": "still"}).ok(t) // nothing is published to it, so that nothing is pushed at some time or other
	w.as.call(t, "POST", "/v1/queue/create", object{"name": "line", "type": "fifo", "content_dedup": true, "max_retries": 2}).ok(t)
	return w
}

// known gives every id and receipt of the world.
func (w *paired) known() (all []string) {
	for _, ids := range w.ids {
		all = append(all, ids...)
	}
	return all
}

var (
	anyID     = regexp.MustCompile(`\b(qmsg|evt|ep|dlv|att|rdv|psh|key|prj|rct|cur)_[0-9A-Za-z]{24,29}\b`)
	anyTime   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	anyHash   = regexp.MustCompile(`\b(op_[0-9a-f]{32}|[0-9a-f]{64})\b`)
	anySecret = regexp.MustCompile(`\b(ow|whsec)_[0-9A-Za-z_/+=-]{20,}`)
	anyUUID   = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	anySpan   = regexp.MustCompile(`"(latency_ms|retry_after_seconds|oldest_message_age_seconds|available_count|in_flight_count|delayed_count)":[0-9.e+-]+`)
)

// plain shows a text with what must differ between two worlds named by the order in which it came up.
func (w *paired) plain(s string) string {
	s = strings.ReplaceAll(s, w.receiver.url, "RECEIVER")
	s = anyID.ReplaceAllStringFunc(s, func(id string) string {
		if n, ok := w.names[id]; ok {
			return n
		}
		kind, _, _ := strings.Cut(id, "_")
		w.ids[kind] = append(w.ids[kind], id)
		w.names[id] = fmt.Sprintf("%s_%d", kind, len(w.ids[kind]))
		return w.names[id]
	})
	s = anyHash.ReplaceAllStringFunc(s, func(h string) string {
		if _, ok := w.names[h]; !ok {
			w.names[h] = fmt.Sprintf("hash_%d", len(w.names))
		}
		return w.names[h]
	})
	s = anyTime.ReplaceAllString(s, "TIME")
	s = anySecret.ReplaceAllString(s, "SECRET")
	s = anyUUID.ReplaceAllString(s, "UUID")
	return anySpan.ReplaceAllString(s, `"$1":0`)
}

// ask makes a call and gives it and its answer, plain.
func (w *paired) ask(method, path string, body object, headers ...string) (asked, told string, a answer) {
	w.t.Helper()
	var send any
	said := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			w.t.Error(err)
		}
		said, send = string(b), string(b)
	}
	asked = w.plain(fmt.Sprintf("%s %s %s %q", method, path, said, headers))
	a = w.as.call(w.t, method, path, send, headers...)
	// Nothing that the neighbours store may be in any answer.
	if other := map[bool]string{true: "a-secret", false: "b-secret"}[w.wild]; strings.Contains(a.raw, other) {
		w.t.Errorf("%s: %s\ngot what is not its own: %s", w.name, asked, a.raw)
	}
	return asked, w.plain(fmt.Sprintf("%d %s %s %s", a.status, a.header.Get("Retry-After"), a.header.Get("Idempotent-Replayed"), a.raw)), a
}

// finish lets everything that waits be sent, and gives what came of it.
func (w *paired) finish() (told []string) {
	say := func(method, path string, body object) object {
		asked, answered, a := w.ask(method, path, body)
		told = append(told, asked+": "+answered)
		return a.body["data"].(object)
	}
	for _, id := range w.ids["ep"] {
		say("POST", "/v1/webhooks/endpoints/"+id+"/enable", nil)
	}
	var deliveries []object
	eventually(w.t, w.name+" is at rest", time.Minute, func() bool { // one list of all: between those of two states a delivery could pass from one to the other
		deliveries = items(w.t, w.as.call(w.t, "GET", "/v1/webhooks/deliveries?limit=500", nil).ok(w.t))
		return !slices.ContainsFunc(deliveries, func(d object) bool { return slices.Contains([]any{"pending", "sending", "retrying"}, d["state"]) })
	})
	for _, d := range deliveries {
		told = append(told, w.plain(fmt.Sprintln(d["delivery_id"], d["event_id"], d["endpoint_id"], d["state"], d["delivery_key"])))
	}
	for _, path := range []string{"/v1/webhooks/events", "/v1/webhooks/endpoints", "/v1/queue/list", "/v1/keys"} {
		say("GET", path+"?limit=500", nil)
	}
	var got []string
	for _, r := range w.receiver.requests() {
		if !strings.Contains(r.body, w.secret) && !strings.Contains(r.body, "webhook.test") {
			w.t.Errorf("%s: its receiver got %s", w.name, r.body)
		}
		got = append(got, w.plain(r.header.Get("Idempotency-Key")+" "+r.header.Get("Webhook-Id")+" "+r.body))
	}
	slices.Sort(got) // their order is the network's
	return append(told, got...)
}
