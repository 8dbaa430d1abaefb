package webhook

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// UserAgent is what a receiver sees us as.
const UserAgent = "Onceward-Webhooks/1"

// message is what a request is about.
type message struct {
	id      string // webhook-id
	key     string // idempotency-key
	trace   string // hex, of which the first 32 digits are the trace's id
	attempt int
	body    []byte
}

// signed makes the headers that every request has. Their names are in lower case, on purpose: net/http repeats a POST by itself that has
// "Idempotency-Key" and no body, and does not look for "idempotency-key". User-Agent alone is as net/http looks for it, which else
// adds its own.
func signed(m message, secrets [][]byte, now time.Time, extra map[string]string) http.Header {
	signatures := make([]string, len(secrets))
	for i, s := range secrets {
		signatures[i] = Sign(s, m.id, now, m.body)
	}
	h := make(http.Header, 8+len(extra))
	h["User-Agent"] = []string{UserAgent}
	h["traceparent"] = []string{traceparent(m.trace)}
	for name, value := range extra {
		if name = strings.ToLower(name); name == "user-agent" {
			name = "User-Agent"
		}
		h[name] = []string{value}
	}
	h["content-type"] = []string{"application/json"}
	h["webhook-id"] = []string{m.id}
	h["webhook-timestamp"] = []string{strconv.FormatInt(now.Unix(), 10)}
	h["webhook-signature"] = []string{strings.Join(signatures, " ")}
	h["webhook-attempt"] = []string{strconv.Itoa(m.attempt)}
	h["idempotency-key"] = []string{m.key}
	return h
}

// header makes the headers of an attempt at a delivery.
func header(j *Job, key string, secrets [][]byte, now time.Time) http.Header {
	return signed(message{id: j.EventID, key: key, trace: key, attempt: j.Attempt, body: j.Payload}, secrets, now, j.Endpoint.Headers)
}

// traceparent names an attempt by W3C Trace Context: all attempts under one delivery key are one trace, whose id is the
// key's beginning, so that whoever has the one can find the other.
func traceparent(key string) string {
	var span [8]byte
	rand.Read(span[:])
	span[0] |= 1 // never all zero
	return "00-" + key[:32] + "-" + hex.EncodeToString(span[:]) + "-01"
}

var errNoSecret = errors.New("the endpoint has no secret that is still valid")

// secretsOf opens the secrets that an attempt is signed with.
func secretsOf(e *Endpoint, s *Sealer, now time.Time) ([][]byte, error) {
	var out [][]byte
	for _, sealed := range e.Secrets {
		if !sealed.ExpiresAt.IsZero() && !sealed.ExpiresAt.After(now) {
			continue
		}
		raw, err := s.Open(e.Project, sealed.Sealed)
		if err != nil {
			return nil, fmt.Errorf("the endpoint's secret cannot be read: %w", err)
		}
		out = append(out, raw)
	}
	if len(out) == 0 {
		return nil, errNoSecret
	}
	return out, nil
}
