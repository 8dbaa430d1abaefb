package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/onceward/onceward/idempotency"
)

// Once runs effect and keeps its answer under the request's key in one transaction. The one lane of writes makes a second
// call of the key wait for the first; effect holds up every other write, so it should do nothing but call the store. It runs again where the
// store has to look at much first: see lookAhead.
func (db *DB) Once(ctx context.Context, r idempotency.Request, effect func(ctx context.Context) ([]byte, error)) (answer []byte, replay bool, err error) {
	var a ahead
	answer, replay, err = db.once(ctx, r, &a, effect)
	if err != nil && a.look != nil {
		a.err = db.read(ctx, "look_ahead", func(t *tx) (err error) {
			a.found, err = a.look(t)
			return err
		})
		a.looked = true
		answer, replay, err = db.once(ctx, r, &a, effect)
	}
	return answer, replay, err
}

func (db *DB) once(ctx context.Context, r idempotency.Request, a *ahead, effect func(ctx context.Context) ([]byte, error)) (answer []byte, replay bool, err error) {
	err = db.write(ctx, "once", 1024, func(t *tx) error {
		answer, replay, err = t.answered(r)
		if err != nil || replay {
			return err
		}
		if answer, err = effect(context.WithValue(t.context(ctx), aheadKey{db}, a)); err != nil {
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

// ahead is what the effect of a Once has to know of much that is stored.
type ahead struct {
	look   func(*tx) (any, error)
	looked bool
	found  any
	err    error
}

type aheadKey struct{ db *DB }

var errLookAhead = errors.New("this has to be looked for beside the writer first")

// lookAhead gives what look finds beside the writer, ahead of a write that needs it. Within the effect of a Once the writer itself would
// look, and all that wants to write would wait for that: there lookAhead ends the effect, Once looks and runs it again, and what was found is
// given then. An effect may look once.
func lookAhead[T any](ctx context.Context, db *DB, op string, look func(*tx) (T, error)) (found T, err error) {
	a, _ := ctx.Value(aheadKey{db}).(*ahead)
	switch {
	case a == nil:
		err = db.read(ctx, op, func(t *tx) error {
			found, err = look(t)
			return err
		})
		return found, err
	case !a.looked:
		a.look = func(t *tx) (any, error) { return look(t) }
		return found, errLookAhead
	case a.err != nil:
		return found, a.err
	}
	return a.found.(T), nil
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
