package postgres

import (
	"context"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
)

var (
	groupQueuesSQL = stmt("group_queues")
	groupEnsureSQL = stmt("group_ensure")
	groupFindSQL   = stmt("group_find")
)

// groupName names a fair group.
type groupName struct {
	project      int64
	queue, group string
}

// groupCache remembers the ids of groups. It may be wrong about one that was swept or whose queue was made anew: the
// statement that uses it finds out.
type groupCache struct {
	mu  sync.Mutex
	ids map[groupName]int64
}

const groupCacheMax = 100_000

func (c *groupCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = nil
}

func (c *groupCache) get(n groupName) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids[n]
}

func (c *groupCache) put(n groupName, id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids) >= groupCacheMax {
		c.ids = map[groupName]int64{}
	}
	c.ids[n] = id
}

// groupsOf gives the ids of the items' groups: 0 for the ungrouped, -1, which is no group, for a queue that is not there.
func (db *DB) groupsOf(ctx context.Context, items []queue.Publish, todo []int) ([]int64, error) {
	out := make([]int64, len(todo))
	var names []groupName
	var at []int
	for n, i := range todo {
		if p := &items[i]; p.Group != "" {
			names, at = append(names, groupName{p.Project, p.Queue, p.Group}), append(at, n)
		}
	}
	ids, err := db.groupsNamed(ctx, names)
	for i, n := range at {
		out[n] = ids[i]
	}
	return out, err
}

// groupsNamed gives the ids of groups, -1 for one of a queue that is not there. Those that are missing are made, in a transaction of their own: it holds no
// key and no message, so it can be in nobody's way.
func (db *DB) groupsNamed(ctx context.Context, wanted []groupName) ([]int64, error) {
	out := make([]int64, len(wanted))
	missing := map[groupName][]int{}
	for i, name := range wanted {
		if out[i] = db.groupIDs.get(name); out[i] == 0 {
			out[i] = -1
			missing[name] = append(missing[name], i)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	names := make([]groupName, 0, len(missing))
	for n := range missing {
		names = append(names, n)
	}
	projects := column(names, func(n groupName) int64 { return n.project })
	queues := column(names, func(n groupName) string { return n.queue })
	groups := column(names, func(n groupName) string { return n.group })
	b := &pgx.Batch{}
	b.Queue(groupQueuesSQL, projects, queues)
	b.Queue(groupEnsureSQL, projects, queues, groups)
	b.Queue(groupFindSQL, projects, queues, groups).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var n int
			var id int64
			if err := rows.Scan(&n, &id); err != nil {
				return err
			}
			name := names[n-1]
			db.groupIDs.put(name, id)
			for _, i := range missing[name] {
				out[i] = id
			}
		}
		return rows.Err()
	})
	return out, db.conn(ctx).SendBatch(ctx, b).Close()
}
