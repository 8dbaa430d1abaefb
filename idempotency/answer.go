package idempotency

import (
	"encoding/json/v2"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// answer is what is kept of an answer, in the form in which the ledger has it.
type answer struct {
	Status int         `json:"status"`
	Header http.Header `json:"header,omitempty"`
	Body   []byte      `json:"body,omitempty"`
	// Large says that the body was more than could be kept: it is not here.
	Large bool `json:"large,omitempty"`
}

// always are the headers that are kept of every answer: those that say what its body is, and where what was made can be found.
var always = []string{
	"Content-Type", "Content-Encoding", "Content-Language", "Content-Location", "Content-Disposition", "Etag", "Last-Modified", "Link", "Location",
}

// latin writes each byte of a header's value as a character, which JSON takes whatever the value is; bytesOf takes that back.
func latin(s string) string {
	r := make([]rune, len(s))
	for i := range len(s) {
		r[i] = rune(s[i])
	}
	return string(r)
}

func bytesOf(s string) string {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return string(b)
}

// keep gives what the ledger keeps of an answer, with the headers named.
func (a answer) keep(names []string) ([]byte, error) {
	kept := http.Header{}
	for _, n := range names {
		for _, v := range a.Header.Values(n) {
			kept[n] = append(kept[n], latin(v))
		}
	}
	a.Header = kept
	b, err := json.Marshal(a, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("write an answer's form: %w", err)
	}
	return b, nil
}

func readAnswer(b []byte) (a answer, err error) {
	if err := json.Unmarshal(b, &a); err != nil {
		return a, fmt.Errorf("read a kept answer: %w", err)
	}
	for _, l := range a.Header {
		for i, v := range l {
			l[i] = bytesOf(v)
		}
	}
	return a, nil
}

// replay sends a kept answer, beside what headers w has.
func (a answer) replay(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.Header)
	w.Header().Set("Idempotent-Replayed", "true")
	a.send(w)
}

// send sends the status and the body.
func (a answer) send(w http.ResponseWriter) {
	if bodyAllowed(a.Status) {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
	}
	w.WriteHeader(a.Status)
	w.Write(a.Body) // a client that is gone asks again
}

// bodyAllowed reports whether an answer of a status has a body: RFC 9110, 6.4.1.
func bodyAllowed(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}
