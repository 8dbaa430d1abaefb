package webhook

import (
	"context"
	"encoding/json/jsontext"
	"slices"
	"time"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
)

// Tx is a transaction of the caller's own, on the PostgreSQL database that also holds the store. Its maker is the store's:
// postgres.Tx of a pgx.Tx, postgres.SQLTx of a *sql.Tx.
type Tx interface {
	// SendOne stores an event whose Check has passed and whose Hash is set, with its deliveries. It commits with the transaction. An error says
	// that the transaction has failed and is to be rolled back; what the event's own fault is stands in Sent.Err, and nothing was stored.
	SendOne(ctx context.Context, e NewEvent) (Sent, error)
}

// SendTx sends events inside the caller's own transaction: they are sent to whom they are for once it commits, and never were if it rolls back. The
// rules are those of an event over HTTP, in the same rows. An EventID that is empty is made; under one that is known the same content gets
// the first answer, other content EVENT_ID_REUSED. A Request with a Key, its Idempotency-Key, is looked at first, over HTTP or here: the same request gets the
// first answer, another IDEMPOTENCY_KEY_REUSED. A Project of 0 is queue.DefaultProject; Hash and the rest of Request are set here.
//
// The answers are in order. One with Err stored nothing, and the transaction can go on without it; an error of the call itself means that the transaction has failed.
//
// The transaction may stay open for long: deliveries of other events to the same endpoints go on meanwhile. Only who sends an
// event under an EventID or a key that it holds waits for it, in a transaction of its own; over HTTP such an event is answered 503 after a short wait.
func SendTx(ctx context.Context, tx Tx, events ...NewEvent) ([]Sent, error) {
	out := make([]Sent, len(events))
	for i, e := range events {
		if e.Project == 0 {
			e.Project = queue.DefaultProject
		}
		given := e.EventID
		if e.EventID == "" {
			e.EventID = ids.NewEventID(time.Now())
		}
		if e.Endpoints != nil {
			e.Endpoints = slices.Compact(slices.Sorted(slices.Values(e.Endpoints)))
		}
		err := e.Check()
		if err == nil {
			err = e.SetHash()
		}
		if err == nil && e.Request != nil {
			err = e.SetKey(e.Request.Key, given)
		}
		if err != nil {
			out[i] = Sent{EventID: e.EventID, Err: err}
			continue
		}
		if out[i], err = tx.SendOne(ctx, e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sendScope is the scope of the request keys of events, whichever way they come.
const sendScope = "POST /v1/webhooks/events"

// SetKey gives the event its request key. given is the EventID that the client gave, empty where it was made: what is made by chance is not part
// of the request. The event's hash must be set. The SQL functions of store/postgres make the same.
func (n *NewEvent) SetKey(key, given string) error {
	if err := queue.CheckKey("/idempotency_key", key); err != nil {
		return err
	}
	hash, err := canon.Hash(struct {
		Content []byte
		EventID string
	}{n.Hash, given})
	n.Request = &idempotency.Request{Project: n.Project, Scope: sendScope, Key: key, Hash: hash}
	return err
}

// SetHash sets the hash of the event's content: the same for two events that say the same, whatever their ids. Endpoints must be
// sorted, each once. The SQL functions of store/postgres make the same.
func (n *NewEvent) SetHash() (err error) {
	n.Hash, err = canon.Hash(struct {
		Type, Tenant, Subject string
		Endpoints             []int64
		Payload               jsontext.Value
	}{n.Type, n.Tenant, n.Subject, n.Endpoints, n.Payload})
	return err
}
