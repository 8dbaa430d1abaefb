package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

var (
	_ queue.Tx   = (*CallerTx)(nil)
	_ webhook.Tx = (*CallerTx)(nil)
)

// CallerTx is a transaction that the caller began, and will commit or roll back, on the database that holds the store: what
// [queue.PublishTx] and [webhook.SendTx] take. The caller's role needs nothing of the store but the right to execute its functions: its owner has it, another is given it by
// GRANT EXECUTE ON FUNCTION onceward_tx_publish, onceward_tx_send TO it. As any pgx.Tx or sql.Tx it is for one goroutine at a time.
type CallerTx struct {
	query  func(ctx context.Context, sql string, args ...any) (rows, error)
	schema string
}

// Tx gives a pgx transaction to [queue.PublishTx] and [webhook.SendTx]. The store is looked for by the connection's search_path: see [CallerTx.In].
func Tx(tx pgx.Tx) *CallerTx {
	return &CallerTx{query: func(ctx context.Context, sql string, args ...any) (rows, error) {
		r, err := tx.Query(ctx, sql, args...)
		return pgxRows{r}, err
	}}
}

// SQLTx gives a database/sql transaction, of any driver that numbers parameters as PostgreSQL does. The store is looked for by the connection's
// search_path: see [CallerTx.In].
func SQLTx(tx *sql.Tx) *CallerTx {
	return &CallerTx{query: func(ctx context.Context, sql string, args ...any) (rows, error) {
		r, err := tx.QueryContext(ctx, sql, args...)
		if err != nil {
			return nil, err
		}
		return sqlRows{r}, nil
	}}
}

// In names the schema in which the store is, where the connection's search_path does not have it: the search_path of the store's own URL.
func (t *CallerTx) In(schema string) *CallerTx {
	return &CallerTx{t.query, pgx.Identifier{schema}.Sanitize() + "."}
}

// rows are those of either driver.
type rows interface {
	Next() bool
	Scan(to ...any) error
	Err() error
	Close()
}

type pgxRows struct{ pgx.Rows }

type sqlRows struct{ *sql.Rows }

func (r sqlRows) Close() { r.Rows.Close() }

// each calls f for every row of a statement, once it is read.
func (t *CallerTx) each(ctx context.Context, f func(), to []any, statement string, args ...any) error {
	r, err := t.query(ctx, statement, args...)
	if err != nil {
		return notInstalled(err)
	}
	defer r.Close()
	for r.Next() {
		if err := r.Scan(to...); err != nil {
			return err
		}
		f()
	}
	return notInstalled(r.Err())
}

// notInstalled says what to do where the store is not found.
func notInstalled(err error) error {
	var state interface{ SQLState() string }
	if errors.As(err, &state) && state.SQLState() == "42883" {
		return fmt.Errorf("there is no store of this version where the transaction looks for it: onceward migrate --store postgres://… makes one in this database, and In names its schema: %w", err)
	}
	return err
}

// PublishOne is the store's part of [queue.PublishTx].
func (t *CallerTx) PublishOne(ctx context.Context, p queue.Publish) (queue.Published, error) {
	if err := checkPublish(&p); err != nil {
		return queue.Published{Err: err}, nil
	}
	return t.publish(ctx, p)
}

func (t *CallerTx) publish(ctx context.Context, p queue.Publish) (queue.Published, error) {
	headers, err := headersText(p.Headers)
	if err != nil {
		return queue.Published{}, err
	}
	var what string
	var out queue.Published
	var id *int64
	var published, visible *time.Time
	var retention *float64
	var first []byte
	var cost *account.USD
	err = t.each(ctx, func() {}, []any{&what, &id, &published, &visible, &retention, &first, &cost},
		"SELECT what, message, published, visible, retention, first_hash, cost FROM "+t.schema+"onceward_tx_publish($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		p.Project, p.Queue, p.Body, headers, seconds(p.Delay), p.Priority, p.Group, p.OriginAt, p.Key, bodyOf(p.Hash))
	if err != nil {
		return out, fmt.Errorf("publish to %q: %w", p.Queue, err)
	}
	switch what {
	case "queue":
		return queue.Published{Err: queue.NoQueue(p.Queue)}, nil
	case "delay":
		return queue.Published{Err: p.Fits(duration(*retention))}, nil
	case "order":
		return queue.Published{Err: p.Orders()}, nil
	case "credit":
		return queue.Published{Err: account.Insufficient(*cost)}, nil
	case "content":
		keyed, err := p.ByContent()
		if err != nil {
			return queue.Published{Err: err}, nil
		}
		return t.publish(ctx, keyed)
	case "known":
		if err := p.Again(first); err != nil {
			return queue.Published{Err: err}, nil
		}
		out.Replay = true
	default:
		out.Cost = *cost
	}
	out.ID, out.PublishedAt, out.VisibleAt = *id, published.UTC(), visible.UTC()
	return out, nil
}

// SendOne is the store's part of [webhook.SendTx].
func (t *CallerTx) SendOne(ctx context.Context, e webhook.NewEvent) (webhook.Sent, error) {
	var what string
	var first []byte
	var place int
	var to webhook.SentTo
	out := webhook.Sent{EventID: e.EventID}
	key, keyHash := "", []byte(nil)
	if e.Request != nil {
		key, keyHash = e.Request.Key, e.Request.Hash
	}
	err := t.each(ctx, func() {
		if to.ID != 0 {
			out.Deliveries = append(out.Deliveries, to)
		}
	}, []any{&what, &out.CreatedAt, &first, &place, &to.ID, &to.EndpointID, &out.EventID},
		"SELECT what, created, first_hash, place, delivery, endpoint, event FROM "+t.schema+"onceward_tx_send($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		e.Project, e.EventID, e.Type, e.Tenant, e.Subject, idsText(e.Endpoints), e.Hash, e.Payload, key, keyHash)
	if err != nil {
		return out, fmt.Errorf("send event %q: %w", e.EventID, err)
	}
	out.CreatedAt = out.CreatedAt.UTC()
	switch what {
	case "endpoint", "tenant":
		return webhook.Sent{EventID: e.EventID, Err: webhook.NotForThese(place, what == "tenant")}, nil
	case "key":
		return webhook.Sent{EventID: e.EventID, Err: e.Request.Again(nil)}, nil
	case "known":
		if err := e.Again(first); err != nil {
			return webhook.Sent{EventID: e.EventID, Err: err}, nil
		}
		out.Replay = true
	}
	return out, nil
}

// headersText gives headers as a statement takes them.
func headersText(h map[string]string) (string, error) {
	if len(h) == 0 {
		return "", nil
	}
	b, err := json.Marshal(h)
	return string(b), err
}

// idsText writes numbers as an array, empty for none: what any driver can give.
func idsText(ids []int64) string {
	if ids == nil {
		return ""
	}
	return "{" + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]") + "}"
}
