package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// list asks for a list page by page. Its end is the list's, a break, or an error, which comes last.
func list[T any](ctx context.Context, c *Client, path string, query ...string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			var page struct {
				Items []T    `json:"items"`
				Next  string `json:"next_cursor"`
			}
			if _, err := c.Call(ctx, Request{Method: "GET", Path: address(path, append(query, "cursor", cursor)...)}, &page); err != nil {
				yield(*new(T), err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}

// address makes a path with the parameters that are not empty: name, value, name, value, …
func address(path string, query ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			v.Set(query[i], query[i+1])
		}
	}
	if len(v) == 0 {
		return path
	}
	return path + "?" + v.Encode()
}

// under makes a path that ends in a name or an id.
func under(path, name string) string { return path + "/" + url.PathEscape(name) }

// moment is a time as a query has it; none is "".
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// flag is a yes as a query has it.
func flag(b bool) string {
	if !b {
		return ""
	}
	return strconv.FormatBool(b)
}

// post makes a call that has no key and needs none: to repeat it changes nothing more.
func (c *Client) post(ctx context.Context, path string, body, to any) error {
	_, err := c.Call(ctx, Request{Method: "POST", Path: path, Body: body}, to)
	return err
}

// keyed makes a call under a key.
func (c *Client) keyed(ctx context.Context, path, key string, body, to any) (Meta, error) {
	return c.Call(ctx, Request{Method: "POST", Path: path, Body: body, Key: c.key(key)}, to)
}

func (c *Client) get(ctx context.Context, path string, to any) error {
	_, err := c.Call(ctx, Request{Method: "GET", Path: path}, to)
	return err
}
