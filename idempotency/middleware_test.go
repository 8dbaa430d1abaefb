package idempotency_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/ledger"
)

var quiet = slog.New(slog.DiscardHandler)

func TestRepeated(t *testing.T) {
	onAll(t, func(r *rig) {
		first := r.post()
		whole := r.is(first, http.StatusAccepted, `{"op":"op_`)
		if first.Header.Get("Idempotent-Replayed") != "" || first.Header.Get("Set-Cookie") == "" {
			r.Errorf("the first answer: %v", first.Header)
		}
		again := r.post()
		r.replayed(again, http.StatusAccepted, whole)
		h := again.Header
		if h.Get("Location") != "/exports/7" || h.Get("Content-Type") != "application/json" || h.Get("Set-Cookie") != "" {
			r.Errorf("the second answer: %v", h)
		}
		r.want(1)
	})
}

// What is the same request, and what is another: H-L13, H-L17.
func TestSame(t *testing.T) {
	onAll(t, func(r *rig) {
		r.is(r.call("POST", "/things/1?a=1&b=2&b=3"), http.StatusAccepted, "")
		for name, c := range map[string]struct {
			target  string
			changes []change
			same    bool
		}{
			"the key in quotes":     {"/things/1?a=1&b=2&b=3", []change{header("Idempotency-Key", `"k"`)}, true},
			"space and number form": {"/things/1?a=1&b=2&b=3", []change{body(" {\"month\" : 5.0e0}\n")}, true},
			"a charset":             {"/things/1?a=1&b=2&b=3", []change{header("Content-Type", "Application/JSON; charset=utf-8")}, true},
			"the query's order":     {"/things/1?b=2&b=3&a=1", nil, true},
			"of one parameter":      {"/things/1?a=1&b=3&b=2", nil, false},
			"a value of the query":  {"/things/1?a=1&b=2&b=4", nil, false},
			"no query":              {"/things/1", nil, false},
			"another of the route":  {"/things/2?a=1&b=2&b=3", nil, false},
			"the body":              {"/things/1?a=1&b=2&b=3", []change{body(`{"month":6}`)}, false},
			"no body":               {"/things/1?a=1&b=2&b=3", []change{body("")}, false},
			"the content type":      {"/things/1?a=1&b=2&b=3", []change{header("Content-Type", "text/plain")}, false},
			"no content type":       {"/things/1?a=1&b=2&b=3", []change{header("Content-Type")}, false},
			"a version":             {"/things/1?a=1&b=2&b=3", []change{header("Content-Type", "application/json; version=2")}, false},
			"the content encoding":  {"/things/1?a=1&b=2&b=3", []change{header("Content-Encoding", "gzip")}, false},
		} {
			resp := r.call("POST", c.target, c.changes...)
			if c.same && (resp.StatusCode != http.StatusAccepted || resp.Header.Get("Idempotent-Replayed") != "true") {
				r.Errorf("%s makes it another request: %d", name, resp.StatusCode)
			}
			if b, _ := io.ReadAll(resp.Body); !c.same && (resp.StatusCode != http.StatusConflict || !strings.Contains(string(b), `"IDEMPOTENCY_KEY_REUSED"`)) {
				r.Errorf("%s does not make it another request: %d %s", name, resp.StatusCode, b)
			}
		}
		r.want(1)
	})
}

func TestReusedStatus(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.ReusedStatus = http.StatusUnprocessableEntity
		r.build()
		r.is(r.post(), http.StatusAccepted, "")
		r.is(r.post(body("{}")), http.StatusUnprocessableEntity, "IDEMPOTENCY_KEY_REUSED")
	})
}

