package simulation

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// answer is what came of a call.
type answer struct {
	lost   bool // nobody knows the answer; the server did what was asked
	status int
	code   string // of an error
	replay bool
	data   json.RawMessage
}

// call makes a call whose answer arrives. The server must be up.
func (w *world) call(method, path string, body any) answer {
	return w.callOr(false, method, path, body)
}

// callOr is a call whose answer may be lost.
func (w *world) callOr(lost bool, method, path string, body any) answer {
	return w.callBy(apiKey, lost, method, path, body)
}

// callBy is one by a key.
func (w *world) callBy(key string, lost bool, method, path string, body any) answer {
	b, asItIs := body.([]byte)
	if body != nil && !asItIs {
		var err error
		if b, err = json.Marshal(body); err != nil {
			panic(err)
		}
	}
	q, err := http.NewRequestWithContext(callContext(lost), method, "http://"+apiHost+":80/v1/"+path, bytes.NewReader(b))
	if err != nil {
		panic(err)
	}
	q.Header.Set("Authorization", "Bearer "+key)
	q.Header.Set("Content-Type", "application/json")
	a, err := w.client.Do(q)
	if lost {
		if err == nil {
			a.Body.Close()
			w.fail("%s %s was answered, and the answer was to be lost", method, path)
		}
		return answer{lost: true}
	}
	if err != nil {
		w.fail("%s %s: %v", method, path, err)
		return answer{}
	}
	defer a.Body.Close()
	all, err := io.ReadAll(a.Body)
	var envelope struct {
		OK    bool
		Data  json.RawMessage
		Error struct{ Code, Message string }
		Meta  struct {
			Replay bool `json:"idempotent_replay"`
		} `json:"metadata"`
	}
	if err == nil {
		err = json.Unmarshal(all, &envelope)
	}
	if err != nil || envelope.OK != (a.StatusCode == 200) {
		w.fail("%s %s answers %d %s: %v", method, path, a.StatusCode, all, err)
	}
	return answer{false, a.StatusCode, envelope.Error.Code, envelope.Meta.Replay, envelope.Data}
}

// must is a call that cannot be refused; its data goes into out.
func (w *world) must(method, path string, body, out any) {
	a := w.call(method, path, body)
	if a.status != 200 {
		w.fail("%s %s %v: %d %s", method, path, body, a.status, a.code)
		return
	}
	w.read(a, out)
}

func (w *world) read(a answer, out any) {
	if out == nil || len(a.data) == 0 {
		return
	}
	if err := json.Unmarshal(a.data, out); err != nil {
		w.fail("an answer that cannot be read: %v: %s", err, a.data)
	}
}

// page is a list.
type page[T any] struct {
	Items []T
	Next  *string `json:"next_cursor"`
}

// list reads all of a list.
func list[T any](w *world, path string) (all []T) {
	for cursor := ""; ; {
		var p page[T]
		w.must("GET", path+"limit=500"+cursor, nil, &p)
		all = append(all, p.Items...)
		if p.Next == nil || w.failed() {
			return all
		}
		cursor = "&cursor=" + *p.Next
	}
}

// fields are of a body.
type fields map[string]any

func seconds(d time.Duration) float64 { return d.Seconds() }
