package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/idempotency"
)

var (
	onceTakeSQL   = stmt("once_take")
	onceKnownSQL  = stmt("once_known")
	onceAnswerSQL = stmt("once_answer")
)

// Once runs effect and keeps its answer under the request's key in one transaction, which effect's context carries. The unique
// constraint is what a second call of the key waits at. effect may be run again where the transaction is, after a deadlock.
func (db *DB) Once(ctx context.Context, r idempotency.Request, effect func(ctx context.Context) ([]byte, error)) (answer []byte, replay bool, err error) {
	defer db.observe("once", 1, time.Now())
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		answer, replay = nil, false
		var taken bool
		err := tx.QueryRow(ctx, onceTakeSQL, r.Project, r.Scope, r.Key, r.Hash, seconds(idempotency.Window)).Scan(&taken)
		if errors.Is(err, pgx.ErrNoRows) {
			replay = true
			answer, err = tx.firstAnswer(ctx, r)
			return err
		}
		if err != nil {
			return err
		}
		if answer, err = effect(ctx); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, onceAnswerSQL, r.Project, r.Scope, r.Key, bodyOf(answer))
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return answer, replay, nil
}

// firstAnswer gives what was answered under a key that somebody has; errAgain if it has gone since.
func (tx *txn) firstAnswer(ctx context.Context, r idempotency.Request) (answer []byte, err error) {
	var hash []byte
	err = tx.QueryRow(ctx, onceKnownSQL, r.Project, r.Scope, r.Key).Scan(&hash, &answer)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return nil, errAgain
	case err != nil:
		return nil, err
	}
	return answer, r.Again(hash)
}
