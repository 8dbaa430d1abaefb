package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/onceward/onceward/ledger"
)

// jetStreamMessage is what of a message of NATS JetStream a consumer needs.
type jetStreamMessage struct {
	id  string // Nats-Msg-Id
	seq int
}

func (m jetStreamMessage) Ack() error { fmt.Println(m.seq, "acked"); return nil }

func (m jetStreamMessage) NakWithDelay(d time.Duration) error {
	fmt.Println(m.seq, "again in", d.Round(time.Second))
	return nil
}

func (m jetStreamMessage) TermWithReason(reason string) error {
	fmt.Println(m.seq, "terminated:", reason)
	return nil
}

func (m jetStreamMessage) InProgress() error { return nil }

// A consumer of JetStream whose effect is in its own database: claim, effect and done are one transaction, so it happens exactly once.
func ExampleTx_jetStream() {
	ctx, l, db, end := exampleDatabase("stock")
	defer end()
	stream := []jetStreamMessage{{"sold-1", 1}, {"sold-1", 2}, {"sold-2", 3}, {"sold-3", 4}}

	book := func(ctx context.Context, tx *sql.Tx, t ledger.Try) ([]byte, error) {
		if _, err := tx.ExecContext(ctx, "UPDATE stock SET n = n - 1"); err != nil {
			return nil, err
		}
		switch t.Key {
		case "sold-2":
			return nil, fmt.Errorf("the till is locked") // undone, tried again
		case "sold-3":
			return nil, ledger.Refused(fmt.Errorf("no such article")) // undone, never tried again
		}
		return nil, nil
	}
	for _, m := range stream {
		o, _ := ledger.Tx(ctx, l, ledger.Work{Key: m.id, Extend: func(context.Context, time.Duration) error { return m.InProgress() }}, book)
		switch d := o.Disposition(); d.Action {
		case ledger.Ack:
			m.Ack()
		case ledger.Release:
			m.NakWithDelay(d.Wait)
		case ledger.DeadLetter:
			m.TermWithReason(d.Reason)
		case ledger.Leave: // its AckWait ends by itself
		}
	}
	var left int
	db.QueryRow("SELECT n FROM stock").Scan(&left)
	fmt.Println("left of 10:", left)
	// Output:
	// 1 acked
	// 2 acked
	// 3 again in 1s
	// 4 terminated: key "sold-3" of scope "stock": it failed, and is not tried again: no such article
	// left of 10: 9
}
