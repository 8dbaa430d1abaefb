package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// A client that goes away while it waits takes nothing with it: what comes afterwards is there for others, uncounted.
func TestClientGoneWhileItWaits(t *testing.T) {
	t.Parallel()
	r := open(t)
	r.queue("jobs")
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", r.url+"/v1/queue/consume", strings.NewReader(`{"queue":"jobs","wait_seconds":20}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+rootKey)
	req.Header.Set("Content-Type", "application/json")
	over := make(chan error)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		over <- err
	}()
	cancel()
	if err := <-over; err == nil {
		t.Fatal("the poll was answered")
	}
	r.publish("jobs", `1`)
	var got []received
	eventually(t, "the message is there for another", func() bool { got = r.consume("jobs", 1); return len(got) == 1 })
	if got[0].Count != 1 {
		t.Errorf("delivery_count = %d; the client that is gone received nothing", got[0].Count)
	}
}
