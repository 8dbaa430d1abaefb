package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onceward/onceward/ledger"
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
		if !strings.Contains("take attempt claim credit delivery endpoint event fifo group publish receive redrive usage", area) || strings.Contains(statements[name], "\nVALUES") {
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
				if strings.HasPrefix(detail, "SCAN") && !strings.Contains(detail, "USING") && !strings.Contains(detail, "VIRTUAL TABLE") && !strings.HasPrefix(detail, "SCAN (") {
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

// What is done for each delivery builds no table in memory: that costs more than the row itself.
func TestStatementsOfEachDeliveryBuildNoTables(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, name := range []string{
		"event_known", "endpoint_subscribers", "event_insert", "message_insert", "claim_insert", "delivery_insert", "group_wake",
		"take_messages", "take_deliveries", "claim_save", "message_lease", "group_visited", "group_head",
		"attempt_insert", "message_delete", "group_slots",
	} {
		args := make([]any, strings.Count(statements[name], "?"))
		r.ok(r.read(t.Context(), "explain", func(t *tx) error {
			return t.eachText("EXPLAIN "+statements[name], func(s scanner) error {
				var opcode string
				var other any
				err := s.Scan(&other, &opcode, &other, &other, &other, &other, &other, &other)
				if opcode == "OpenEphemeral" {
					r.Errorf("%s builds a table", name)
				}
				return err
			}, args...)
		}))
	}
}

// That the checks were put in other words let nothing through.
func TestChecksHold(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.endpoint()
	r.send("evt1")
	r.settle(ledger.Definite, r.take(1)...)
	for _, change := range []string{
		"UPDATE claims SET state = 'x', next_at = NULL", "UPDATE claims SET state = NULL", "UPDATE attempts SET cause = 'x'", "UPDATE attempts SET outcome = 'x'",
	} {
		err := r.write(t.Context(), "change", 0, func(t *tx) error {
			_, err := t.exec(change)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "constraint") && !strings.Contains(err.Error(), "CHECK") {
			t.Errorf("%s: %v", change, err)
		}
	}
	r.want("claims and attempts as they were", r.count("SELECT (SELECT count(*) FROM claims WHERE state = 'retry') + (SELECT count(*) FROM attempts WHERE cause = 'event')"), 2)
}
