package postgres

import (
	"embed"
	"math"
	"regexp"
	"strings"
	"time"
)

//go:embed sql/*.sql
var statements embed.FS

// stmt gives the statement of sql/name.sql.
func stmt(name string) string {
	b, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return string(b)
}

// variant gives a statement with the lines that begin with --in, and without those that end with --out.
func variant(sql, in, out string) string {
	sql = strings.ReplaceAll(sql, "\n--"+in+" ", "\n    ")
	return regexp.MustCompile(`(?m)^.* --`+out+`\n`).ReplaceAllString(sql, "")
}

// Statements take and give the zero value where a column is NULL: 0, '' and the year 1, which is Go's zero time. They
// say so with coalesce on the way out and nullif on the way in.

// seconds gives d as the schema keeps it.
func seconds(d time.Duration) float64 { return d.Seconds() }

// duration reads what seconds wrote.
func duration(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }
