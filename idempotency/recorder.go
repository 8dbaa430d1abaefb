package idempotency

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"sync"
)

// recorder holds an answer back until it is kept. One with more than limit bytes is not kept, and from there on goes straight to the client;
// its end comes with the handler's, so that no client has a whole answer before the ledger has the record.
type recorder struct {
	mu     sync.Mutex // a handler's goroutines may outlive it
	over   bool       // the handler has returned
	w      http.ResponseWriter
	limit  int
	header http.Header // what the handler writes into
	answer             // Status 0: nothing yet; its Header is what the handler's was at the status
	sent   bool
	whole  bool // nothing may leave before the end
}

func newRecorder(w http.ResponseWriter, limit int) *recorder {
	return &recorder{w: w, limit: limit, header: w.Header().Clone()}
}

// Header is the answer's. It begins with what whoever stands before has set.
func (r *recorder) Header() http.Header { return r.header }

// WriteHeader takes the status. Informational ones are not passed on.
func (r *recorder) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writeHeader(status)
}

func (r *recorder) writeHeader(status int) {
	switch {
	case r.over:
		return
	case status < 100 || status > 999:
		panic(fmt.Sprintf("idempotency: %d is no HTTP status", status)) // as net/http does, and before anything is kept
	case r.Status != 0 || status < 200:
		return
	}
	r.Status, r.answer.Header = status, r.header.Clone()
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return 0, errOver
	}
	if r.Status == 0 {
		r.writeHeader(http.StatusOK)
	}
	switch {
	case !bodyAllowed(r.Status):
		return 0, http.ErrBodyNotAllowed
	case r.sent:
		return r.w.Write(p)
	}
	if len(r.Body)+len(p) > r.limit && r.whole {
		r.Large = true
		return 0, errLarge
	}
	r.Body = append(r.Body, p...)
	if len(r.Body) > r.limit {
		r.stream()
	}
	return len(p), nil
}

var errOver = errors.New("idempotency: the handler has returned, and its answer is what it was then")

var errLarge = errors.New("idempotency: the answer is larger than what is kept of one, and nothing of it may leave before its record is made")

// Flush lets an answer go on that is not held back any more. Before that it does nothing: what the client has seen cannot be taken back.
func (r *recorder) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sent && !r.over {
		_ = http.NewResponseController(r.w).Flush()
	}
}

// stream stops holding back.
func (r *recorder) stream() {
	r.finish()
	r.Large, r.sent = true, true
	r.answer.Header.Del("Content-Length") // the last byte would end the answer before its record
	r.send()
	r.Body = nil
}

// close ends what the handler can say. answered: it has said something, or means 200 by saying nothing.
func (r *recorder) close(answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answered || r.Status != 0 {
		r.finish()
	}
	r.over = true
}

// finish gives the answer what it lacks.
func (r *recorder) finish() {
	if r.Status == 0 {
		r.writeHeader(http.StatusOK)
	}
	h := r.answer.Header
	if _, typed := h["Content-Type"]; !typed && len(r.Body) > 0 && h.Get("Content-Encoding") == "" {
		h.Set("Content-Type", http.DetectContentType(r.Body)) // as net/http does, so that the replay has the same
	}
}

// send sends what was held back.
func (r *recorder) send() {
	h := r.w.Header()
	clear(h)
	maps.Copy(h, r.answer.Header)
	if r.sent {
		r.w.WriteHeader(r.Status)
		r.w.Write(r.Body)
		return
	}
	r.answer.send(r.w)
}
