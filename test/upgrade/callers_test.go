package upgrade

import (
	"context"
	"os/exec"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// callers is what callers' own transactions left in PostgreSQL while no server ran: no sweep has looked at it.
type callers struct {
	Shared string // a message of a fair group
	Event  string
	Worked bool // the message that carried no key is settled under one
}

// writeCallers makes it, with the SQL functions of then.
func writeCallers(t *testing.T, program, store string, k *known) *callers {
	if out, err := exec.CommandContext(t.Context(), program, "migrate", "--store", store, "--functions").CombinedOutput(); err != nil {
		t.Logf("it does not know SQL functions: %v: %.200s", err, out)
		return nil
	}
	conn, err := pgx.Connect(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	said := func(sql string, args ...any) (answer string) {
		t.Helper()
		if err := conn.QueryRow(t.Context(), sql, args...).Scan(&answer); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		return answer
	}
	c := &callers{
		Shared: said(`SELECT onceward_publish('shared', '"by a caller"', message_group_id => 'g')`),
		Event:  said(`SELECT onceward_send('d', '"by a caller"')`),
	}
	if k.Steps != nil {
		k.Steps.Behind = append(k.Steps.Behind, said(`SELECT onceward_publish('steps', '"by a caller"', message_group_id => 'g')`))
	}
	if k.Work != nil {
		var verdict string
		err := conn.QueryRow(t.Context(), `SELECT verdict FROM onceward_claim('upgrade', 'by a caller', queue => 'work', receipt_handle => $1)`, k.Work.Idle["receipt_handle"]).Scan(&verdict)
		if c.Worked = err == nil && verdict == "granted"; c.Worked {
			said(`SELECT state FROM onceward_complete('upgrade', 'by a caller', 1, settle => true)`)
		} else {
			t.Logf("it does not know messages that carry a caller's key: %v", err)
		}
	}
	if k.Usage != nil {
		var messages, spent float64
		if err := conn.QueryRow(t.Context(), `SELECT (SELECT coalesce(sum(messages), 0) FROM usage_days WHERE project = 1) + (SELECT coalesce(sum(messages), 0) FROM usage_deltas WHERE project = 1),
			(SELECT spent FROM projects WHERE id = 1) + (SELECT coalesce(sum(cost), 0) FROM usage_deltas WHERE project = 1)`).Scan(&messages, &spent); err != nil {
			t.Fatal(err)
		}
		k.Usage.Messages, k.Usage.Spent = messages, spent/1e9
	}
	return c
}

func (l *callers) check(c *caller, w *work) {
	if l == nil {
		return
	}
	if m := c.receive("shared", 60); m["message_id"] != l.Shared {
		c.t.Errorf("of what a caller's transaction published came %v, want %s", m, l.Shared)
	}
	if !l.Worked {
		return
	}
	c.eventually("the message whose key a caller's transaction completed is acked", func() (object, bool) {
		left := c.list("/v1/queue/messages/work")
		return object{"left": left}, !slices.Contains(left, w.Idle["message_id"].(string))
	})
	if a := c.do("POST", "/v1/ledger/claim", word("by a caller", nil)); a["verdict"] != "done" {
		c.t.Errorf("the key that a caller's transaction completed: %v", a)
	}
}
