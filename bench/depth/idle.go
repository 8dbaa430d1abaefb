package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/cost"
)

// idle looks at a server that nobody calls, and at how soon it is ready.
func (r *run) idle(ctx context.Context, kind string) (err error) {
	g, err := r.newGround(ctx, kind)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.leave(ctx)) }()
	var starts []float64
	for range 5 {
		s, took, err := r.start(ctx, g)
		if err != nil {
			return err
		}
		starts = append(starts, took)
		if err := s.stop(ctx); err != nil {
			return err
		}
	}
	s, _, err := r.start(ctx, g)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	span := r.stretch(30 * time.Second)
	select { // what a start leaves behind is no part of it: connections that nobody uses are closed in two minutes
	case <-time.After(5 * span):
	case <-ctx.Done():
		return ctx.Err()
	}
	was, err := cost.Tree(s.Process.Pid)
	if err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-time.After(span):
	case <-ctx.Done():
		return ctx.Err()
	}
	now, err := cost.Tree(s.Process.Pid)
	if err != nil {
		return err
	}
	memory, err := resident(s.Process.Pid)
	if err != nil {
		return err
	}
	program, err := os.Stat(r.program)
	if err != nil {
		return err
	}
	r.tell(figure{What: "start to ready on a migrated store", Unit: "ms", Value: median(starts)}.within(300))
	r.tell(figure{What: "memory of a server at rest", Unit: "MiB", Value: memory}.within(40))
	r.tell(figure{What: "a server at rest", Unit: "percent of a core", Value: 100 * (now - was).Seconds() / time.Since(began).Seconds()}.within(0.5))
	if g.conn != nil {
		var n int
		if err := g.conn.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&n); err != nil {
			return err
		}
		r.tell(figure{What: "connections of a server at rest", Unit: "connections", Value: float64(n)}.within(4))
	}
	r.tell(figure{What: "the program", Unit: "MiB", Value: float64(program.Size()) / (1 << 20)}.within(30))
	return nil
}

// start starts a server and waits until it is ready, in milliseconds.
func (r *run) start(ctx context.Context, g *ground) (*served, float64, error) {
	if _, err := r.build(ctx); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	s, err := r.serve(ctx, g)
	if err != nil {
		return nil, 0, err
	}
	for {
		a, err := http.Get(s.URL + "/readyz")
		if err != nil {
			return nil, 0, errors.Join(err, s.stop(ctx))
		}
		a.Body.Close()
		if a.StatusCode == http.StatusOK {
			return s, float64(time.Since(began).Microseconds()) / 1000, nil
		}
		if time.Since(began) > time.Minute {
			return nil, 0, errors.Join(fmt.Errorf("not ready within a minute: %d", a.StatusCode), s.stop(ctx))
		}
	}
}

// resident is the memory that a process has, in MiB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	kib, err := strconv.ParseFloat(number, 64)
	return kib / 1024, err
}
