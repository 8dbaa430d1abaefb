// Package group runs goroutines that live and end together: the first error stops all, softly at first, then hard.
package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Part is one goroutine of a group. Run works until ctx ends, which is the soft stop: it then takes nothing new,
// finishes or gives back what it holds, and returns. What it begins after that uses [Hard] as its context.
type Part struct {
	Name string
	Run  func(ctx context.Context) error
}

// Limits bound a stop. The zero value of a field is its default.
type Limits struct {
	Soft time.Duration // from the soft stop to the hard one (20 s)
	Hard time.Duration // from there until those still running are given up (1 s)
}

type hardKey struct{}

// Hard gives the context that ends at the hard stop of the group that made ctx. Outside a group it is ctx without its
// end.
func Hard(ctx context.Context) context.Context {
	if h, ok := ctx.Value(hardKey{}).(context.Context); ok {
		return h
	}
	return context.WithoutCancel(ctx)
}

// Run runs the parts until ctx ends or one of them fails, then stops all. It answers the first error, nil where the
// parts only ended with their context. A part that returns nil is finished; the others go on. Parts that outlive the hard
// stop are named in the error and left behind: the caller is expected to end the process.
func Run(ctx context.Context, l Limits, parts ...Part) error {
	if l.Soft <= 0 {
		l.Soft = 20 * time.Second
	}
	if l.Hard <= 0 {
		l.Hard = time.Second
	}
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	soft, stop := context.WithCancel(context.WithValue(ctx, hardKey{}, hard))
	defer stop()

	type end struct {
		part int
		err  error
	}
	ends := make(chan end, len(parts))
	running := make(map[int]bool, len(parts))
	for i, p := range parts {
		running[i] = true
		go func() { ends <- end{i, p.Run(soft)} }()
	}

	var first error
	stopping := soft.Done()
	var limit <-chan time.Time
	killed := false
	for len(running) > 0 {
		select {
		case e := <-ends:
			delete(running, e.part)
			if e.err != nil && first == nil && !errors.Is(e.err, context.Canceled) {
				first = fmt.Errorf("%s: %w", parts[e.part].Name, e.err)
			}
			if e.err != nil {
				stop()
			}
		case <-stopping:
			stopping = nil
			limit = time.After(l.Soft)
		case <-limit:
			if !killed {
				killed = true
				kill()
				limit = time.After(l.Hard)
				continue
			}
			var names []string
			for i := range running {
				names = append(names, parts[i].Name)
			}
			slices.Sort(names)
			return errors.Join(first, fmt.Errorf("still running %v after the stop: %s", l.Soft+l.Hard, strings.Join(names, ", ")))
		}
	}
	return first
}
