package main

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

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

// reply is the server's envelope.
type reply struct {
	OK    bool           `json:"ok"`
	Data  jsontext.Value `json:"data"`
	Error *struct {
		Code    fault.Code `json:"code"`
		Message string     `json:"message"`
		Hint    string     `json:"hint"`
		Field   string     `json:"field"`
	} `json:"error"`
	Metadata struct {
		RequestID string `json:"request_id"`
		Replay    bool   `json:"idempotent_replay"`
	} `json:"metadata"`
}

// call makes one request and decodes its data into to; nil drops it. It reports whether the answer is a replay.
func (r *remote) call(ctx context.Context, method, path string, body, to any) (replay bool, err error) {
	a, err := r.exchange(ctx, method, path, body)
	if err != nil {
		return false, err
	}
	if to != nil {
		if err := json.Unmarshal(a.Data, to, asCame); err != nil {
			return false, fmt.Errorf("%s %s: the answer is not what this command knows: %w", method, path, err)
		}
	}
	return a.Metadata.Replay, nil
}

func (r *remote) exchange(ctx context.Context, method, path string, body any) (*reply, error) {
	base, err := url.Parse(r.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, usage("the server's address %q is not http://host:port or https://host", r.URL)
	}
	var in io.Reader
	if raw, ok := body.(asWritten); ok {
		in = bytes.NewReader(raw)
	} else if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, usage("%s %s: %w", method, path, err)
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(r.URL, "/")+path, in)
	if err != nil {
		return nil, usage("%w", err)
	}
	if r.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+r.APIKey)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Timeout: time.Minute}).Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s %s had no answer yet, and may be done or not: %w", method, path, ctx.Err())
		}
		return nil, (&fault.Error{
			Code: fault.Unavailable, Message: "cannot reach the server at " + r.URL,
			Hint: "Is `onceward serve` running there? ONCEWARD_URL or --url names another.",
		}).Wrap(beneath(err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	var a reply
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("%s %s: status %d, and the answer is not Onceward's: is %s the right server?", method, path, resp.StatusCode, r.URL)
	}
	if a.Error != nil {
		f := &fault.Error{Code: a.Error.Code, Message: fmt.Sprintf("%s (%s)", a.Error.Message, a.Error.Code), Hint: a.Error.Hint, Field: a.Error.Field}
		if f.Code == fault.Unauthenticated {
			f.Hint = "ONCEWARD_API_KEY or --api-key gives the key that the server printed at its first start."
		}
		return nil, f
	}
	return &a, nil
}

// beneath gives what kept a request from its answer, without the address, which the caller names.
func beneath(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// asWritten is a body that goes out byte for byte.
type asWritten []byte

// withPayload adds a payload to a body without touching a byte of it: an encoder would take out its spaces.
func withPayload(body object, payload []byte) (asWritten, error) {
	return withRaw(body, "payload", payload)
}

// withRaw is withPayload of a member of another name.
func withRaw(body object, name string, value []byte) (asWritten, error) {
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