// Keys of two tenants, methods or routes have nothing to do with each other: I13, H-L11.
func TestApart(t *testing.T) {
	onAll(t, func(r *rig) {
		seen := map[string]bool{}
		for _, c := range []struct{ tenant, method, target, key string }{
			{"acme", "POST", "/exports", "k"},
			{"bolt", "POST", "/exports", "k"},
			{"acme", "POST", "/things/1", "k"},
			{"acme", "PUT", "/things/1", "k"},
			{"acme", "DELETE", "/things/1", "k"},
			{"acme", "POST", "/exports", "K"},
			{`acme","POST`, "POST", "/exports", "k"},
		} {
			whole := r.is(r.call(c.method, c.target, header("Tenant", c.tenant), header("Idempotency-Key", c.key)), http.StatusAccepted, "op_")
			if seen[whole] {
				r.Errorf("%v has the operation of another", c)
			}
			seen[whole] = true
		}
		r.want(len(seen))
	})
}

func TestKeys(t *testing.T) {
	onAll(t, func(r *rig) {
		for name, c := range map[string]change{
			"two lines": header("Idempotency-Key", "k", "k"), // H-L18
			"empty":     header("Idempotency-Key", ""),       // H-L12
			"long":      header("Idempotency-Key", strings.Repeat("k", 256)),
			"open":      header("Idempotency-Key", `"k`),
			"no ASCII":  header("Idempotency-Key", "ключ"),
		} {
			resp := r.post(c)
			if b, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(b), `"INVALID_ARGUMENT"`) {
				r.Errorf("%s: %d %s", name, resp.StatusCode, b)
			}
		}
		r.is(r.post(header("Tenant", "")), http.StatusUnauthorized, "UNAUTHENTICATED")
		r.want(0)
		one, other := r.is(r.post(header("Idempotency-Key")), http.StatusAccepted, "op_"), r.is(r.post(header("Idempotency-Key")), http.StatusAccepted, "op_")
		if one == other {
			r.Error("two requests without a key are one operation")
		}
		r.want(2)
		r.config.Required = true
		r.build()
		r.is(r.post(header("Idempotency-Key")), http.StatusBadRequest, "needs an Idempotency-Key")
		r.is(r.call("GET", "/things/1", header("Idempotency-Key")), http.StatusAccepted, `{"op":""}`)
		r.want(2)
	})
}

// A body that cannot be compared is refused before anything is done: H-L13.
func TestBodies(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.MaxBody = 20
		r.build()
		for name, b := range map[string]string{"no JSON": "{", "two values": "1 2", "a name twice": `{"a":1,"a":1}`, "a lone surrogate": `"\ud800"`, "bad UTF-8": "\"\xff\""} {
			resp := r.post(body(b))
			if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), `"INVALID_ARGUMENT"`) {
				r.Errorf("%s: %d %s", name, resp.StatusCode, text)
			}
		}
		r.is(r.post(body(strings.Repeat("1", 21))), http.StatusRequestEntityTooLarge, `"PAYLOAD_TOO_LARGE"`)
		r.want(0)
		echo := func(w http.ResponseWriter, q *http.Request) { io.Copy(w, q.Body) }
		r.serve(echo)
		r.is(r.post(body("")), http.StatusOK, "")
		r.is(r.post(body(` {"a": 1} `), header("Idempotency-Key", "j")), http.StatusOK, ` {"a": 1} `)
		r.is(r.post(body("\xff"), header("Idempotency-Key", "l"), header("Content-Type", "text/plain")), http.StatusOK, "\xff")
		r.replayed(r.post(body("\xff"), header("Idempotency-Key", "l"), header("Content-Type", "text/plain")), http.StatusOK, "\xff")
	})
}

// What says try again, or who are you, is not kept: the request is done anew, as the same operation.
func TestNotKept(t *testing.T) {
	onAll(t, func(r *rig) {
		statuses := []int{500, 502, 503, 429, 401, 408, 425}
		for _, s := range statuses {
			r.serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "not now", s) })
			r.is(r.post(), s, "not now")
			r.is(r.post(body("{}")), http.StatusConflict, "IDEMPOTENCY_KEY_REUSED") // the key still stands for its request
		}
		r.serve(made)
		whole := r.is(r.post(), http.StatusAccepted, r.ops[0].ID)
		r.replayed(r.post(), http.StatusAccepted, whole)
		r.want(len(statuses) + 1)
		for i, op := range r.ops {
			if op.Attempt != i+1 || op.ID != r.ops[0].ID {
				r.Errorf("handler %d was of %+v", i+1, op)
			}
		}
	})
}

