package bench

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

func statsReset(url string) {
	c, err := pgx.Connect(context.Background(), url)
	if err != nil { panic(err) }
	defer c.Close(context.Background())
	c.Exec(context.Background(), "create extension if not exists pg_stat_statements")
	c.Exec(context.Background(), "select pg_stat_statements_reset()")
}

func statsDump(url string) {
	if os.Getenv("PGSS") == "" { return }
	c, err := pgx.Connect(context.Background(), url)
	if err != nil { panic(err) }
	defer c.Close(context.Background())
	rows, _ := c.Query(context.Background(), "select toplevel, calls, plans, total_plan_time, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) from pg_stat_statements order by total_exec_time desc limit 22")
	for rows.Next() {
		var top bool; var calls, n int64; var ms float64; var q string
		rows.Scan(&top, &calls, &n, &ms, &q)
		fmt.Printf("%5v %7d %7d %9.1f  %s\n", top, calls, n, ms, strings.TrimSpace(q))
	}
}
