package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

// looker is what commands that only look have in common: they can look again.
type looker struct {
	remote
	Watch bool          `group:"watch" help:"Look again and again, until interrupted or until what is looked at is at rest."`
	Every time.Duration `group:"watch" default:"2s" help:"How often --watch looks."`
}

const leastEvery = 100 * time.Millisecond

// look runs once, or with --watch again and again until it says that nothing more will come. A terminal shows the newest look; else
// what has changed is printed below the last. A server that is away for a while is waited for.
func (l *looker) look(ctx context.Context, out output, once func(output) (rest bool, err error)) error {
	if !l.Watch {
		_, err := once(out)
		return err
	}
	if l.Every < leastEvery {
		return usage("--every is %v; it must be at least %v", l.Every, leastEvery)
	}
	last := ""
	for first := true; ; first = false {
		var page bytes.Buffer
		rest, err := once(output{&page, out.columns, out.rows})
		if ctx.Err() != nil {
			return nil
		}
		away := !first && fault.CodeOf(err) == fault.Unavailable
		if err != nil && !away {
			return err
		}
		switch {
		case away && out.columns == 0:
			fmt.Fprintf(os.Stderr, "onceward: %v; looking again\n", err)
		case away:
			draw(out, fmt.Sprintf("%sonceward: %v; looking again\n", last, err))
		case out.columns > 0:
			last = page.String()
			draw(out, last)
		case page.String() != last:
			if !first && !l.JSON {
				fmt.Fprintln(out)
			}
			last = page.String()
			fmt.Fprint(out, last)
		}
		if rest {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(l.Every):
		}
	}
}

// draw replaces what a terminal shows, without a flicker, by as much as it has room for.
func draw(out output, page string) {
	lines := strings.Split(strings.TrimRight(page, "\n"), "\n")
	if room := out.rows - 2; room > 0 && len(lines) > room {
		lines = append(lines[:room-1], fmt.Sprintf("… and %d lines more", len(lines)-room+1))
	}
	const home, restOfLine, restOfScreen = "\x1b[H", "\x1b[K", "\x1b[J"
	head := time.Now().UTC().Format(time.TimeOnly) + "Z, Ctrl-C ends"
	fmt.Fprint(out, home+head+restOfLine+"\n"+strings.Join(lines, restOfLine+"\n")+restOfLine+"\n"+restOfScreen)
}