func TestKept(t *testing.T) {
	onAll(t, func(r *rig) {
		for key, s := range map[string]int{"a": 200, "b": 201, "c": 204, "d": 303, "e": 400, "f": 402, "g": 404, "h": 409, "i": 422} {
			r.serve(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(s)
				w.Write([]byte("said"))
			})
			whole := r.is(r.post(header("Idempotency-Key", key)), s, "")
			r.replayed(r.post(header("Idempotency-Key", key)), s, whole)
		}
		r.want(9)
	})
}

// A request that was refused before its work began can be put right under its key.
func TestNotBegun(t *testing.T) {
	onAll(t, func(r *rig) {
		r.serve(func(w http.ResponseWriter, q *http.Request) {
			idempotency.NotBegun(q.Context())
			http.Error(w, "the month is missing", http.StatusBadRequest)
		})
		r.is(r.post(body("{}")), http.StatusBadRequest, "missing")
		r.serve(made)
		whole := r.is(r.post(), http.StatusAccepted, "")
		r.replayed(r.post(), http.StatusAccepted, whole)
		r.is(r.post(body("{}")), http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
		r.want(2)
		if op := r.ops[1]; op.Attempt != 1 {
			r.Errorf("the first that was begun is %+v", op)
		}
	})
}

func TestPanic(t *testing.T) {
	onAll(t, func(r *rig) {
		r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			panic("boom")
		})
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					r.Errorf("the panic that went on is %v", p)
				}
			}()
			r.post()
		}()
		r.serve(made)
		r.is(r.post(), http.StatusAccepted, r.ops[0].ID)
		r.want(2)
	})
}

// The second request of a key comes while the first still runs: H-L15 as this package has it.
func TestInFlight(t *testing.T) {
	onAll(t, func(r *rig) {
		begun, end := make(chan struct{}), make(chan struct{})
		r.serve(func(w http.ResponseWriter, q *http.Request) {
			close(begun)
			<-end
			made(w, q)
		})
		first := make(chan *http.Response)
		go func() { first <- r.post() }()
		<-begun
		resp := r.post()
		r.is(resp, http.StatusConflict, `"IDEMPOTENCY_IN_FLIGHT"`)
		if got := resp.Header.Get("Retry-After"); got != "5" {
			r.Errorf("Retry-After: %s", got)
		}
		r.is(r.post(body("{}")), http.StatusConflict, "IDEMPOTENCY_KEY_REUSED")
		close(end)
		whole := r.is(<-first, http.StatusAccepted, "")
		r.replayed(r.post(), http.StatusAccepted, whole)
		r.want(1)
	})
}

// away is a ledger that cannot be reached for some of its calls.
type away struct {
	idempotency.Ledger
	claim, begin, settle func() error
}

func (a away) Claim(ctx context.Context, c ...ledger.Call) ([]ledger.Answer, error) {
	if err := a.claim(); err != nil {
		return nil, err
	}
	return a.Ledger.Claim(ctx, c...)
}

func (a away) Begin(ctx context.Context, b ...ledger.Beat) ([]ledger.Applied, error) {
	if err := a.begin(); err != nil {
		return nil, err
	}
	return a.Ledger.Begin(ctx, b...)
}

func (a away) SettleClaims(ctx context.Context, w ...ledger.Word) ([]ledger.Applied, error) {
	if err := a.settle(); err != nil {
		return nil, err
	}
	return a.Ledger.SettleClaims(ctx, w...)
}

var errAway = errors.New("the database is away")

