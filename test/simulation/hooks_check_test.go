package simulation

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"
)

// shownDelivery is a delivery as the server shows it.
type shownDelivery struct {
	ID       string `json:"delivery_id"`
	Endpoint string `json:"endpoint_id"`
	State    string
	Key      string    `json:"delivery_key"`
	Next     time.Time `json:"next_attempt_at"`
	Attempts []shownAttempt
}

type shownAttempt struct {
	Attempt  int
	Cause    string
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at"`
	Outcome  string
	Class    string
	Status   int `json:"status_code"`
	Error    string
	Next     time.Time `json:"next_attempt_at"`
}

func (d shownDelivery) ended() bool {
	return d.State != "pending" && d.State != "sending" && d.State != "retrying"
}

// lookDelivery holds all that the server shows of a delivery against what its receiver got.
func (w *world) lookDelivery(d *sentDelivery) (got shownDelivery) {
	if w.process == nil || d.id == "" {
		return got
	}
	got = w.delivery(d)
	h := d.host
	h.mu.Lock()
	posts := slices.Clone(h.posts[d.event])
	h.mu.Unlock()
	w.say("%s to %s is %s after %d attempts", d.event, h.name, got.State, len(got.Attempts))
	sum := sha256.Sum256([]byte(h.endpoint + ":" + d.event))
	if got.Key != hex.EncodeToString(sum[:]) {
		w.fail("%s to %s has the key %s", d.event, h.name, got.Key)
	}
	rows := map[int]shownAttempt{}
	for i, a := range got.Attempts {
		if _, twice := rows[a.Attempt]; twice || i > 0 && a.Attempt <= got.Attempts[i-1].Attempt {
			w.fail("%s to %s: attempt %d is shown out of order", d.event, h.name, a.Attempt)
		}
		rows[a.Attempt] = a
	}
	made := map[int]*post{}
	for _, p := range posts {
		if made[p.attempt] != nil {
			w.fail("%s got attempt %d of %s twice", h.name, p.attempt, d.event)
		}
		made[p.attempt] = p
		if a, ok := rows[p.attempt]; !ok && got.State != "sending" {
			w.fail("%s got attempt %d of %s, and there is no record of it", h.name, p.attempt, d.event)
		} else if ok {
			w.judge(d, a, p)
		}
		if p.key != got.Key {
			w.fail("%s got %s under the key %s; it has %s", h.name, d.event, p.key, got.Key)
		}
	}
	for n, a := range rows {
		if made[n] == nil && a.Outcome != "not_sent" {
			w.fail("attempt %d of %s is recorded as %s; %s did not get it", n, d.event, a.Outcome, h.name)
		}
	}
	w.ladder(d, got, made)
	return got
}

// disturbed reports whether a server went away between two moments.
func (w *world) disturbed(from, to time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(w.gaps, func(g gap) bool {
		return !g.from.Before(from) && !g.from.After(to) || g.from.Before(from) && g.to.After(from)
	})
}

// judge holds an attempt's record against what the receiver did: the table of docs/http-api.md.
func (w *world) judge(d *sentDelivery, a shownAttempt, p *post) {
	h := d.host
	if w.disturbed(p.at, p.at.Add(h.timeout+time.Second)) {
		return // a server that stops or dies knows less
	}
	outcome, class := "refused", "definite"
	switch p.did {
	case "ok", "204", "ok, then reset", "ok, drips":
		outcome, class = "delivered", ""
	case "hangs", "resets", "closes":
		outcome, class = "unknown", "ambiguous"
	case "500":
		if h.once {
			outcome, class = "unknown", "ambiguous"
		}
	case "410":
		class = "permanent"
	}
	if time.Second > h.timeout && a.Outcome == "unknown" {
		return
	}
	if a.Outcome != outcome || a.Class != class || a.Status != p.status {
		w.fail("%s does %q with attempt %d of %s: it is recorded as %s %s %d %s", h.name, p.did, p.attempt, d.event, a.Outcome, a.Class, a.Status, a.Error)
	}
}

// final reports whether an attempt is the last one by its answer.
func (h *host) final(a shownAttempt) bool {
	return a.Class == "permanent" || !h.retry4xx && (a.Status == 400 || a.Status == 404)
}

