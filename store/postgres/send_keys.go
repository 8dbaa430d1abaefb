package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/idempotency"
	"github.com/onceward/onceward/webhook"
)

var (
	sqlSendKeys      = stmt("send_keys")
	sqlSendKeysKnown = stmt("send_keys_known")
	sqlSendKeysEnd   = stmt("send_keys_end")
	sqlSendKeysFree  = stmt("send_keys_free")
)

// requestName is a request key's row.
type requestName struct {
	project    int64
	scope, key string
}

func nameOf(r *idempotency.Request) requestName { return requestName{r.Project, r.Scope, r.Key} }

// requestNames are rows of request keys, as statements take them.
type requestNames struct {
	projects     []int64
	scopes, keys []string
}

func (n *requestNames) add(r requestName) {
	n.projects, n.scopes, n.keys = append(n.projects, r.project), append(n.scopes, r.scope), append(n.keys, r.key)
}

// takeKeys takes the request keys, and answers the requests whose key is known. One that may be in somebody's own open transaction is held.
func (s *sending) takeKeys(ctx context.Context, tx *txn) error {
	var names requestNames
	var hashes [][]byte
	at := map[requestName]int{}
	for i, e := range s.items {
		if e.Request != nil {
			at[nameOf(e.Request)] = i
			names.add(nameOf(e.Request))
			hashes = append(hashes, e.Request.Hash)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, sqlSendKeys, names.projects, names.scopes, names.keys, hashes, idempotency.Window.Seconds(), s.waits)
	if err != nil {
		return err
	}
	var n requestName
	if _, err := pgx.ForEachRow(rows, []any{&n.project, &n.scope, &n.key}, func() error {
		s.keyed[at[n]] = true
		return nil
	}); err != nil {
		return err
	}
	var known requestNames
	for n, i := range at {
		if !s.keyed[i] {
			known.add(n)
		}
	}
	if len(known.keys) == 0 {
		return nil
	}
	return s.answerKeys(ctx, tx, known, at)
}

// answerKeys answers the requests whose keys are known.
func (s *sending) answerKeys(ctx context.Context, tx *txn, known requestNames, at map[requestName]int) error {
	rows, err := tx.Query(ctx, sqlSendKeysKnown, known.projects, known.scopes, known.keys)
	if err != nil {
		return err
	}
	var n requestName
	var hash []byte
	var event int64
	items := map[int64][]int{}
	var events []int64
	if _, err := pgx.ForEachRow(rows, []any{&n.project, &n.scope, &n.key, &hash, &event}, func() error {
		i := at[n]
		s.open[i] = false
		if event == 0 {
			hash = nil // another call's
		}
		if err := s.items[i].Request.Again(hash); err != nil {
			s.out[i].EventID, s.out[i].Err = s.items[i].EventID, err
			return nil
		}
		items[event], events = append(items[event], i), append(events, event)
		return nil
	}); err != nil {
		return err
	}
	for _, i := range at {
		switch {
		case s.keyed[i] || !s.open[i]:
		case s.waits == "":
			return errAgain // swept in this moment: free
		default:
			s.open[i], s.out[i] = false, webhook.Sent{EventID: s.items[i].EventID, Err: errHeld}
		}
	}
	if len(events) == 0 {
		return nil
	}
	if rows, err = tx.Query(ctx, sqlSendKnownID, events); err != nil {
		return err
	}
	found, err := scanKnown(rows)
	for _, k := range found {
		for _, i := range items[k.row] {
			s.out[i] = k.answer()
		}
	}
	return err
}

// queueKeys writes what the keys taken stand for; those of requests that are refused are free again.
func (s *sending) queueKeys(b *pgx.Batch) {
	var kept, free requestNames
	var events []int64
	for i, e := range s.items {
		switch {
		case !s.keyed[i]:
		case s.out[i].Err != nil:
			free.add(nameOf(e.Request))
		default:
			kept.add(nameOf(e.Request))
			events = append(events, s.rows[i])
		}
	}
	if len(events) > 0 {
		b.Queue(sqlSendKeysEnd, kept.projects, kept.scopes, kept.keys, events)
	}
	if len(free.keys) > 0 {
		b.Queue(sqlSendKeysFree, free.projects, free.scopes, free.keys)
	}
}
