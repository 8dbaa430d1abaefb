package sqlite

import (
	"strings"

	"github.com/onceward/onceward/internal/failpoint"
)

// done names the jobs of a transaction for its fail points: those that changed something. A look that found nothing to do is no instant to die at.
// In programs without fail points it holds nothing.
type done struct {
	changes int64
	verbs   []string
}

func newDone(t *tx) done {
	d := done{verbs: []string{""}}
	if failpoint.On {
		t.row("SELECT total_changes()").Scan(&d.changes)
	}
	return d
}

func (d *done) add(t *tx, j *job) {
	if !failpoint.On {
		return
	}
	var n int64
	if t.row("SELECT total_changes()").Scan(&n) == nil && n != d.changes {
		verb, _, _ := strings.Cut(j.op, " ")
		d.changes, d.verbs = n, append(d.verbs, "job:"+verb)
	}
}
