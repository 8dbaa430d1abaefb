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
	printer
	Listen    string        `env:"ONCEWARD_RECEIVE_LISTEN" default:"127.0.0.1:8099" help:"Address to listen on."`
	FailFirst int           `help:"Answer 503 to the first N requests of each delivery key."`
	Status    int           `default:"200" help:"Status of every other answer."`
	Delay     time.Duration `help:"Wait before each answer."`
	Secret    []string      `help:"Endpoint secrets, whsec_…: signatures are verified and the result printed."`
}

const maxReceived = 2 << 20

func (receiveCmd) Help() string {
	return examples("receive", "receive --fail-first 2 --listen 127.0.0.1:8100", "receive --secret whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw --json") +
		"\n\nIt prints a line for each request, and answers one whose signature is bad 401."
}

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
	if c.JSON {
		err = jsonLine(out, object{"receiving_on": "http://" + l.Addr().String()})
	} else {
		_, err = fmt.Fprintf(out, "receiving on http://%s\n", l.Addr())
	}
	if err != nil {
		return err
	}
	return group.Run(ctx, group.Limits{Soft: 5 * time.Second}, serveHTTP("receiver", l, httpServer(&receiver{receiveCmd: c, out: out, seen: map[string]int{}}), 0))
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
	sum := sha256.Sum256(body)
	got := received{
		At: time.Now().UTC(), Method: req.Method, Path: req.URL.Path, EventID: req.Header.Get("Webhook-Id"), Attempt: req.Header.Get("Webhook-Attempt"),
		Key: req.Header.Get("Idempotency-Key"), Bytes: len(body), SHA256: hex.EncodeToString(sum[:]), Status: http.StatusUnauthorized,
	}
	if len(r.Secret) > 0 {
		got.Signature = "ok"
		if err := webhook.Verify(req.Header, body, time.Now(), r.Secret...); err != nil {
			got.Signature = fmt.Sprintf("BAD (%v)", err)
		}
	}
	if got.Signature == "" || got.Signature == "ok" {
		got.Status, got.Note = r.judge(got.Key)
	}
	if r.Delay > 0 {
		select {
		case <-time.After(r.Delay):
		case <-req.Context().Done():
			got.Status, got.Note = 0, "the sender gave up before the answer"
		}
	}
	r.print(got)
	if got.Status != 0 {
		w.WriteHeader(got.Status)
	}
}

// received is a request and what was answered.
type received struct {
	At        time.Time `json:"at"`
	Method    string    `json:"method"`
	Path      string    `json:"path"`
	EventID   string    `json:"event_id"`
	Attempt   string    `json:"attempt"`
	Key       string    `json:"idempotency_key"`
	Bytes     int       `json:"bytes"`
	SHA256    string    `json:"sha256"`
	Signature string    `json:"signature"` // empty: not looked at
	Status    int       `json:"status"`    // 0: there was nobody to answer
	Note      string    `json:"note"`
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
		return http.StatusServiceUnavailable, fmt.Sprintf("refused, %d of %d", r.seen[key], r.FailFirst)
	case key != "" && r.done[key]:
		return r.Status, "this key was taken before: no second effect"
	}
	r.done[key] = r.Status < 300
	return r.Status, ""
}

func (r *receiver) print(g received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.JSON {
		_ = jsonLine(r.out, g)
		return
	}
	signed, note := "", ""
	if g.Signature != "" {
		signed = " signature " + g.Signature
	}
	if g.Note != "" {
		note = " (" + g.Note + ")"
	}
	fmt.Fprintf(r.out, "%s %s %s %s attempt %s key %.12s… body %d bytes sha256 %.12s…%s → %d%s\n", g.At.Format("15:04:05.000"), line(g.Method),
		line(g.Path), line(g.EventID), line(g.Attempt), line(g.Key), g.Bytes, g.SHA256, signed, g.Status, note)
}
