package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// ground is a store of one run, seen from outside any server.
type ground interface {
	name() string
	// url names it to the server called server.
	url(server string) string
	// shared reports whether two servers may have it at once.
	shared() bool
	db() *sql.DB
	// hold keeps every server from recording an outcome until it is released.
	hold(ctx context.Context) (release func() error, err error)
	// lapse ends the lease of the message that is out for the first time, and that of its claim too if asked.
	lapse(ctx context.Context, claim bool) error
	drop(keep bool) error
}

// facts is what stands in the database.
type facts struct {
	Events, Deliveries, Claims, Done, Made, Messages, InFlight, Attempts, Delivered, Fenced, Early int

	Broken []string // transitions that must never be
}

const factsQuery = `SELECT
  (SELECT count(*) FROM events),
  (SELECT count(*) FROM deliveries),
  (SELECT count(*) FROM claims),
  (SELECT count(*) FROM claims WHERE state = 'done'),
  (SELECT count(*) FROM verify_made),
  (SELECT count(*) FROM messages),
  (SELECT CAST(coalesce(sum(in_flight), 0) AS bigint) FROM groups),
  (SELECT count(*) FROM attempts),
  (SELECT count(*) FROM attempts WHERE outcome = 'delivered'),
  (SELECT count(*) FROM claim_notes WHERE what = 'fenced'),
  (SELECT count(*) FROM verify_gone)`

func readFacts(ctx context.Context, g ground) (f facts, err error) {
	err = g.db().QueryRowContext(ctx, factsQuery).Scan(&f.Events, &f.Deliveries, &f.Claims, &f.Done, &f.Made, &f.Messages, &f.InFlight,
		&f.Attempts, &f.Delivered, &f.Fenced, &f.Early)
	if err == nil {
		f.Broken, err = column[string](ctx, g, "SELECT what FROM verify_broken LIMIT 5")
	}
	if err != nil {
		err = fmt.Errorf("read the database: %w", err)
	}
	return f, err
}

// column reads a query's only column.
func column[T any](ctx context.Context, g ground, query string) ([]T, error) {
	rows, err := g.db().QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []T
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// claimState gives the state of the run's one claim, and the process that holds or held it (0: none).
func claimState(ctx context.Context, g ground) (state string, pid int, err error) {
	var owner sql.NullString
	if err := g.db().QueryRowContext(ctx, "SELECT state, owner FROM claims").Scan(&state, &owner); err != nil {
		return "", 0, fmt.Errorf("read the claim: %w", err)
	}
	if parts := strings.Split(owner.String, "/"); len(parts) == 3 {
		pid, _ = strconv.Atoi(parts[1])
	}
	return state, pid, nil
}
