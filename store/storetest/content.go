package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

var contentTests = []named{
	{"without a key the payload is the key, by its meaning", contentIsKey},
	{"the same payload in another message is refused as a reused key", contentReused},
	{"an explicit key decides, and no key is a payload's", contentKeyDecides},
	{"in a batch the second of two equal ones is the first again", contentBatch},
	{"it is remembered after its message is gone, for the queue's window", contentRemembered},
	{"it begins and ends with the setting", contentSetting},
	{"many publishers of one payload at once make one message", contentRace},
}

func contentDedup(s *queue.Spec) { s.ContentDedup = new(true) }

// saying makes a publish of a payload, with the hash that the API gives.
func saying(payload string) queue.Publish {
	return queue.Publish{Project: 1, Queue: "jobs", Body: []byte(payload)}
}

func contentIsKey(r *rig) {
	r.queue("jobs", contentDedup)
	first := r.tryPublish(saying(`{"a":1,"b":[1.0,"x"]}`))[0]
	r.ok(first.Err)
	for _, same := range []string{`{"a":1,"b":[1.0,"x"]}`, `{ "b": [1, "\u0078"], "a": 1e0 }`} {
		p := r.tryPublish(saying(same))[0]
		if p.Err != nil || !p.Replay || p.ID != first.ID || !p.VisibleAt.Equal(first.VisibleAt) {
			r.Errorf("%s: %+v, want the first answer %+v", same, p, first)
		}
	}
	seen := map[int64]bool{first.ID: true}
	for _, other := range []string{`{"a":1,"b":[1.0,"X"]}`, `{"a":1,"b":["x",1.0]}`, `9007199254740993`, `9007199254740992`, `"1"`, `1`, `null`, `[]`, `{}`} {
		p := r.tryPublish(saying(other))[0]
		if p.Err != nil || p.Replay || seen[p.ID] {
			r.Errorf("%s: %+v, want a message of its own", other, p)
		}
		seen[p.ID] = true
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), int64(len(seen)))
}

func contentReused(r *rig) {
	r.queue("jobs", contentDedup)
	r.publish(saying(`{"n":1}`))
	late := saying(`{"n":1}`)
	late.Delay = time.Hour
	grouped := saying(`{"n":1}`)
	grouped.Group = "g"
	for _, p := range []queue.Publish{late, grouped} {
		out, err := r.Publish(r.ctx, p)
		if err == nil {
			err = out[0].Err
		}
		want(r, "refused", errors.Is(err, queue.ErrKeyReused), true)
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 1)
}

func contentKeyDecides(r *rig) {
	r.queue("jobs", contentDedup)
	keyed := saying(`{"n":1}`)
	keyed.Key = "k1"
	a := r.publish(saying(`{"n":1}`))[0]
	b := r.publish(keyed)[0]
	keyed.Key = "k2"
	c := r.publish(keyed)[0]
	if a == b || b == c || a == c {
		r.Errorf("messages %d, %d, %d: each has a key of its own", a, b, c)
	}
	for _, row := range r.text("SELECT key FROM publish_keys ORDER BY message_id LIMIT 1") {
		forged := saying(`{"forged":true}`)
		forged.Key = row
		if err := r.tryPublish(forged)[0].Err; fault.CodeOf(err) != fault.InvalidArgument {
			r.Errorf("a payload's key %q as an explicit one: %v", row, err)
		}
	}
}

func contentBatch(r *rig) {
	r.queue("jobs", contentDedup)
	out := r.tryPublish(saying(`1`), saying(`2`), saying(`1.0`), saying(`3`), saying(`2`))
	for i, first := range []int{0, 1, 0, 3, 1} {
		p := out[i]
		if p.Err != nil || p.ID != out[first].ID || p.Replay != (i != first) {
			r.Errorf("item %d: %+v", i, p)
		}
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 3)
}

func contentRemembered(r *rig) {
	r.queue("jobs", contentDedup, func(s *queue.Spec) { s.DedupWindow = new(time.Minute) })
	first := r.publish(saying(`{"n":1}`))[0]
	r.ack(r.one("jobs", time.Minute))
	want(r, "after its ack", r.tryPublish(saying(`{"n":1}`))[0].Replay, true)
	r.reopen()
	want(r, "after a restart", r.tryPublish(saying(`{"n":1}`))[0].ID, first)
	r.exec("UPDATE publish_keys SET expires_at = published_at")
	p := r.tryPublish(saying(`{"n":1}`))[0]
	want(r, "past the window", p.Err == nil && !p.Replay && p.ID != first, true)
}

func contentSetting(r *rig) {
	r.queue("jobs")
	r.publish(saying(`1`), saying(`1`))
	set := func(on bool) {
		_, err := r.UpdateQueue(r.ctx, queue.Spec{Project: 1, Name: "jobs", ContentDedup: &on})
		r.ok(err)
	}
	set(true)
	all := r.publish(saying(`1`), saying(`1`))
	want(r, "one message while it is on", all[0], all[1])
	set(false)
	more := r.publish(saying(`1`), saying(`1`))
	if more[0] == more[1] || slices.Contains(all, more[0]) {
		r.Errorf("messages %v after %v: it is off", more, all)
	}
	set(true)
	want(r, "and on again, in its window", r.publish(saying(`1`))[0], all[0])
}

func contentRace(r *rig) {
	r.queue("jobs", contentDedup)
	got := make(chan int64, 16)
	for range cap(got) {
		go func() {
			out, err := r.Publish(r.ctx, saying(`{"n":1}`))
			if err != nil || out[0].Err != nil {
				got <- 0
				return
			}
			got <- out[0].ID
		}()
	}
	first := <-got
	for range cap(got) - 1 {
		want(r, "message", <-got, first)
	}
	want(r, "messages", r.count("SELECT count(*) FROM messages"), 1)
}
