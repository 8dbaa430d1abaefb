package verify

import (
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/history"
)

// An ack that was done, and whose answer was lost with its server, must not keep the round from its end.
func TestTheNeighbourEndsThoughAnAnswerWasLost(t *testing.T) {
	t.Parallel()
	log, err := history.Open(t.TempDir()+"/log", "verify")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	l := &long{log: log, stop: make(chan struct{}), newest: map[string]string{}}
	var mu sync.Mutex
	var queue []object
	var once sync.Once
	fake := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		data := object{"items": []object{}}
		switch q.URL.Path {
		case "/v1/queue/publish":
			id := fmt.Sprint("m-", len(queue))
			queue = append(queue, object{"message_id": id, "receipt_handle": id, "payload": thing{id}})
			data = object{"message_id": id}
		case theirQueue, "/v1/queue/consume":
			data = object{"items": queue}
		case "/v1/queue/ack":
			queue = queue[1:]
			once.Do(func() {
				close(l.stop)
				panic(http.ErrAbortHandler)
			})
			data = object{"acked": true}
		}
		if err := json.MarshalWrite(w, object{"data": data}); err != nil {
			t.Error(err)
		}
	}))
	defer fake.Close()
	l.servers = []*server{{&child.Server{URL: fake.URL}}}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		l.neighbour(t.Context())
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the neighbour waits for a message that it has acked")
	}
}
