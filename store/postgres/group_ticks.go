package postgres

import (
	"sync"
	"time"
)

// groupTicks remembers when this process last changed a group. A look-up of its row begins there, and so passes over none of the versions that are older: see
// migrations/0007_group_tick.sql. What is remembered was committed, and a row's tick only grows: of one database. With a new connection, which may be to another, it is forgotten.
type groupTicks struct {
	mu sync.Mutex
	at map[int64]int64
}

// changed takes in that groups were changed by a transaction of this time, which is committed.
func (g *groupTicks) changed(at time.Time, ids ...int64) {
	tick := at.UnixMilli()/100 - 1 // never above the row's, however it is rounded
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.at == nil || len(g.at) > groupCacheMax {
		g.at = map[int64]int64{}
	}
	for _, id := range ids {
		g.at[id] = max(g.at[id], tick)
	}
}

// forget begins anew.
func (g *groupTicks) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = nil
}

// of gives a tick since which each of the groups is there, 0 where nothing is known.
func (g *groupTicks) of(ids []int64) []int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return column(ids, func(id int64) int64 { return g.at[id] })
}
