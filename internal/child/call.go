package child

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Caller makes calls of a server with an API key. Each that is under way has a connection of its own, which the goroutine that calls writes and
// reads by itself: net/http's client, which hands both over to others, takes more than twice the processor time, of a machine that the two share. It knows
// as much of HTTP as the program's answers need.
type Caller struct {
	URL, Key string

	mu   sync.Mutex
	idle []*wire // the last that was used is taken first
}

type wire struct {
	net.Conn
	in   *bufio.Reader
	out  []byte
	text []byte // of the answer
	used time.Time
}

const (
	callTime = time.Minute // of a call
	idleTime = time.Minute // after which the server may be about to close a connection
)

// Call makes a call, and reads its data into to; nil leaves them. Any answer but 200 is an error with its text.
func (c *Caller) Call(ctx context.Context, method, path string, body []byte, to any) error {
	w, err := c.wire(ctx)
	if err != nil {
		return err
	}
	cut := context.AfterFunc(ctx, func() { w.SetDeadline(time.Unix(1, 0)) })
	status, err := w.call(c, method, path, body)
	if !cut() || err != nil {
		w.Close()
	} else {
		defer c.keep(w)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%s %s: %w", method, path, err)
	case status != http.StatusOK:
		return fmt.Errorf("%s %s: %d %s", method, path, status, w.text)
	case to == nil:
		return nil
	}
	return json.Unmarshal(w.text, &struct {
		Data any `json:"data"`
	}{to})
}

// Close ends the connections that nobody uses.
func (c *Caller) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.idle {
		w.Close()
	}
	c.idle = nil
}

func (c *Caller) keep(w *wire) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, w)
}

func (c *Caller) wire(ctx context.Context) (*wire, error) {
	now := time.Now()
	c.mu.Lock()
	if n := len(c.idle); n > 0 && now.Sub(c.idle[n-1].used) < idleTime {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		w.used = now
		return w, w.SetDeadline(now.Add(callTime))
	}
	c.mu.Unlock()
	c.Close() // the others are idle for longer
	at, err := url.Parse(c.URL)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: conn, in: bufio.NewReader(conn), used: now}, conn.SetDeadline(now.Add(callTime))
}

// call gives the answer's status, and leaves its text in w.text.
func (w *wire) call(c *Caller, method, path string, body []byte) (status int, err error) {
	b := append(w.out[:0], method+" "+path+" HTTP/1.1\r\nHost: "...)
	b = append(append(b, w.RemoteAddr().String()...), "\r\nAuthorization: Bearer "+c.Key+"\r\nContent-Type: application/json\r\nContent-Length: "...)
	w.out = append(append(strconv.AppendInt(b, int64(len(body)), 10), "\r\n\r\n"...), body...)
	if _, err := w.Write(w.out); err != nil {
		return 0, err
	}
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, fmt.Errorf("no answer of HTTP: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, err
	}
	size := -1
	for {
		if line, err = w.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		name, value, more := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(": "))
		if !more {
			break
		}
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if size, err = strconv.Atoi(string(value)); err != nil {
				return 0, err
			}
		}
	}
	if size < 0 {
		return 0, errors.New("an answer that does not say its length")
	}
	w.text = append(w.text[:0], make([]byte, size)...)
	_, err = io.ReadFull(w.in, w.text)
	return status, err
}
