package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/internal/failpoint"
)

// points has a fail point on each side of whatever commits: a commit that has something to commit, a batch that ends in one, or a statement that is a
// transaction of its own. The functions under way say whose it is; at a commit by itself, with tx: before them too. Only programs with fail points trace.
type points struct{}

type committing struct{}

func (points) TraceQueryStart(ctx context.Context, c *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	switch {
	case q.SQL == "commit":
		var changed bool
		if c.QueryRow(ctx, "SELECT pg_current_xact_id_if_assigned() IS NOT NULL").Scan(&changed) != nil || !changed {
			return ctx
		}
		names := failpoint.Callers()
		for _, n := range names {
			names = append(names, "tx:"+n)
		}
		return beforeCommit(ctx, names)
	case c.PgConn().TxStatus() == 'I' && !strings.HasPrefix(q.SQL, "-- ping"):
		return beforeCommit(ctx, failpoint.Callers())
	}
	return ctx
}

func (points) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	afterCommit(ctx)
}

func (points) TraceBatchStart(ctx context.Context, c *pgx.Conn, b pgx.TraceBatchStartData) context.Context {
	is := func(text string) func(*pgx.QueuedQuery) bool {
		return func(q *pgx.QueuedQuery) bool { return q.SQL == text }
	}
	all := b.Batch.QueuedQueries
	alone := c.PgConn().TxStatus() == 'I' && !slices.ContainsFunc(all, is("begin"))
	if alone || len(all) > 1 && slices.ContainsFunc(all, is("commit")) {
		return beforeCommit(ctx, failpoint.Callers())
	}
	return ctx
}

func (points) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

func (points) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	afterCommit(ctx)
}

func beforeCommit(ctx context.Context, names []string) context.Context {
	failpoint.At(failpoint.BeforeCommit, names...)
	return context.WithValue(ctx, committing{}, names)
}

func afterCommit(ctx context.Context) {
	if names, ok := ctx.Value(committing{}).([]string); ok {
		failpoint.At(failpoint.AfterCommit, names...)
	}
}
