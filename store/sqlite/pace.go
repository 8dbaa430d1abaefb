package sqlite

import (
	"slices"
	"sync"
	"time"
)

// pace holds a redrive to its rate: one at once, then rate a second, and never more than a second's worth at a time,
// however long nobody asked.
type pace struct {
	at     time.Time
	tokens float64
}

func (p *pace) allowed(now time.Time, rate float64, limit int) int {
	if rate <= 0 {
		return limit
	}
	if p.at.IsZero() {
		p.tokens = 1
	} else if now.After(p.at) {
		p.tokens = min(p.tokens+now.Sub(p.at).Seconds()*rate, max(1, rate))
	}
	p.at = now
	return min(limit, int(p.tokens+1e-9))
}

func (p *pace) spend(n int, rate float64) {
	if rate > 0 {
		p.tokens = max(0, p.tokens-float64(n))
	}
}

// next is how long it is to the next token.
func (p *pace) next(rate float64) time.Duration {
	if rate <= 0 || p.tokens >= 1 {
		return 0
	}
	return time.Duration((1 - p.tokens) / rate * 1e9)
}

// paces are those of running redrives. They are of this process: a restart begins them anew.
type paces struct {
	mu sync.Mutex
	m  map[int64]*pace
}

func (p *paces) of(id int64) *pace {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.m == nil {
		p.m = map[int64]*pace{}
	}
	if p.m[id] == nil {
		p.m[id] = &pace{}
	}
	return p.m[id]
}

// keep forgets all but those of ids.
func (p *paces) keep(ids []int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.m {
		if !slices.Contains(ids, id) {
			delete(p.m, id)
		}
	}
}
