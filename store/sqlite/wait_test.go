package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/queue"
)

// The store's clock is the process's, so that days of waiting pass in a bubble at once; and a wait ends at the very moment
// that a message is due, or with the news of it.
func TestWaitsByTheProcessClock(t *testing.T) {
	t.Parallel()
	file := tempFile(t)
	synctest.Test(t, func(t *testing.T) {
		db, err := Open(t.Context(), file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "q"}); err != nil {
			t.Fatal(err)
		}
		publish := func(p queue.Publish) {
			p.Project, p.Queue, p.Body = 1, "q", []byte("1")
			if r, err := db.Publish(t.Context(), p); err != nil || r[0].Err != nil {
				t.Error(err, r)
			}
		}
		waits := func(what string, want time.Duration) {
			t.Helper()
			start := time.Now()
			db.WaitMessages(t.Context(), queue.Receive{Project: 1, Queue: "q"})
			if d := time.Since(start); d < want || d > want+time.Millisecond {
				t.Errorf("%s: waited %v, want %v", what, d, want)
			}
		}
		receive := func() {
			t.Helper()
			m, err := db.Receive(t.Context(), queue.Receive{Project: 1, Queue: "q", Max: 10, Visibility: time.Hour})
			if err != nil || len(m) != 1 {
				t.Fatal(m, err)
			}
		}
		for _, group := range []string{"", "g"} {
			publish(queue.Publish{Delay: 72 * time.Hour, Group: group})
			waits("a delay", 72*time.Hour)
			receive()
			waits("a lease", time.Hour)
			receive()
			go func() {
				time.Sleep(10 * time.Minute)
				publish(queue.Publish{Delay: time.Minute, Group: group})
			}()
			waits("news", 11*time.Minute)
			receive()
			if _, err := db.PauseQueue(t.Context(), 1, "q", true); err != nil {
				t.Fatal(err)
			}
			go func() {
				time.Sleep(3 * time.Hour)
				if _, err := db.PauseQueue(t.Context(), 1, "q", false); err != nil {
					t.Error(err)
				}
			}()
			waits("a pause", 3*time.Hour)
			if err := db.DeleteQueue(t.Context(), 1, "q", true); err != nil {
				t.Fatal(err)
			}
			waits("no queue", 0)
			if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "q"}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
