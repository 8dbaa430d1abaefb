package postgres

import (
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/webhook"
)

var (
	sqlSendNamed       = stmt("send_named")
	sqlSendSubscribers = stmt("send_subscribers")
)

// tenantName is a tenant of a project; the empty name is that of events and endpoints without one.
type tenantName struct {
	project int64
	name    string
}

// endpoints are those that a transaction's events may be for.
type endpoints struct {
	named       map[int64]tenantName
	subscribers map[tenantName][]webhook.Endpoint // id and event types alone
}

// queueEndpoints asks for the endpoints that the open events name, and for those of their tenants that want their types.
func (s *sending) queueEndpoints(b *pgx.Batch) *endpoints {
	found := &endpoints{map[int64]tenantName{}, map[tenantName][]webhook.Endpoint{}}
	var ids, projects []int64
	var tenants []*string
	var patterns []string
	seen := map[tenantName]bool{}
	types := map[string]bool{}
	for i, e := range s.items {
		if !s.open[i] {
			continue
		}
		if e.Endpoints != nil {
			ids = append(ids, e.Endpoints...)
			continue
		}
		if t := (tenantName{e.Project, e.Tenant}); !seen[t] {
			seen[t] = true
			projects, tenants = append(projects, e.Project), append(tenants, orNil(e.Tenant))
		}
		if !types[e.Type] {
			types[e.Type] = true
			patterns = append(patterns, typePatterns(e.Type)...)
		}
	}
	if len(ids) > 0 {
		b.Queue(sqlSendNamed, ids).Query(func(rows pgx.Rows) error {
			var id int64
			var t tenantName
			_, err := pgx.ForEachRow(rows, []any{&id, &t.project, &t.name}, func() error {
				found.named[id] = t
				return nil
			})
			return err
		})
	}
	if len(projects) > 0 {
		b.Queue(sqlSendSubscribers, projects, tenants, patterns).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var e webhook.Endpoint
				var t tenantName
				if err := rows.Scan(&e.ID, &t.project, &t.name, &e.EventTypes); err != nil {
					return err
				}
				found.subscribers[t] = append(found.subscribers[t], e)
			}
			return rows.Err()
		})
	}
	return found
}

// address says which endpoints each new event goes to. One that names an endpoint it cannot go to is refused.
func (s *sending) address(found endpoints) {
	for i, e := range s.items {
		if !s.open[i] {
			continue
		}
		var to []int64
		if e.Endpoints == nil {
			for _, p := range found.subscribers[tenantName{e.Project, e.Tenant}] {
				if p.Subscribes(e.Type) {
					to = append(to, p.ID)
				}
			}
		} else if err := found.refuse(e); err != nil {
			s.out[i] = webhook.Sent{EventID: e.EventID, Err: err}
			s.open[i] = false
			continue
		} else {
			to = slices.Clone(e.Endpoints)
		}
		slices.Sort(to)
		for _, id := range slices.Compact(to) {
			f := &s.fanout
			f.events, f.endpoints = append(f.events, s.rows[i]), append(f.endpoints, id)
			f.hashes = append(f.hashes, sendHash(e.Project, id, e.EventID, 1))
		}
	}
}

// refuse gives the reason why an event cannot go to the endpoints it names.
func (f endpoints) refuse(e *webhook.NewEvent) error {
	for n, id := range e.Endpoints {
		switch t, ok := f.named[id]; {
		case !ok || t.project != e.Project:
			return webhook.NotForThese(n, false)
		case t.name != e.Tenant:
			return webhook.NotForThese(n, true)
		}
	}
	return nil
}
