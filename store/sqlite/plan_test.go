package sqlite

import (
	"fmt"
	"strings"
	"testing"
)

// Statements that run all the time read by an index, never a whole table.
func TestDeliveryStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	args := make([]any, 32)
	for i := range args {
		args[i] = 1
	}
	for name := range statements {
		area, _, _ := strings.Cut(name, "_")
		if !strings.Contains("take attempt claim delivery endpoint event redrive", area) || strings.Contains(statements[name], "\nVALUES") {
			continue
		}
		r.ok(r.read(t.Context(), "explain", func(t *tx) error {
			n := 1
			for strings.Contains(statements[name], "?"+fmt.Sprint(n)) {
				n++
			}
			if n--; n == 0 {
				n = strings.Count(statements[name], "?")
			}
			return t.eachText("EXPLAIN QUERY PLAN "+statements[name], func(s scanner) error {
				var id, parent, x int
				var detail string
				err := s.Scan(&id, &parent, &x, &detail)
				if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING") && !strings.HasPrefix(detail, "SCAN (") {
					for _, small := range []string{"SCAN r", "SCAN p", "SCAN d", "SCAN e", "SCAN redrive_parts", "SCAN CONSTANT ROW"} {
						if detail == small {
							return err
						}
					}
					r.Errorf("%s: %s", name, detail)
				}
				return err
			}, args[:n]...)
		}))
	}
}
