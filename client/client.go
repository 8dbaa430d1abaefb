package client

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"uuid"
)

// DefaultURL is where a server listens unless it is told otherwise.
const DefaultURL = "http://127.0.0.1:6623"

// Config says which server is called, and how. The zero value of a field is its default.
type Config struct {
	// URL is the server's address ([DefaultURL]): http://host:port or https://host, with a path before the contract's own if a proxy puts it there.
	URL string
	// APIKey is the key to call it with. Without one only [Client.Healthy] and [Client.Ready] are answered.
	APIKey string
	// HTTP makes the requests (a client of its own, with 64 idle connections). Its redirects are not followed whatever it says: one would
	// turn a POST into a GET. A Timeout of its own must leave room for a long poll, of 20 s.
	HTTP *http.Client
	// Timeout is the longest that one try may take, beside what a call waits for messages (60 s).
	Timeout time.Duration
	// MaxTries is how often a call is sent at most (6, which is about 5 s of pauses). With 1 nothing is sent again, and no keys are made.
	MaxTries int
}

// Client calls a server. It is safe for concurrent use.
type Client struct {
	Config
	base string
}

// New makes a Client. It calls nobody yet; its errors are a programmer's.
func New(c Config) (*Client, error) {
	if c.URL == "" {
		c.URL = DefaultURL
	}
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the server's address %q is not http://host:port or https://host", c.URL)
	}
	if c.Timeout < 0 || c.MaxTries < 0 {
		return nil, fmt.Errorf("client: Timeout is %v and MaxTries is %d; neither can be below 0", c.Timeout, c.MaxTries)
	}
	if c.Timeout == 0 {
		c.Timeout = time.Minute
	}
	if c.MaxTries == 0 {
		c.MaxTries = 6
	}
	var h http.Client
	if c.HTTP != nil {
		h = *c.HTTP
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64 // each long poll and each handler keeps one
		h.Transport = t
	}
	h.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.HTTP = &h
	return &Client{c, strings.TrimRight(c.URL, "/")}, nil
}

// NewKey makes an idempotency key that no other call has.
func NewKey() string { return uuid.NewV7().String() }

// key is the caller's key or, where a call may be sent again, one that is made for it.
func (c *Client) key(given string) string {
	if given == "" && c.MaxTries > 1 {
		return NewKey()
	}
	return given
}
