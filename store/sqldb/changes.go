package sqldb

import (
	"context"
	"strings"

	"github.com/onceward/onceward/ledger"
)

// changes are what a transaction writes at its end.
type changes struct {
	claims map[int64]*ledger.Claim
	notes  []claimNote
	trim   []int64 // claims whose history is long
}

type claimNote struct {
	claim int64
	ledger.Note
}

// save has a claim written as it is at the end, and lines added to its history.
func (ch *changes) save(c *ledger.Claim, notes ...ledger.Note) {
	if ch.claims == nil {
		ch.claims = map[int64]*ledger.Claim{}
	}
	ch.claims[c.ID] = c
	for _, n := range notes {
		ch.note(c, n)
	}
}

func (ch *changes) note(c *ledger.Claim, n ledger.Note) {
	ch.notes = append(ch.notes, claimNote{c.ID, n})
}

// refused records a worker's word that changed nothing, and keeps the newest of such notes.
func (ch *changes) refused(c *ledger.Claim, a ledger.Applied, fence int64, word string) {
	ch.note(c, a.Refused(fence, word))
	ch.trim = append(ch.trim, c.ID)
}

// write writes the changes. Their time is the transaction's.
func (d *DB[T]) write(ctx context.Context, t *txn, ch *changes) error {
	if len(ch.claims) == 0 && len(ch.notes) == 0 {
		return nil
	}
	rows, notes := make([]row, 0, len(ch.claims)), make([]noteRow, len(ch.notes))
	for _, c := range ch.claims {
		rows = append(rows, rowOf(c))
	}
	for i, n := range ch.notes {
		notes[i] = noteRow{n.claim, t.now.UnixMicro(), n.What, n.Fence, clean(n.Who), clean(n.Detail)}
	}
	if d.sql.note == "" { // one statement for both
		if err := d.run(ctx, t, d.sql.save, text(rows), text(notes)); err != nil {
			return err
		}
	} else {
		if err := d.run(ctx, t, d.sql.save, text(rows)); err != nil {
			return err
		}
		if err := d.run(ctx, t, d.sql.note, text(notes)); err != nil {
			return err
		}
	}
	if len(ch.trim) > 0 {
		return d.run(ctx, t, d.sql.trim, text(ch.trim), keptNotes)
	}
	return nil
}

// run runs the statements of a file, each with the same parameters.
func (d *DB[T]) run(ctx context.Context, t *txn, file string, args ...any) error {
	_, err := d.count(ctx, t, file, args...)
	return err
}

// count is run, and answers how many rows the last statement changed.
func (d *DB[T]) count(ctx context.Context, t *txn, file string, args ...any) (n int64, err error) {
	for s := range strings.SplitSeq(file, ";\n") {
		if strings.TrimSpace(s) == "" {
			continue
		}
		if n, err = t.exec(ctx, s, args...); err != nil {
			return 0, err
		}
	}
	return n, nil
}
