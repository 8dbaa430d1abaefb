package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
)

// ask makes one call and says its answer in a word: what word makes of it, or the code of its refusal.
func (v verb) ask(ctx context.Context, r *run, s *server) (string, error) {
	var d map[string]any
	replay, err := s.call(ctx, "POST", v.path, v.body(r), &d)
	if no, ok := errors.AsType[*refusal](err); ok {
		return no.Code, nil
	}
	if err != nil {
		return "", err
	}
	return v.word(d, replay), nil
}

const unavailable = "UNAVAILABLE" // said of what may or may not have happened: to be asked again

// callCells stop a server in each call that changes something. The client asks again: before the commit nothing had happened, after it the first answer comes
// again, or what the contract says to who asks twice.
func callCells(h how) (all []kase) {
	for _, v := range verbs {
		for _, p := range []struct{ point, at string }{
			{"before the commit", failpoint.BeforeCommit + ": " + v.commit},
			{"after the commit", failpoint.AfterCommit + ": " + v.commit},
			{"before the answer", failpoint.BeforeAnswer + ": " + cmp.Or(v.route, v.path)},
		} {
			c := cell{at: p.at, how: h, want: "asked again: " + v.again}
			before := p.point == "before the commit"
			if before && h != woken {
				c.want = "asked again: " + v.fresh
			}
			if before && h == woken {
				c.want = fmt.Sprintf("one is told %s, the other %s", v.fresh, v.again)
			}
			all = append(all, named(c, func(ctx context.Context, r *run, c *cell) error { return playCall(ctx, r, c, v, before) }, v.name, p.point))
		}
	}
	return all
}

// playCall stops a server in one call, and asks again: the server that goes on; if the first one is woken, while it is still frozen (on SQLite, where there is
// no other, after it).
func playCall(ctx context.Context, r *run, c *cell, v verb, before bool) error {
	s, err := r.armed(ctx, c.at)
	if err != nil {
		return err
	}
	r.receive(nil, 0)
	if err := v.before(ctx, r, s); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	type told struct {
		word string
		err  error
	}
	first, second := make(chan told, 1), make(chan told, 1)
	ask := func(s *server, to chan told) {
		w, err := v.ask(ctx, r, s)
		to <- told{w, err}
	}
	go ask(s, first)
	if err := r.reached(ctx); err != nil {
		return err
	}
	to, err := r.goOn(ctx, c, s, func(o *server) error {
		go ask(o, second)
		select { // it may wait for what the frozen server has locked
		case b := <-second:
			second <- b
		case <-time.After(7 * time.Second):
		}
		return nil
	})
	if err != nil {
		return err
	}
	a := <-first
	if len(second) == 0 && to == s || c.how != woken {
		go ask(to, second)
	}
	b := <-second
	if b.err != nil {
		return fmt.Errorf("asked again: %w", b.err)
	}
	j := r.verdict
	j.seen = "asked again: " + b.word
	switch {
	case c.how != woken:
		if a.err == nil {
			j.note(&j.doubled, "a server that was killed before its answer answered %q", a.word)
		}
		if want := map[bool]string{true: v.fresh, false: v.again}[before]; b.word != want {
			j.note(&j.doubled, "who asked again was told %q; expected %q", b.word, want)
		}
	case a.err != nil:
		return fmt.Errorf("the first caller: %w", a.err)
	default:
		j.seen = fmt.Sprintf("told %s, asked again: %s", a.word, b.word)
		pairs := [][2]string{{v.fresh, v.again}}
		if before { // the second may have been the first to commit, and the first one's transaction been ended meanwhile
			pairs = append(pairs, [2]string{v.again, v.fresh}, [2]string{unavailable, v.fresh})
		}
		if !slices.Contains(pairs, [2]string{a.word, b.word}) {
			j.note(&j.doubled, "%s; expected one of %v", j.seen, pairs)
		}
	}
	if v.rest != nil {
		if err := v.rest(ctx, r, to); err != nil {
			return fmt.Errorf("bring it to rest: %w", err)
		}
	}
	return r.counted(ctx, v.counts)
}

// counted waits until what each query counts is as it must be, stops the servers, and counts once more: it must be so at one time, and stay so. Then it looks at what
// the triggers saw.
func (r *run) counted(ctx context.Context, counts map[string]int) error {
	for _, query := range sortedKeys(counts) {
		if _, err := until(ctx, 15*time.Second, func() (bool, error) {
			n, err := r.countOf(ctx, query)
			return n == counts[query], err
		}); err != nil {
			return err
		}
	}
	if err := r.stopAll(ctx); err != nil {
		return err
	}
	v := r.verdict
	for _, query := range sortedKeys(counts) {
		n, err := r.countOf(ctx, query)
		if err != nil {
			return err
		}
		switch want := counts[query]; {
		case n < want:
			v.note(&v.lost, "%s: %d; expected %d", query, n, want)
		case n > want:
			v.note(&v.doubled, "%s: %d; expected %d", query, n, want)
		}
	}
	f, err := readFacts(ctx, r.ground)
	if err != nil {
		return err
	}
	r.judgeHistory(f, f.Made)
	return nil
}
