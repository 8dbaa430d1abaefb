package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress says on standard error that long work goes on: on a terminal in one line that is renewed, else in a line now and
// then, when there is something new to say.
type progress struct {
	w    io.Writer
	live bool
	say  func(took time.Duration, lines int) string

	mu    sync.Mutex
	from  time.Time
	lines int // that the work itself has printed
	last  string
	end   chan struct{}
	done  sync.WaitGroup
}

const (
	renewed = 200 * time.Millisecond
	nowThen = 10 * time.Second
)

// startProgress begins to say; stop ends it.
func startProgress(say func(took time.Duration, lines int) string) *progress {
	p := &progress{w: os.Stderr, live: term.IsTerminal(int(os.Stderr.Fd())), say: say, from: time.Now(), end: make(chan struct{})}
	every := nowThen
	if p.live {
		every = renewed
	}
	p.done.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-p.end:
				return
			case <-tick.C:
				p.mu.Lock()
				p.show()
				p.mu.Unlock()
			}
		}
	})
	return p
}

func (p *progress) show() {
	s := p.say(time.Since(p.from).Truncate(time.Second), p.lines)
	switch {
	case p.live:
		fmt.Fprintf(p.w, "\r%s\x1b[K", s)
	case s != p.last:
		fmt.Fprintln(p.w, s)
	}
	p.last = s
}

// Write prints lines of the work's own, above the one that is renewed.
func (p *progress) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.lines += bytes.Count(b, []byte("\n"))
	return p.w.Write(b)
}

func (p *progress) clear() {
	if p.live {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}

func (p *progress) stop() {
	close(p.end)
	p.done.Wait()
	p.clear()
}
