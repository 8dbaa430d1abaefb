package api_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/onceward/onceward/access"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

// revocable is a store whose only key is revoked at a moment.
type revocable struct {
	*stub
	revoked atomic.Bool
}

func (s *revocable) KeyByHash(ctx context.Context, hash []byte) (access.Key, bool, error) {
	k, live, err := s.stub.KeyByHash(ctx, hash)
	return k, live && !s.revoked.Load(), err
}

// forget waits until what was known of a key by now is known no more.
func forget() { time.Sleep(api.KeyMemory + 10*time.Millisecond) }

// A poll that waited past its key's end receives nothing.
func TestRevokedWhileWaiting(t *testing.T) {
	t.Parallel()
	s := &revocable{stub: newStub()}
	looks := 0
	s.receive = func(context.Context, queue.Receive) ([]queue.Message, error) {
		if looks++; looks == 1 {
			return nil, nil
		}
		return []queue.Message{{}}, nil
	}
	var handed []queue.Message
	s.wait = func(context.Context) []queue.Message {
		s.revoked.Store(true)
		forget()
		return handed
	}
	e := serve(t, api.Config{Store: s})
	e.do("POST", "/v1/queue/consume", `{"queue":"jobs","wait_seconds":20}`).fails(401, "UNAUTHENTICATED", "")
	if looks != 1 {
		t.Errorf("it looked for messages %d times", looks)
	}
	s.revoked.Store(false)
	var released []queue.Settle
	s.settle = func(_ context.Context, items []queue.Settle) ([]queue.Settled, error) {
		released = items
		return make([]queue.Settled, len(items)), nil
	}
	looks, handed = 0, []queue.Message{message(5)}
	e.do("POST", "/v1/queue/consume", `{"queue":"jobs","wait_seconds":20}`).fails(401, "UNAUTHENTICATED", "")
	if len(released) != 1 || released[0].Verb != queue.Release || released[0].ID != 5 {
		t.Errorf("what was handed out meanwhile: released %+v", released)
	}
}

// A body that came slowly, past its key's end, does nothing.
func TestRevokedWhileReading(t *testing.T) {
	t.Parallel()
	s := &revocable{stub: newStub()}
	s.publish = func(context.Context, []queue.Publish) ([]queue.Published, error) {
		t.Error("it published")
		return nil, context.Canceled
	}
	e := serve(t, api.Config{Store: s})
	rest := &slow{strings.NewReader(`"payload":1}`), func() {
		eventually(t, "the key is looked up", func() bool { return s.lookups.Load() > 0 })
		s.revoked.Store(true)
		forget()
	}}
	req, err := http.NewRequest("POST", e.url+"/v1/queue/publish", io.MultiReader(strings.NewReader(`{"queue":"jobs",`), rest))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+rootKey)
	req.Header.Set("Content-Type", "application/json")
	e.send(req).fails(401, "UNAUTHENTICATED", "")
}

// slow is a reader before whose first byte something happens.
type slow struct {
	io.Reader
	before func()
}

func (s *slow) Read(p []byte) (int, error) {
	if s.before != nil {
		s.before()
		s.before = nil
	}
	return s.Reader.Read(p)
}
