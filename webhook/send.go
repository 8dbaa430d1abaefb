package webhook

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/internal/retryafter"
)

const (
	keepResponse = 2 << 10  // of an answer's body, in its attempt
	readResponse = 64 << 10 // more costs the connection
	readFor      = time.Second
	staleTries   = 3
)

// reply is an attempt as it went.
type reply struct {
	answer
	body    []byte
	latency time.Duration // to the status, or to the error
}

// poster makes attempts.
type poster struct {
	kept  *http.Transport // keeps connections for the next attempt
	fresh *http.Transport // a connection for each: a stale one can never make an outcome ambiguous
}

func (p *poster) close() {
	p.kept.CloseIdleConnections()
	p.fresh.CloseIdleConnections()
}

// post makes one attempt at one POST within the time-out. If a kept connection turns out dead before a byte was
// written, nothing was attempted: another connection is used at once.
func (p *poster) post(ctx context.Context, once bool, url string, h http.Header, body []byte, timeout time.Duration) reply {
	began := time.Now()
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	rt := p.kept
	if once {
		rt = p.fresh
	}
	for try := 1; ; try++ {
		r, reused := roundTrip(within, cancel, rt, url, h, body)
		stale := r.err != nil && !r.sent && reused && within.Err() == nil
		if !stale {
			r.latency = time.Since(began) - r.latency
			r.stop = r.err != nil && ctx.Err() != nil
			return r
		}
		if try == staleTries {
			rt = p.fresh
		}
	}
}

// roundTrip sends the request on one connection. Its latency is what was spent on the answer's body. cancel ends ctx, when that takes too long.
func roundTrip(ctx context.Context, cancel func(), rt http.RoundTripper, url string, h http.Header, body []byte) (r reply, reused bool) {
	var on *countingConn
	var before int64
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		on, reused = i.Conn.(*countingConn), i.Reused
		before = on.written.Load()
		on.waits.Store(true)
	}})
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return reply{answer: answer{err: err}}, false
	}
	// No GetBody, so that the transport cannot send it again. NopCloser over a bytes.Reader is known to net/http as
	// memory; any other type costs a write and a segment more.
	q.Body, q.ContentLength, q.Header = io.NopCloser(bytes.NewReader(body)), int64(len(body)), h
	if len(body) == 0 {
		q.Body = http.NoBody // else its length is unknown
	}
	failpoint.At(failpoint.BeforeFirstByte, "POST")
	a, err := rt.RoundTrip(q)
	if err != nil {
		return reply{answer: answer{err: err, sent: on != nil && on.written.Load() != before}}, reused
	}
	defer a.Body.Close()
	on.waits.Store(false)
	at := time.Now()
	r.status, r.sent = a.StatusCode, true
	if a.StatusCode == http.StatusSwitchingProtocols {
		return r, reused // its body is the bare connection, which no context ends
	}
	if a.StatusCode == http.StatusTooManyRequests || a.StatusCode == http.StatusServiceUnavailable {
		r.after = retryafter.Parse(a.Header, at)
	}
	r.body, r.cut = readStart(cancel, a.Body)
	failpoint.At(failpoint.ReplyRead, "POST")
	r.latency = time.Since(at)
	return r, reused
}

// readStart reads an answer's body within its bounds and keeps the beginning. cut says that its end did not come: it was broken off, or
// took too long. At our own bound of bytes we chose to end, and the answer counts as whole.
func readStart(cancel func(), body io.Reader) (start []byte, cut bool) {
	if body == http.NoBody {
		return []byte{}, false
	}
	defer time.AfterFunc(readFor, cancel).Stop()
	buf := bytes.NewBuffer(make([]byte, 0, 512))
	_, err := io.CopyN(buf, body, keepResponse)
	if err == nil {
		_, err = io.CopyN(io.Discard, body, readResponse-keepResponse)
	}
	return buf.Bytes(), err != nil && !errors.Is(err, io.EOF)
}
