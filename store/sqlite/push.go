package sqlite

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// Subscribe stores a subscription, or changes the one that its queue has with this URL.
func (db *DB) Subscribe(ctx context.Context, made webhook.Subscription, apply func(*webhook.Subscription)) (s webhook.Subscription, fresh bool, err error) {
	err = db.write(ctx, "subscribe "+strconv.Quote(made.Queue), 0, func(t *tx) error {
		q, err := t.queueByName(made.Project, made.Queue)
		if err != nil {
			return err
		}
		there, err := found(loadSubscription(t.row("subscription_by_url", q.ID, made.URL), &s))
		if err != nil {
			return err
		}
		if fresh = !there; fresh {
			s, s.CreatedAt = made, t.now
			if s.ID, err = t.id(seqSubscriptions); err != nil {
				return err
			}
			_, err = t.exec("subscription_insert", s.ID, s.Project, q.ID, s.URL, s.Sealed, seconds(s.Timeout), s.MaxInFlight, at(t.now))
			return err
		}
		s.Queue = made.Queue
		apply(&s)
		_, err = t.exec("subscription_update", s.Sealed, seconds(s.Timeout), s.MaxInFlight, s.ID)
		return err
	})
	return s, fresh, err
}

// Subscriptions lists a queue's, newest first.
func (db *DB) Subscriptions(ctx context.Context, project int64, name string, p queue.Page) (out []webhook.Subscription, err error) {
	if p.After == 0 {
		p.After = math.MaxInt64
	}
	err = db.read(ctx, "subscriptions "+strconv.Quote(name), func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err != nil {
			return err
		}
		return t.each("subscription_list", func(r scanner) error {
			s := webhook.Subscription{Queue: name}
			err := loadSubscription(r, &s)
			out = append(out, s)
			return err
		}, q.ID, p.After, pageSize(p))
	})
	return out, err
}

// Unsubscribe removes one.
func (db *DB) Unsubscribe(ctx context.Context, project int64, name string, id int64) error {
	return db.write(ctx, "unsubscribe "+strconv.Quote(name), 0, func(t *tx) error {
		q, err := t.queueByName(project, name)
		if err != nil {
			return err
		}
		n, err := t.exec("subscription_delete", q.ID, id)
		if err == nil && n == 0 {
			err = webhook.NoSubscription(name)
		}
		return err
	})
}

// HoldSubscriptions gives all: one process owns the file.
func (db *DB) HoldSubscriptions(ctx context.Context, _ string, _ time.Duration) (out []webhook.Subscription, err error) {
	err = db.read(ctx, "hold_subscriptions", func(t *tx) error {
		return t.each("subscription_all", func(r scanner) error {
			var s webhook.Subscription
			err := loadSubscription(r, &s, &s.Queue)
			out = append(out, s)
			return err
		})
	})
	return out, err
}

// LetGoSubscriptions has nothing to let go of.
func (db *DB) LetGoSubscriptions(context.Context, string) error { return nil }

func loadSubscription(r scanner, s *webhook.Subscription, more ...any) error {
	return r.Scan(append([]any{&s.ID, &s.Project, &s.URL, &s.Sealed, toSpan(&s.Timeout), &s.MaxInFlight, toTime(&s.CreatedAt)}, more...)...)
}
