package api

import (
	"bytes"
	"context"
	"errors"
	"net/url"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// keyed is in every request's body: calls that need no key take one all the same and ignore it.
type keyed struct {
	Key *string `json:"idempotency_key"`
}

// idempotencyKey gives the key of a call, from its header or its body; empty if it has none.
func (c *call) idempotencyKey(body *string) (string, error) {
	header, err := idempotency.HeaderKey(c.r.Header)
	if err != nil {
		return "", err
	}
	if body == nil {
		return header, nil
	}
	key, err := parseKey("/idempotency_key", *body)
	if err != nil {
		return "", err
	}
	if header != "" && header != key {
		return "", fault.Invalid("/idempotency_key", "idempotency_key is %s and the Idempotency-Key header is %s", fault.Quote(key), fault.Quote(header)).WithHint("send one of them")
	}
	return key, nil
}

// parseKey reads a key in a field of the body, or in none.
func parseKey(field, s string) (string, error) {
	key, err := idempotency.ParseKey(s)
	if e, ok := errors.AsType[*fault.Error](err); ok {
		d := *e
		d.Field = field
		return "", &d
	}
	return key, err
}

// remembrance is the data of a first answer, as it was kept.
type remembrance []byte

// once runs effect, under key if there is one: then its answer is kept with it in one transaction, and the same request again gets
// that answer. request is what counts as the request, its defaults filled in; what is made by clock or chance is not in it. An answer
// that holds a secret is kept without it.
func (c *call) once(key *string, request any, effect func(ctx context.Context) (any, error)) (any, error) {
	k, err := c.idempotencyKey(key)
	if err != nil {
		return nil, err
	}
	if k == "" {
		return effect(c.ctx)
	}
	hash, err := canon.Hash(request)
	if err != nil {
		return nil, err
	}
	var fresh any
	kept, replay, err := c.Store.Once(c.ctx, c.request(k, hash), func(ctx context.Context) ([]byte, error) {
		var err error
		if fresh, err = effect(ctx); err != nil {
			return nil, err
		}
		memory := fresh
		if s, ok := fresh.(secretive); ok {
			memory = s.withoutSecret()
		}
		var buf bytes.Buffer
		err = writeData(&buf, memory)
		return buf.Bytes(), err
	})
	if err != nil {
		return nil, err
	}
	if replay {
		c.replay = true
		return remembrance(kept), nil
	}
	return fresh, nil
}

// secretive is an answer that shows a secret, which is never kept.
type secretive interface{ withoutSecret() any }

func (c *call) request(key string, hash []byte) idempotency.Request {
	path := (&url.URL{Path: c.r.URL.Path}).EscapedPath() // what is no text in it, a database would refuse
	return idempotency.Request{Project: c.project, Scope: c.r.Method + " " + path, Key: key, Hash: hash}
}
