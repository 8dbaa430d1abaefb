package verify

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
)

// how is what follows when a server has stopped at its point.
type how string

const (
	restarted how = "restarted"  // killed; another is started on its store
	takenOver how = "taken over" // killed while another serves the same store
	woken     how = "woken"      // frozen beyond its leases, on PostgreSQL while another goes on, then woken
	outlived  how = "woken, the server killed meanwhile"
)

// cell is one of the matrix: a point, and what follows.
type cell struct {
	at   string // the point, as failpoint has it
	how  how
	only string // the store that has such a thing; empty: both
	work bool   // what stops is no server: another can take over from it on each store
	want string // in words
}

func (c *cell) on(store string) bool {
	return c == nil || (c.only == "" || c.only == store) && (c.how != takenOver || c.work || store == "postgres")
}

func (c *cell) expected(string) string {
	if c == nil {
		return ""
	}
	return c.want
}

// named gives a case of the matrix its name, which tells it from all others.
func named(c cell, play func(ctx context.Context, r *run, c *cell) error, parts ...string) kase {
	return kase{
		name: strings.Join(append(parts, string(c.how)), " · "), timeout: quick, cell: &c,
		play: func(ctx context.Context, r *run) error { return play(ctx, r, &c) },
	}
}

// armed starts the run's first server, which is to stop at a point, and the triggers.
func (r *run) armed(ctx context.Context, at string) (*server, error) {
	r.mark = filepath.Join(r.dir, "reached")
	s, err := r.start(ctx, failpoint.AtVariable+"="+at, failpoint.FileVariable+"="+r.mark)
	if err != nil {
		return nil, err
	}
	return s, watch(ctx, r.ground)
}

// reached waits until the armed server has come to its point.
func (r *run) reached(ctx context.Context) error {
	there, err := until(ctx, 20*time.Second, func() (bool, error) {
		_, err := os.Stat(r.mark)
		return err == nil, nil
	})
	if err == nil && !there {
		err = errors.New("the server did not come to its point within 20 s")
	}
	return err
}

// goOn does what follows: meanwhile is done with the server that goes on while the other is frozen, if there is one. It gives the server that serves in the end.
func (r *run) goOn(ctx context.Context, c *cell, s *server, meanwhile func(o *server) error) (*server, error) {
	switch c.how {
	case restarted:
		return r.killed(ctx, s)
	case takenOver:
		if _, err := r.start(ctx); err != nil {
			return nil, err
		}
		return r.killed(ctx, s)
	}
	defer thaw(s.Process)
	to := s
	if r.ground.shared() {
		o, err := r.start(ctx)
		if err == nil {
			to, err = o, meanwhile(o)
		}
		if err != nil {
			return nil, err
		}
	} else if err := pause(ctx, r.lease()+slack); err != nil {
		return nil, err
	}
	if err := thaw(s.Process); err != nil {
		return nil, fmt.Errorf("wake the server: %w", err)
	}
	return to, nil
}