// ladder holds the attempts of a delivery, and how it ended, against its endpoint's ladder and policy.
func (w *world) ladder(d *sentDelivery, got shownDelivery, made map[int]*post) {
	h, tries, ambiguous, ever := d.host, 0, false, false
	for i, a := range got.Attempts {
		anew := i == 0 || a.Cause != "event" && a.Cause != "retry" || slices.Contains(d.anew, i)
		if anew {
			tries, ambiguous = 0, false
		} else {
			before := got.Attempts[i-1]
			if h.once && ambiguous {
				w.fail("%s is once, and %s is tried again after an outcome that nobody knows: %+v", h.name, d.event, got.Attempts)
			}
			if before.Outcome == "delivered" || h.final(before) {
				w.fail("%s to %s is tried again after %s: %+v", d.event, h.name, before.Outcome, got.Attempts)
			}
			if a.Started.Before(before.Next) && !a.Started.Before(w.back) {
				w.fail("attempt %d of %s to %s begins at %s, before its time, %s", a.Attempt, d.event, h.name, a.Started, before.Next)
			}
			w.punctual(d, before.Next, a)
		}
		tries++
		ambiguous = ambiguous || a.Class == "ambiguous"
		ever = ever || ambiguous
		if tries > len(h.ladder)+1 {
			w.fail("%s to %s has %d tries on a ladder of %d", d.event, h.name, tries, len(h.ladder))
			continue
		}
		if !a.Next.IsZero() && made[a.Attempt] != nil && !w.disturbed(a.Started, a.Finished) && tries <= len(h.ladder) {
			rung := h.ladder[tries-1]
			low, high, wait := rung*9/10, rung*11/10, a.Next.Sub(a.Finished)
			low, high = max(low, made[a.Attempt].after), max(high, made[a.Attempt].after+time.Second)
			if wait < low-time.Millisecond || wait > high+time.Millisecond {
				w.fail("%s to %s waits %v after try %d; its rung is %v, and it was asked to wait %v", d.event, h.name, wait, tries, rung, made[a.Attempt].after)
			}
		}
	}
	if len(got.Attempts) == 0 || d.said != "" {
		return
	}
	last := got.Attempts[len(got.Attempts)-1]
	switch got.State {
	case "delivered":
		if last.Outcome != "delivered" {
			w.fail("%s to %s is delivered, and was not: %+v", d.event, h.name, got.Attempts)
		}
	case "failed":
		if ambiguous || !h.final(last) && tries != len(h.ladder)+1 {
			w.fail("%s to %s is failed after %d tries on a ladder of %d: %+v", d.event, h.name, tries, len(h.ladder), got.Attempts)
		}
	case "stuck":
		if !ever {
			w.fail("%s to %s is stuck, and each of its outcomes is known: %+v", d.event, h.name, got.Attempts)
		}
	}
}

// punctual sees that an attempt began when it was due, if nothing kept it: no outage, no disabling, and a free slot.
func (w *world) punctual(d *sentDelivery, due time.Time, a shownAttempt) {
	h, late := d.host, due.Add(2*soon)
	if a.Started.Before(w.back) || a.Started.Before(late) || w.disturbed(due.Add(-time.Minute), a.Started) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.ContainsFunc(h.offs, func(g gap) bool { return g.from.Before(a.Started) && (g.to.IsZero() || g.to.After(due)) }) {
		return
	}
	busy := 0
	for _, posts := range h.posts {
		for _, p := range posts {
			if p.at.Before(late) && (p.over.IsZero() || p.over.After(due)) {
				busy++
			}
		}
	}
	if busy < h.most {
		w.fail("attempt %d of %s to %s begins %v after its time, with %d of %d slots taken", a.Attempt, d.event, h.name, a.Started.Sub(due), busy, h.most)
	}
}

// settleHosts has every endpoint enabled, and waits for the end of each delivery, over nights without a server.
func (w *world) settleHosts() {
	if w.failed() {
		return
	}
	for _, h := range w.hosts {
		w.toggle(h, false)
	}
	for _, e := range w.sent {
		if e.stored && !w.failed() {
			w.sendAgain(e, false) // whose answer was lost: it tells the ids
		}
	}
	w.wait(20 * time.Second)
	for range 1000 {
		waits, next := 0, time.Time{}
		for _, e := range w.sent {
			for _, h := range w.hosts {
				d := e.deliveries[h]
				if !e.stored || d.ended || w.failed() {
					continue
				}
				got := w.lookDelivery(d)
				if d.ended = got.ended(); d.ended {
					continue
				}
				if waits++; next.IsZero() || !got.Next.IsZero() && got.Next.Before(next) {
					next = got.Next
				}
			}
		}
		if waits == 0 || w.failed() {
			return
		}
		if d := next.Sub(w.now()); !next.IsZero() && d > time.Minute {
			w.stop()
			w.wait(d - 5*time.Second)
			w.up()
		}
		w.wait(20 * time.Second)
	}
	w.fail("deliveries do not come to an end")
}
