package main

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/onceward/onceward/client"
	"github.com/onceward/onceward/internal/fault"
)

// remote is a running server, as the client commands reach it.
type remote struct {
	printer
	URL    string `name:"url" group:"common" env:"ONCEWARD_URL" default:"http://127.0.0.1:6623" help:"Address of the server."`
	APIKey string `name:"api-key" group:"common" env:"ONCEWARD_API_KEY" help:"Key to call it with."`
}

// keyed is what the commands that make something have in common.
type keyed struct {
	IdempotencyKey *string `help:"Key of this request: the same again gets the first answer again."`
}

func (k *keyed) into(body object) object {
	with(body, "idempotency_key", k.IdempotencyKey)
	return body
}

// object is a JSON object as it came: its numbers and payloads are the text that the server sent.
type object = map[string]any

// asCame keeps numbers, which a float64 would change or refuse, and payloads and results, which are the sender's own bytes.
var asCame = json.WithUnmarshalers(json.UnmarshalFromFunc(func(d *jsontext.Decoder, v *any) error {
	if last := d.StackPointer().LastToken(); d.PeekKind() != '0' && last != "payload" && last != "result" {
		return errors.ErrUnsupported
	}
	raw, err := d.ReadValue()
	*v = raw.Clone()
	return err
}))

// call makes one request and decodes its data into to; nil drops it. It reports whether the answer is a replay. What was not answered is not sent again: whoever
// typed it sees why, and decides.
func (r *remote) call(ctx context.Context, method, path string, body, to any) (replay bool, err error) {
	c, err := client.New(client.Config{URL: r.URL, APIKey: r.APIKey, HTTP: &http.Client{}, MaxTries: 1})
	if err != nil {
		return false, usageError{err}
	}
	var data jsontext.Value
	meta, err := c.Call(ctx, client.Request{Method: method, Path: path, Body: body}, &data)
	if err != nil {
		return false, r.told(ctx, err)
	}
	if to != nil {
		if err := json.Unmarshal(data, to, asCame); err != nil {
			return false, fmt.Errorf("%s %s: the answer is not what this command knows: %w", method, path, err)
		}
	}
	return meta.Replayed, nil
}

// told makes of a call's error what a person at a terminal can act on.
func (r *remote) told(ctx context.Context, err error) error {
	e, ok := errors.AsType[*client.Error](err)
	switch {
	case !ok || e.Status != 0 && e.Code == "":
		return err
	case e.Status == 0 && ctx.Err() != nil:
		return fmt.Errorf("%s had no answer yet, and may be done or not: %w", e.Call, ctx.Err())
	case e.Status == 0:
		return (&fault.Error{
			Code: fault.Unavailable, Message: "cannot reach the server at " + r.URL,
			Hint: "Is `onceward serve` running there? ONCEWARD_URL or --url names another.",
		}).Wrap(e.Err)
	}
	f := &fault.Error{Code: fault.Code(e.Code), Message: fmt.Sprintf("%s (%s)", e.Message, e.Code), Hint: e.Hint, Field: e.Field}
	if f.Code == fault.Unauthenticated {
		f.Hint = "ONCEWARD_API_KEY or --api-key gives the key that the server printed at its first start."
	}
	return f
}

// withPayload adds a payload to a body without touching a byte of it: an encoder would take out its spaces.
func withPayload(body object, payload []byte) (jsontext.Value, error) {
	return withRaw(body, "payload", payload)
}

// withRaw is withPayload of a member of another name.
func withRaw(body object, name string, value []byte) (jsontext.Value, error) {
	b, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	sep := ","
	if len(body) == 0 {
		sep = ""
	}
	b = append(bytes.TrimSuffix(b, []byte("}")), sep+`"`+name+`":`...)
	return append(append(b, value...), '}'), nil
}

// withJSON adds a member that a flag gave as JSON, if it did.
func withJSON(body object, name string, flag *string) (any, error) {
	if flag == nil {
		return body, nil
	}
	value, err := readJSON(*flag)
	if err != nil {
		return nil, err
	}
	return withRaw(body, name, value)
}

// query makes a path with the parameters that are not empty: name, value, name, value, …
func query(path string, pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// with sets a member of a body if it was given.
func with[T any](o object, name string, v *T) {
	if v != nil {
		o[name] = *v
	}
}

// seconds is a duration as the contract writes it.
func seconds(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}