func never() error  { return nil }
func always() error { return errAway }

// Without the ledger nothing is begun.
func TestLedgerAway(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.Ledger = away{r.config.Ledger, always, never, never}
		r.build()
		resp := r.post()
		if text := r.is(resp, http.StatusServiceUnavailable, `"UNAVAILABLE"`); strings.Contains(text, "database") {
			r.Errorf("told what lies beneath: %s", text)
		}
		if resp.Header.Get("Retry-After") != "1" {
			r.Errorf("%v", resp.Header)
		}
		r.want(0)
	})
}

func TestFailHook(t *testing.T) {
	onAll(t, func(r *rig) {
		refused := errors.New("who are you?")
		r.config.Tenant = func(*http.Request) (string, error) { return "", refused }
		r.config.Fail = func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			if !errors.Is(err, refused) {
				r.Errorf("%v", err)
			}
			http.Error(w, "in our own words", status)
		}
		r.build()
		r.is(r.post(), http.StatusUnauthorized, "in our own words")
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	l := ours(t, t.TempDir())
	for part, c := range map[string]idempotency.Config{
		"Ledger":       {Tenant: idempotency.OneTenant},
		"Tenant":       {Ledger: l},
		"ReusedStatus": {Ledger: l, Tenant: idempotency.OneTenant, ReusedStatus: 400},
		"Lease":        {Ledger: l, Tenant: idempotency.OneTenant, Lease: 1},
		"negative":     {Ledger: l, Tenant: idempotency.OneTenant, MaxBody: -1},
	} {
		if _, err := idempotency.New(c); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// What is kept is given again byte by byte, whatever it is, and whatever names it.
func TestBytes(t *testing.T) {
	onAll(t, func(r *rig) {
		whole, name := make([]byte, 1<<20), "\"caf\xe9\" na\u00efve \x80"
		for i := range whole {
			whole[i] = byte(i * i >> 3)
		}
		r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", name)
			w.Write(whole)
		})
		path := "/things/" + strings.Repeat("%22x", 2000)
		away := false // a ledger may be too slow for the middleware's patience where the machine is: the client is told to come again
		for i := range 2 {
			call := func() *http.Response {
				return r.call("POST", path, header("Idempotency-Key", strings.Repeat(`\`, 255)), header("Tenant", strings.Repeat("t\x00", 100)))
			}
			resp := call()
			for ; resp.StatusCode == http.StatusServiceUnavailable || away && resp.StatusCode == http.StatusConflict; resp = call() {
				away = true
				time.Sleep(10 * time.Millisecond)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil || !bytes.Equal(b, whole) || resp.Header.Get("Content-Disposition") != name || !away && (resp.Header.Get("Idempotent-Replayed") == "true") != (i == 1) {
				r.Errorf("%d: %d, %d bytes, %q", i, resp.StatusCode, len(b), resp.Header)
			}
		}
		if !away {
			r.want(1)
		}
	})
}

// The middleware stands inside others: what they set stays, what the handler takes away goes.
func TestHeaders(t *testing.T) {
	onAll(t, func(r *rig) {
		r.config.Headers = []string{"x-count"}
		r.build()
		r.serve(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Del("X-Outer-Gone")
			w.Header()["X-Count"] = []string{"1", "2"}
			w.Write([]byte("<html>"))
			w.Header().Set("X-Late", "no")
		})
		inner := r.service
		r.service = http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			w.Header().Set("X-Outer", "yes")
			w.Header().Set("X-Outer-Gone", "yes")
			inner.ServeHTTP(w, q)
		})
		for i := range 2 {
			h := r.post().Header
			if h.Get("X-Outer") != "yes" || (h.Get("X-Outer-Gone") == "") != (i == 0) || !slices.Equal(h["X-Count"], []string{"1", "2"}) || h.Get("X-Late") != "" ||
				h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Content-Length") != "6" {
				r.Errorf("%d: %v", i, h)
			}
		}
	})
}
