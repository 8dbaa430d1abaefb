package storetest

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"time"
)

//go:embed audit_claims_sqlite.sql
var auditClaimsSQLite string

//go:embed audit_claims_postgres.sql
var auditClaimsPostgres string

//go:embed audit_sqlite.sql
var auditSQLite string

//go:embed audit_postgres.sql
var auditPostgres string

// watch installs the triggers.
func (r *rig) watch() {
	r.Helper()
	claims, rest := auditClaimsPostgres, auditPostgres
	if r.b.Dialect == SQLite {
		claims, rest = auditClaimsSQLite, auditSQLite
	}
	text := strings.ReplaceAll(claims, " ON claims ", " ON "+r.claims+" ")
	if !r.b.ClaimsOnly {
		text += rest
	}
	if r.b.Dialect == SQLite {
		// SQL's own clock is cut to the millisecond.
		unit := int64(time.Second / r.b.Unit)
		text = strings.NewReplacer("{{unit}}", strconv.FormatInt(unit, 10),
			"{{now}}", fmt.Sprintf("(CAST(unixepoch('subsec') * 1000 AS INTEGER) + 2) * %d", unit/1000)).Replace(text)
	}
	r.exec(text)
}

// exec runs SQL beside the store.
func (r *rig) exec(query string) {
	r.Helper()
	if _, err := r.in.DB.ExecContext(r.ctx, query); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
}

// count gives the number that a query answers.
func (r *rig) count(query string) int64 {
	r.Helper()
	var n int64
	if err := r.in.DB.QueryRowContext(r.ctx, query).Scan(&n); err != nil {
		r.Fatalf("%s: %v", query, err)
	}
	return n
}

// text gives the rows that a query answers, each column as text.
func (r *rig) text(query string) (rows []string) {
	r.Helper()
	q, err := r.in.DB.QueryContext(r.ctx, query)
	r.ok(err)
	defer q.Close()
	names, err := q.Columns()
	r.ok(err)
	for q.Next() {
		cells, at := make([]any, len(names)), make([]any, len(names))
		for i := range cells {
			at[i] = &cells[i]
		}
		r.ok(q.Scan(at...))
		for i, c := range cells {
			if b, ok := c.([]byte); ok {
				cells[i] = string(b)
			}
		}
		rows = append(rows, strings.Trim(fmt.Sprint(cells...), "[]"))
	}
	r.ok(q.Err())
	return rows
}

// now is the database's clock.
func (r *rig) now() time.Time {
	r.Helper()
	if r.b.Dialect == SQLite {
		return time.Now() // one process owns the file, and its clock is the store's
	}
	var t time.Time
	r.ok(r.in.DB.QueryRowContext(r.ctx, "SELECT clock_timestamp()").Scan(&t))
	return t
}

// age moves a time of a row d into the past: what takes days in life.
func (r *rig) age(table, column, where string, d time.Duration) {
	r.Helper()
	by := fmt.Sprintf("%s - make_interval(secs => %f)", column, d.Seconds())
	if r.b.Dialect == SQLite {
		by = fmt.Sprintf("%s - %d", column, d/r.b.Unit)
	}
	r.exec(fmt.Sprintf("UPDATE %s SET %s = %s WHERE %s", table, column, by, where))
}
