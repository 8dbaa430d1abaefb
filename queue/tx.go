package queue

import (
	"context"
	"encoding/json/jsontext"

	"github.com/onceward/onceward/internal/fault"
)

// DefaultProject is the project that every store has: that of its first key.
const DefaultProject = 1

// Tx is a transaction of the caller's own, on the PostgreSQL database that also holds the store. Its maker is the store's:
// postgres.Tx of a pgx.Tx, postgres.SQLTx of a *sql.Tx.
type Tx interface {
	// PublishOne stores a message whose Check has passed and whose Hash is set if it has a Key. It commits with the transaction. An error says
	// that the transaction has failed and is to be rolled back; what the item's own fault is stands in Published.Err, and nothing was stored.
	PublishOne(ctx context.Context, p Publish) (Published, error)
}

// PublishTx publishes inside the caller's own transaction: the messages are there when it commits, and never were when it rolls back. The rules
// are those of a publish over HTTP, in the same rows: limits, defaults, keys, and who sends one of these keys again, here or over HTTP, gets the first message's
// answer. A Project of 0 is [DefaultProject]; Hash is set here, whatever it holds.
//
// The answers are in order. One with Err stored nothing, and the transaction can go on without it; an error of the call itself means that the transaction has failed.
//
// The transaction may stay open for long: other publishes and receives of the queue and of the group go on meanwhile. Only who publishes under a
// key that it holds waits for it, in a transaction of its own; over HTTP such a publish is answered 503 after a short wait. A message is timed from the transaction's
// begin, and comes to a consumer that waits within a second of its commit. It is charged with the commit, at the price of the server that started last; Price is not looked at.
func PublishTx(ctx context.Context, tx Tx, items ...Publish) ([]Published, error) {
	out := make([]Published, len(items))
	for i, p := range items {
		if p.Project == 0 {
			p.Project = DefaultProject
		}
		if out[i].Err = p.prepare(); out[i].Err != nil {
			continue
		}
		var err error
		if out[i], err = tx.PublishOne(ctx, p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// prepare checks what HTTP checks while it reads a request, and sets the hash.
func (p *Publish) prepare() error {
	switch {
	case len(p.Body) == 0:
		return fault.Invalid("/payload", "payload is required: any JSON")
	case !jsontext.Value(p.Body).IsValid():
		return fault.Invalid("/payload", "payload is not JSON in UTF-8 with each name once")
	}
	if err := p.Check(); err != nil {
		return err
	}
	if p.Key == "" {
		p.Hash = nil
		return nil
	}
	if err := CheckKey("/idempotency_key", p.Key); err != nil {
		return err
	}
	return p.SetKey(p.Key)
}
