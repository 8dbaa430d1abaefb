package api_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/queue"
)

// broke is a store of a project that can pay nothing, which counts who asks why.
type broke struct {
	*stub
	asked atomic.Int32
}

func (b *broke) Balance(context.Context, int64) (account.Balance, error) {
	b.asked.Add(1)
	return account.Balance{Spent: 3, Limit: new(account.USD(5))}, nil
}

// A batch of which nothing is paid asks once what is left, and every item says so.
func TestCreditIsAskedOnce(t *testing.T) {
	t.Parallel()
	s := &broke{stub: newStub()}
	s.publish = func(_ context.Context, items []queue.Publish) ([]queue.Published, error) {
		out := make([]queue.Published, len(items))
		for i, p := range items {
			out[i].Err = account.Insufficient(p.Price)
		}
		return out, nil
	}
	e := serve(t, api.Config{Store: s, PublishPrice: 7})
	a := e.do("POST", "/v1/queue/publish_batch", `{"queue":"jobs","messages":[{"payload":1},{"payload":2},{"payload":3}]}`).ok(nil)
	if n := strings.Count(string(a.Data), "of 0.000000005, 0.000000002 is left"); n != 3 || s.asked.Load() != 1 {
		t.Errorf("asked %d times: %s", s.asked.Load(), a.Data)
	}
	e.do("POST", "/v1/queue/publish", `{"queue":"jobs","payload":1}`).fails(402, "INSUFFICIENT_CREDIT", "")
}
