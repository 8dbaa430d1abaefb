package api

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/internal/fault"
)

const (
	keyMemory = time.Second // so a key that is revoked or expires acts at most that much longer
	maxKeys   = 10_000      // remembered at a time
	maxBearer = 255
)

// errNoKey answers a key that is missing, unknown, revoked or expired, always in the same words.
var errNoKey = fault.New(fault.Unauthenticated, "the request has no valid key").WithHint("send Authorization: Bearer <key>")

// authenticate finds who calls and refuses who may not.
func (c *call) authenticate(scopes []access.Scope) error {
	secret, ok := bearer(c.r.Header.Values("Authorization"))
	if !ok {
		return errNoKey
	}
	c.hash = access.Hash(secret)
	if err := c.identify(); err != nil {
		return err
	}
	for _, s := range scopes {
		if c.key.May(s) {
			return nil
		}
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return fault.New(fault.Forbidden, "this call wants a key of scope %s", strings.Join(names, " or ")).WithHint("use another key, or have one made with that scope")
}

// identify looks the caller's key up, unless that was done a moment ago. A call that lasts, waiting for messages or for the rest of its body, does
// so again before it acts: its key may have been revoked meanwhile.
func (c *call) identify() error {
	if c.hash == nil || time.Now().Before(c.known.until) {
		return nil
	}
	m, live, err := c.keys.get(c.ctx, c.hash)
	switch {
	case errors.Is(err, access.ErrNotFound) || err == nil && !live:
		return errNoKey
	case err != nil:
		return err
	}
	c.known, c.key, c.project = m, m.key, m.key.Project
	return nil
}

// bearer reads the key of an Authorization header; false where there is not exactly one.
func bearer(values []string) (string, bool) {
	if len(values) != 1 {
		return "", false
	}
	scheme, secret, ok := strings.Cut(values[0], " ")
	secret = strings.Trim(secret, " ")
	return secret, ok && strings.EqualFold(scheme, "Bearer") && secret != "" && len(secret) <= maxBearer
}

// keyring remembers live keys for a moment, so that the hot calls need no look-up each. What is not a live key is never remembered:
// a new key works at once, and strangers fill no memory.
type keyring struct {
	find    func(ctx context.Context, hash []byte) (access.Key, bool, error)
	lookups singleflight.Group

	mu   sync.Mutex
	live map[[32]byte]remembered
}

type remembered struct {
	key   access.Key
	until time.Time
}

func (r *keyring) get(ctx context.Context, hash []byte) (remembered, bool, error) {
	called, h := time.Now(), [32]byte(hash)
	for {
		r.mu.Lock()
		m, ok := r.live[h]
		r.mu.Unlock()
		if ok && called.Before(m.until) {
			return m, true, nil
		}
		// Those who call at once share one look-up, unless it began too long before them, or found no live key: one may have been made since it began.
		v, err, _ := r.lookups.Do(string(hash), func() (any, error) { return r.look(context.WithoutCancel(ctx), h) })
		switch f := v.(found); {
		case err != nil || !f.live && !f.began.Before(called):
			return remembered{}, false, err
		case f.live && called.Before(f.until):
			return f.remembered, true, nil
		}
	}
}

type found struct {
	remembered
	live  bool
	began time.Time
}

// look looks a key up, and remembers it if it is live: from before the look-up, since what that saw may have been revoked while it ran.
func (r *keyring) look(ctx context.Context, h [32]byte) (found, error) {
	began := time.Now()
	k, live, err := r.find(ctx, h[:])
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || !live {
		delete(r.live, h)
		return found{began: began}, err
	}
	if r.live == nil || len(r.live) >= maxKeys {
		r.live = map[[32]byte]remembered{}
	}
	m := remembered{k, began.Add(keyMemory)}
	r.live[h] = m
	return found{m, true, began}, nil
}
