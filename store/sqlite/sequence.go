package sqlite

import (
	"fmt"
	"strings"
)

// A sequence gives the ids of a table. It is reserved in blocks in meta and never goes back, so that an id is never used
// twice, though the newest row was deleted or the transaction that took it was undone.
type sequence struct{ next, limit int64 }

// sequenceBlock is how many ids are reserved at a time, and so how many a restart may skip.
const sequenceBlock = 1024

// The names of the sequences; an endpoint takes its id from its group's.
const (
	seqProjects   = "seq_projects"
	seqKeys       = "seq_keys"
	seqQueues     = "seq_queues"
	seqGroups     = "seq_groups"
	seqMessages   = "seq_messages"
	seqClaims     = "seq_claims"
	seqNotes      = "seq_notes"
	seqEvents     = "seq_events"
	seqDeliveries = "seq_deliveries"
	seqAttempts   = "seq_attempts"
	seqRedrives   = "seq_redrives"

	seqSubscriptions = "seq_subscriptions"
)

func (db *DB) loadSequences() error {
	return db.writer.each("meta_sequences", func(r scanner) error {
		var name string
		var next int64
		if err := r.Scan(&name, &next); err != nil {
			return err
		}
		db.seqs[name] = &sequence{next, next}
		return nil
	})
}

// id takes the next id of a sequence.
func (t *tx) id(seq string) (int64, error) {
	s := t.db.seqs[seq]
	if s == nil {
		return 0, fmt.Errorf("the store has no sequence %s", strings.TrimPrefix(seq, "seq_"))
	}
	if s.next >= s.limit {
		if _, err := t.exec("meta_set", seq, s.next+sequenceBlock); err != nil {
			return 0, err
		}
		t.reserved = append(t.reserved, reservation{s, s.limit})
		s.limit = s.next + sequenceBlock
	}
	s.next++
	return s.next - 1, nil
}

// reservation remembers what a sequence had reserved before, should the transaction be undone.
type reservation struct {
	seq   *sequence
	limit int64
}

func (t *tx) unreserve(to int) {
	for i := len(t.reserved) - 1; i >= to; i-- {
		t.reserved[i].seq.limit = t.reserved[i].limit
	}
	t.reserved = t.reserved[:to]
}
