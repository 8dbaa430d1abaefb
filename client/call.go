package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/onceward/onceward/internal/retryafter"
)

// maxAnswer is the most bytes of an answer that are read. A consume ends at 8 MiB, and a page of 50 messages at 13 MiB.
const maxAnswer = 64 << 20

// Request is a call as the contract has it, for what has no method here.
type Request struct {
	Method string
	Path   string        // from the root, escaped, with its query
	Body   any           // what marshals to a JSON object; a [jsontext.Value] goes out byte for byte; nil: no body
	Key    string        // the idempotency key; none is made here
	Wait   time.Duration // how long the server may wait before it answers
	Once   bool          // it is not sent again once it may have been done
}

// Meta is what an answer says of itself.
type Meta struct {
	RequestID string  `json:"request_id"`        // under which the server's log has the call
	Replayed  bool    `json:"idempotent_replay"` // the key was known: this is the first answer again
	CostUSD   float64 `json:"cost_usd"`          // what the call cost
}

// Call makes a call and decodes the answer's data into to; nil drops it. A failure is an [*Error].
func (c *Client) Call(ctx context.Context, r Request, to any) (Meta, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = encode(r.Body); err != nil {
			return Meta{}, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}
	}
	for try := 1; ; try++ {
		a, fail := c.try(ctx, &r, body)
		if fail == nil {
			if to == nil {
				return a.Metadata, nil
			}
			if err := json.Unmarshal(a.Data, to, wire); err != nil {
				return a.Metadata, fmt.Errorf("%s %s: the answer is not what this client knows: %w", r.Method, r.Path, err)
			}
			return a.Metadata, nil
		}
		if try >= c.MaxTries || !fail.again(r.Once) || !pause(ctx, try, fail.RetryAfter) {
			return Meta{}, fail
		}
	}
}

// again reports whether the call may be sent again. What may be done once alone is sent again only if it was certainly not begun.
func (e *Error) again(once bool) bool {
	return e.Temporary() && !(once && e.Status != http.StatusTooManyRequests)
}

// answer is the envelope.
type answer struct {
	OK       bool           `json:"ok"`
	Data     jsontext.Value `json:"data"`
	Error    *refusal       `json:"error"`
	Metadata Meta           `json:"metadata"`
}

// refusal is the error of an answer, or of an item of a batch.
type refusal struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Field   string `json:"field"`
}

func (r *refusal) asError() *Error {
	return &Error{Code: r.Code, Message: r.Message, Hint: r.Hint, Field: r.Field}
}

// try sends a call once.
func (c *Client) try(ctx context.Context, r *Request, body []byte) (*answer, *Error) {
	fail := &Error{Call: r.Method + " " + path(r.Path), Key: r.Key}
	within, cancel := context.WithTimeout(ctx, c.Timeout+r.Wait)
	defer cancel()
	var in io.Reader
	if body != nil {
		in = bytes.NewReader(body)
	}
	q, err := http.NewRequestWithContext(within, r.Method, c.base+r.Path, in)
	if err != nil {
		return nil, fail.noAnswer("the request cannot be made", err)
	}
	if c.APIKey != "" {
		q.Header.Set("Authorization", "Bearer "+c.APIKey)
	}
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if r.Key != "" {
		q.Header.Set("Idempotency-Key", r.Key)
	}
	resp, err := c.HTTP.Do(q)
	if err != nil {
		return nil, fail.noAnswer("no answer came from "+c.URL, beneath(ctx, err))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	fail.RequestID = resp.Header.Get("X-Request-Id")
	if err != nil {
		return nil, fail.noAnswer("the answer broke off", beneath(ctx, err))
	}
	fail.Status, fail.RetryAfter = resp.StatusCode, retryafter.Parse(resp.Header, time.Now())
	if len(text) > maxAnswer {
		fail.Message, fail.Hint = fmt.Sprintf("the answer has more than %d bytes", maxAnswer), "ask for less at a time"
		return nil, fail
	}
	a := &answer{}
	if err := json.Unmarshal(text, a, wire); err != nil || a.Error == nil && !a.OK {
		fail.Message = fmt.Sprintf("the answer is not Onceward's: is %s the right server?", c.URL)
		if to := resp.Header.Get("Location"); to != "" {
			fail.Hint = "it redirects to " + to + ", which is not followed"
		}
		return nil, fail
	}
	if a.Error != nil {
		fail.Code, fail.Message, fail.Hint, fail.Field = a.Error.Code, a.Error.Message, a.Error.Hint, a.Error.Field
		fail.RequestID = cmp.Or(a.Metadata.RequestID, fail.RequestID)
		return nil, fail
	}
	return a, nil
}

// noAnswer makes e that of a call whose answer is not known. The call may be done or not.
func (e *Error) noAnswer(what string, err error) *Error {
	e.Message, e.Err = what, err
	return e
}

// beneath gives what kept a request from its answer, without the address, which the error names. The caller's own end comes first.
func beneath(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// path leaves out the query.
func path(p string) string {
	if u, err := url.Parse(p); err == nil {
		return u.Path
	}
	return p
}
