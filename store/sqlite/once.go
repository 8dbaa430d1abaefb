package sqlite

import (
	"context"
	"time"

	"github.com/onceward/onceward/idempotency"
)

// Once runs effect and keeps its answer under the request's key in one transaction. The one lane of writes makes a second
// call of the key wait for the first; effect holds up every other write, so it should do nothing but call the store.
func (db *DB) Once(ctx context.Context, r idempotency.Request, effect func(ctx context.Context) ([]byte, error)) (answer []byte, replay bool, err error) {
	err = db.write(ctx, "once", 1024, func(t *tx) error {
		answer, replay, err = t.answered(r)
		if err != nil || replay {
			return err
		}
		if answer, err = effect(t.context(ctx)); err != nil {
			return err
		}
		if answer == nil {
			answer = []byte{}
		}
		_, err = t.exec("request_key_insert", r.Project, r.Scope, r.Key, r.Hash, answer, nil, at(t.now.Add(idempotency.Window)))
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return answer, replay, nil
}

// answered looks for the answer of a request key that is in its window.
func (t *tx) answered(r idempotency.Request) (answer []byte, known bool, err error) {
	var hash []byte
	var event int64
	var until time.Time
	known, err = found(t.row("request_key", r.Project, r.Scope, r.Key).Scan(&hash, &answer, toInt(&event), toTime(&until)))
	switch {
	case err != nil || !known:
		return nil, false, err
	case !until.After(t.now):
		_, err = t.exec("request_key_delete", r.Project, r.Scope, r.Key)
		return nil, false, err
	}
	return answer, true, r.Again(hash)
}
