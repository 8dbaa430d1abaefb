// Package beat gives one rhythm to what a process does again and again: at rest it wakes up once for all of it, which is most of what a process at
// rest costs.
package beat

import (
	"sync"
	"time"

	"github.com/onceward/onceward/internal/jitter"
)

const moment = 50 * time.Millisecond // that who has the turn is waited for

// Beat is a rhythm.
type Beat struct {
	pace time.Duration
	turn chan struct{}

	mu   sync.Mutex
	next time.Time
}

// New makes one whose beats are pace apart, an eighth more or less, so that processes do not fall into step.
func New(pace time.Duration) *Beat { return &Beat{pace: pace, turn: make(chan struct{}, 1)} }

// Left is how long it is to the next beat, which the first to ask after one fixes. Who asks within half the pace before it, since what he does takes
// long, has a rest of his own.
func (b *Beat) Left() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, rest := time.Now(), b.pace*7/8+jitter.Below(b.pace/4)
	if !b.next.After(now) {
		b.next = now.Add(rest)
	}
	if left := b.next.Sub(now); left >= b.pace/2 {
		return left
	}
	return rest
}

// Turn waits while another has the turn, but no more than a moment, and calls do. So what a beat wakes up is done one after another, on fewer connections, unless it takes long.
func (b *Beat) Turn(do func()) {
	over := time.NewTimer(moment)
	defer over.Stop()
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-over.C:
	}
	do()
}
