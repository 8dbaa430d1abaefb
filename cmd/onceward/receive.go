package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/group"
	"github.com/onceward/onceward/webhook"
)

type receiveCmd struct {
	Listen    string        `env:"ONCEWARD_RECEIVE_LISTEN" default:"127.0.0.1:8099" help:"Address to listen on."`
	FailFirst int           `help:"Answer 503 to the first N requests of each delivery key."`
	Status    int           `default:"200" help:"Status of every other answer."`
	Delay     time.Duration `help:"Wait before each answer."`
	Secret    []string      `help:"Endpoint secrets, whsec_…: signatures are verified and the result printed."`
}

const maxReceived = 2 << 20

func (c *receiveCmd) Run(ctx context.Context, out output) error {
	if c.Status < 200 || c.Status > 599 {
		return usage("--status is %d; it must be 200 to 599", c.Status)
	}
	for _, s := range c.Secret {
		if _, err := webhook.ParseSecret(s); err != nil {
			return usage("--secret: %w", err)
		}
	}
	l, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Listen, err)
	}
	fmt.Fprintf(out, "receiving on http://%s\n", l.Addr())
	return group.Run(ctx, group.Limits{Soft: 5 * time.Second}, serveHTTP("receiver", l, httpServer(&receiver{receiveCmd: c, out: out, seen: map[string]int{}})))
}

// receiver answers webhooks and prints a line for each.
type receiver struct {
	*receiveCmd
	out output

	mu   sync.Mutex
	seen map[string]int // requests by delivery key
	done map[string]bool
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReceived))
	if err != nil {
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	}
	signed, bad := "", error(nil)
	if len(r.Secret) > 0 {
		signed, bad = " signature ok", webhook.Verify(req.Header, body, time.Now(), r.Secret...)
	}
	status, note := http.StatusUnauthorized, ""
	if bad != nil {
		signed = fmt.Sprintf(" signature BAD (%v)", bad)
	} else {
		status, note = r.judge(req.Header.Get("Idempotency-Key"))
	}
	if r.Delay > 0 {
		select {
		case <-time.After(r.Delay):
		case <-req.Context().Done():
			r.print("gave up before the answer: %s %s", req.Method, req.URL.Path)
			return
		}
	}
	sum := sha256.Sum256(body)
	r.print("%s %s %s attempt %s key %.12s… body %d bytes sha256 %.12s…%s → %d%s", req.Method, req.URL.Path, header(req, "webhook-id"),
		header(req, "webhook-attempt"), header(req, "idempotency-key"), len(body), hex.EncodeToString(sum[:]), signed, status, note)
	w.WriteHeader(status)
}

// judge counts a request under its key and says what to answer.
func (r *receiver) judge(key string) (status int, note string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done == nil {
		r.done = map[string]bool{}
	}
	r.seen[key]++
	switch {
	case r.seen[key] <= r.FailFirst:
		return http.StatusServiceUnavailable, fmt.Sprintf(" (refused, %d of %d)", r.seen[key], r.FailFirst)
	case key != "" && r.done[key]:
		return r.Status, " (this key was taken before: no second effect)"
	}
	r.done[key] = r.Status < 300
	return r.Status, ""
}

func (r *receiver) print(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, time.Now().Format("15:04:05.000")+" "+format+"\n", args...)
}

func header(r *http.Request, name string) string {
	if v := r.Header.Get(name); v != "" {
		return v
	}
	return "-"
}
