package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var pushTests = []named{
	{"a subscription is one for each queue and URL, and changes as it is named again", subscribed},
	{"subscriptions are listed newest first, in pages, and removed", subscriptionsListed},
	{"a queue's subscriptions go with it, and another project's are not seen", subscriptionsGo},
	{"what is held is what there is, and what was let go is there for another", subscriptionsHeld},
}

func (r *rig) subscribe(name, url string) webhook.Subscription {
	r.Helper()
	s, fresh, err := r.Subscribe(r.ctx, webhook.Subscription{
		Project: r.project, Queue: name, URL: url, Sealed: []byte("sealed"), Timeout: 2500 * time.Millisecond, MaxInFlight: 7,
	}, func(*webhook.Subscription) {})
	r.ok(err)
	want(r, "new", fresh, true)
	return s
}

func subscribed(r *rig) {
	r.queue("jobs")
	r.queue("mail")
	s := r.subscribe("jobs", "https://example.com/a")
	again, fresh, err := r.Subscribe(r.ctx, webhook.Subscription{Project: 1, Queue: "jobs", URL: s.URL, Sealed: []byte("other"), Timeout: time.Second, MaxInFlight: 1},
		func(s *webhook.Subscription) { s.MaxInFlight = 9 })
	r.ok(err)
	want(r, "new", fresh, false)
	want(r, "id", again.ID, s.ID)
	want(r, "what apply left", again.Timeout == s.Timeout && string(again.Sealed) == "sealed" && again.MaxInFlight == 9, true)
	r.reopen()
	l, err := r.Subscriptions(r.ctx, 1, "jobs", queue.Page{Limit: 10})
	r.ok(err)
	if len(l) != 1 || l[0].ID != s.ID || l[0].MaxInFlight != 9 || l[0].Timeout != s.Timeout || l[0].Queue != "jobs" || !l[0].CreatedAt.Equal(s.CreatedAt) {
		r.Errorf("kept: %+v, want %+v with 9", l, s)
	}
	if other := r.subscribe("mail", s.URL); other.ID == s.ID {
		r.Error("two queues have one subscription")
	}
	_, _, err = r.Subscribe(r.ctx, webhook.Subscription{Project: 1, Queue: "none", URL: s.URL, Sealed: []byte("x"), Timeout: 1, MaxInFlight: 1}, nil)
	want(r, "to no queue", errors.Is(err, queue.ErrQueueNotFound), true)
}

func subscriptionsListed(r *rig) {
	r.queue("jobs")
	var made []int64
	for _, path := range []string{"a", "b", "c", "d", "e"} {
		made = append(made, r.subscribe("jobs", "https://example.com/"+path).ID)
	}
	slices.Reverse(made)
	var got []int64
	for after := int64(0); ; {
		l, err := r.Subscriptions(r.ctx, 1, "jobs", queue.Page{After: after, Limit: 2})
		r.ok(err)
		for _, s := range l {
			got = append(got, s.ID)
			after = s.ID
		}
		if len(l) < 2 {
			break
		}
	}
	if !slices.Equal(got, made) {
		r.Errorf("listed %v, want %v", got, made)
	}
	r.ok(r.Unsubscribe(r.ctx, 1, "jobs", made[2]))
	want(r, "twice", errors.Is(r.Unsubscribe(r.ctx, 1, "jobs", made[2]), webhook.ErrNotFound), true)
	r.queue("mail")
	want(r, "of another queue", errors.Is(r.Unsubscribe(r.ctx, 1, "mail", made[1]), webhook.ErrNotFound), true)
	l, err := r.Subscriptions(r.ctx, 1, "jobs", queue.Page{Limit: 10})
	r.ok(err)
	want(r, "left", len(l), 4)
	_, err = r.Subscriptions(r.ctx, 1, "none", queue.Page{Limit: 10})
	want(r, "of no queue", errors.Is(err, queue.ErrQueueNotFound), true)
}

func subscriptionsGo(r *rig) {
	r.queue("jobs")
	s := r.subscribe("jobs", "https://example.com/a")
	_, err := r.CreateProject(r.ctx, "neighbour", nil)
	r.ok(err)
	_, err = r.CreateQueue(r.ctx, queue.Spec{Project: 2, Name: "jobs"})
	r.ok(err)
	l, err := r.Subscriptions(r.ctx, 2, "jobs", queue.Page{Limit: 10})
	r.ok(err)
	want(r, "seen by the neighbour", len(l), 0)
	want(r, "removed by the neighbour", errors.Is(r.Unsubscribe(r.ctx, 2, "jobs", s.ID), webhook.ErrNotFound), true)
	r.ok(r.DeleteQueue(r.ctx, 1, "jobs", false))
	r.queue("jobs")
	l, err = r.Subscriptions(r.ctx, 1, "jobs", queue.Page{Limit: 10})
	r.ok(err)
	want(r, "left of the queue that went", len(l), 0)
	held, err := r.HoldSubscriptions(r.ctx, "a server", time.Minute)
	r.ok(err)
	want(r, "held of it", len(held), 0)
}

func subscriptionsHeld(r *rig) {
	r.queue("jobs")
	a, b := r.subscribe("jobs", "https://example.com/a"), r.subscribe("jobs", "https://example.com/b")
	hold := func(owner string, term time.Duration) (got []int64) {
		r.Helper()
		l, err := r.HoldSubscriptions(r.ctx, owner, term)
		r.ok(err)
		for _, s := range l {
			if s.Queue != "jobs" || s.Project != 1 || s.MaxInFlight != 7 || string(s.Sealed) != "sealed" {
				r.Errorf("held: %+v", s)
			}
			got = append(got, s.ID)
		}
		return got
	}
	all := []int64{a.ID, b.ID}
	for range 2 {
		if got := hold("first", time.Minute); !slices.Equal(got, all) {
			r.Errorf("held %v, want %v", got, all)
		}
	}
	if r.b.Dialect == Postgres { // of SQLite one process has all
		want(r, "held by another meanwhile", len(hold("second", 50*time.Millisecond)), 0)
	}
	r.ok(r.LetGoSubscriptions(r.ctx, "first"))
	if got := hold("second", 50*time.Millisecond); !slices.Equal(got, all) {
		r.Errorf("held once let go: %v, want %v", got, all)
	}
	r.past(r.now().Add(60 * time.Millisecond))
	if got := hold("third", time.Minute); !slices.Equal(got, all) {
		r.Errorf("held after the other's time: %v, want %v", got, all)
	}
	r.ok(r.Unsubscribe(r.ctx, 1, "jobs", a.ID))
	if got := hold("third", time.Minute); !slices.Equal(got, all[1:]) {
		r.Errorf("held after an unsubscription: %v", got)
	}
}
