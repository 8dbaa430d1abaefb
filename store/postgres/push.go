package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	lockSubscriptionSQL   = stmt("subscription_lock")
	insertSubscriptionSQL = stmt("subscription_insert")
	updateSubscriptionSQL = stmt("subscription_update")
	listSubscriptionsSQL  = stmt("subscription_list")
	deleteSubscriptionSQL = stmt("subscription_delete")
	holdSubscriptionsSQL  = stmt("subscription_hold")
	letGoSubscriptionsSQL = stmt("subscription_let_go")
)

// holdMore is how many subscriptions that nobody holds a server takes at a time: others look every 0.7 s too.
const holdMore = 8

// Subscribe stores a subscription, or changes the one that its queue has with this URL.
func (db *DB) Subscribe(ctx context.Context, made webhook.Subscription, apply func(*webhook.Subscription)) (s webhook.Subscription, fresh bool, err error) {
	err = db.in(ctx, func(ctx context.Context, tx *txn) error {
		q, err := tx.queue(ctx, made.Project, made.Queue)
		if err != nil {
			return err
		}
		if there, err := tx.ids(ctx, queueShareSQL, q.ID); err != nil || len(there) == 0 {
			return errors.Join(err, queue.NoQueue(made.Queue))
		}
		s, fresh = made, true
		err = tx.QueryRow(ctx, insertSubscriptionSQL, s.Project, q.ID, s.URL, s.Sealed, seconds(s.Timeout), s.MaxInFlight).Scan(&s.ID, &s.CreatedAt)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		fresh = false
		s, err = scanSubscription(tx.QueryRow(ctx, lockSubscriptionSQL, q.ID, made.URL))
		if errors.Is(err, pgx.ErrNoRows) {
			return errAgain // it has just gone
		}
		if err != nil {
			return err
		}
		s.Queue = made.Queue
		apply(&s)
		_, err = tx.Exec(ctx, updateSubscriptionSQL, s.ID, s.Sealed, seconds(s.Timeout), s.MaxInFlight)
		return err
	})
	return s, fresh, wrap("subscribe", made.Queue, err)
}

// Subscriptions lists a queue's, newest first.
func (db *DB) Subscriptions(ctx context.Context, project int64, name string, p queue.Page) (out []webhook.Subscription, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		q, err := queueNamed(ctx, db.conn(ctx), project, name)
		if err != nil {
			return err
		}
		rows, err := db.conn(ctx).Query(ctx, listSubscriptionsSQL, q.ID, before(p), pageSize(p))
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (webhook.Subscription, error) {
			s, err := scanSubscription(r)
			s.Queue = name
			return s, err
		})
		return err
	})
	return out, wrap("subscriptions", name, err)
}

// Unsubscribe removes one.
func (db *DB) Unsubscribe(ctx context.Context, project int64, name string, id int64) error {
	err := db.in(ctx, func(ctx context.Context, tx *txn) error {
		q, err := tx.queue(ctx, project, name)
		if err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, deleteSubscriptionSQL, q.ID, id)
		if err == nil && tag.RowsAffected() == 0 {
			err = webhook.NoSubscription(name)
		}
		return err
	})
	return wrap("unsubscribe", name, err)
}

// HoldSubscriptions gives those that owner is to work on.
func (db *DB) HoldSubscriptions(ctx context.Context, owner string, term time.Duration) (out []webhook.Subscription, err error) {
	err = db.alone(ctx, func(ctx context.Context) error {
		rows, err := db.conn(ctx).Query(ctx, holdSubscriptionsSQL, owner, seconds(term), holdMore)
		if err != nil {
			return err
		}
		out, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (webhook.Subscription, error) {
			var name string
			s, err := scanSubscription(r, &name)
			s.Queue = name
			return s, err
		})
		return err
	})
	return out, wrap("hold subscriptions", "", err)
}

// LetGoSubscriptions ends what owner holds.
func (db *DB) LetGoSubscriptions(ctx context.Context, owner string) error {
	err := db.alone(ctx, func(ctx context.Context) error {
		_, err := db.conn(ctx).Exec(ctx, letGoSubscriptionsSQL, owner)
		return err
	})
	return wrap("let go of subscriptions", "", err)
}

func scanSubscription(r pgx.Row, more ...any) (s webhook.Subscription, err error) {
	var timeout float64
	err = r.Scan(append([]any{&s.ID, &s.Project, &s.URL, &s.Sealed, &timeout, &s.MaxInFlight, &s.CreatedAt}, more...)...)
	s.Timeout = duration(timeout)
	return s, err
}
