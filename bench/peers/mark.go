package main

import "fmt"

// term is a column of who did what.
type term struct {
	peer, what string
	column     func(figure) float64
}

// mark is what is aimed at: a figure, or its ratio to another's of the same round.
type mark struct {
	what            string
	of, per         term // per.peer is "" for a figure by itself
	atLeast, atMost float64
}

func marks() []mark {
	const pg, lite = "onceward-postgres", "onceward-sqlite"
	r := func(peer, what string) term { return term{peer, what, rate} }
	c := func(peer, what string) term { return term{peer, what, cpu} }
	none := term{}
	return []mark{
		{"publish on PostgreSQL, of River's Insert", r(pg, "enqueue"), r("river", "enqueue"), 3, 0},
		{"publish on PostgreSQL, of the bare insert", r(pg, "enqueue"), r("bare-insert", "enqueue"), 1, 0},
		{"publish on PostgreSQL, of RabbitMQ with confirms", r(pg, "enqueue"), r("rabbitmq", "enqueue"), 1, 0},
		{"publish on PostgreSQL, CPU-s for 10,000", c(pg, "enqueue"), none, 0, 2},
		{"publish on SQLite, of goqite's Send", r(lite, "enqueue"), r("goqite", "enqueue"), 4, 0},
		{"publish on SQLite, CPU-s for 10,000", c(lite, "enqueue"), none, 0, 2},
		{"the cycle in the process on PostgreSQL, of the bare statements", r(inProcess+"postgres", "cycle"), r(bares+"postgres", "cycle"), 0.8, 0},
		{"the cycle in the process on SQLite, of the bare statements", r(inProcess+"sqlite", "cycle"), r(bares+"sqlite", "cycle"), 0.5, 0},
		{"the cycle in the process on PostgreSQL, four at a time, of the bare statements", r(inProcess+"postgres-4", "cycle"), r(bares+"postgres-4", "cycle"), 0.8, 0},
		{"the cycle in the process on PostgreSQL, four at a time, of River's cycle", r(inProcess+"postgres-4", "cycle"), r("river", "cycle"), 2, 0},
		{"the cycle in the process on PostgreSQL, four at a time, of River's working alone, its inserts not counted", r(inProcess+"postgres-4", "cycle"), r("river", "work"), 2, 0},
		{"the cycle over HTTP on PostgreSQL, of that in the process", r(pg, "cycle"), r(inProcess+"postgres", "cycle"), 0.6, 0},
		{"deliveries on SQLite, of the bare loop", r(lite, "deliver"), r("bare-post", "deliver"), 0.45, 0},
		{"deliveries on PostgreSQL, of the bare loop", r(pg, "deliver"), r("bare-post", "deliver"), 0.35, 0},
		{"deliveries on SQLite, of the bare loop in a process of its own", r(lite, "deliver"), r("bare-post-apart", "deliver"), 0.45, 0},
		{"deliveries on PostgreSQL, of the bare loop in a process of its own", r(pg, "deliver"), r("bare-post-apart", "deliver"), 0.35, 0},
		{"deliveries on SQLite, CPU-s for 10,000", c(lite, "deliver"), none, 0, 3},
		{"deliveries on PostgreSQL, CPU-s for 10,000", c(pg, "deliver"), none, 0, 3},
		{"publish to start on PostgreSQL, p50, of RabbitMQ's", term{pg, "start", p50}, term{"rabbitmq", "start", p50}, 0, 1},
		{"publish to start on PostgreSQL, p99, of RabbitMQ's", term{pg, "start", p99}, term{"rabbitmq", "start", p99}, 0, 1},
		{"publish to start on PostgreSQL, p50, of River's", term{pg, "start", p50}, term{"river", "start", p50}, 0, 0.25},
		{"publish to start on PostgreSQL, p99, of River's", term{pg, "start", p99}, term{"river", "start", p99}, 0, 0.25},
		{"event to POST on PostgreSQL, p50, of publish to start", term{pg, "post", p50}, term{pg, "start", p50}, 0, 2},
		{"event to POST on PostgreSQL, p99, of publish to start", term{pg, "post", p99}, term{pg, "start", p99}, 0, 2},
		{"event to POST on SQLite, p50, of publish to start", term{lite, "post", p50}, term{lite, "start", p50}, 0, 2},
		{"event to POST on SQLite, p99, of publish to start", term{lite, "post", p99}, term{lite, "start", p99}, 0, 2},
	}
}

// judge gives what was seen of a mark, and whether its median holds.
func (r *results) judge(m mark) (seen spread, holds bool) {
	var v []float64
	below := r.by(m.per.peer, m.per.what)
	for round, f := range r.by(m.of.peer, m.of.what) {
		x := m.of.column(f)
		if m.per.peer != "" {
			g, ok := below[round]
			if !ok || m.per.column(g) == 0 {
				continue
			}
			x /= m.per.column(g)
		}
		v = append(v, x)
	}
	seen = spreadOf(v)
	return seen, seen.rounds > 0 && seen.median >= m.atLeast && (m.atMost == 0 || seen.median <= m.atMost)
}

// bound says a mark in words.
func (m mark) bound() string {
	if m.atMost > 0 {
		return fmt.Sprintf("≤ %.3g", m.atMost)
	}
	return fmt.Sprintf("≥ %.3g", m.atLeast)
}
