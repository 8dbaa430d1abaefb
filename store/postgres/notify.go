package postgres

import (
	"context"
	"crypto/rand"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	channel     = "onceward"
	notifyEvery = 25 * time.Millisecond // at most so often, whatever is published
)

var notifySQL = stmt("notify")

// notify tells other processes which queues have work, never inside the transaction that made it: a NOTIFY there
// serialises the commits of all.
func (h *hub) notify(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.kick:
		}
		h.mu.Lock()
		queues := make([]string, 0, len(h.dirty))
		for q := range h.dirty {
			if len(queues) < 400 { // a payload ends at 8,000 bytes
				queues = append(queues, strconv.FormatInt(q, 10))
				delete(h.dirty, q)
			}
		}
		left := len(h.dirty) > 0
		h.mu.Unlock()
		if _, err := h.db.pool.Exec(ctx, notifySQL, channel, h.self+" "+strings.Join(queues, " ")); err != nil && ctx.Err() == nil {
			h.db.opts.Logger.DebugContext(ctx, "other servers could not be told of new work; they will find it by their poll", "error", err)
		}
		if left {
			select {
			case h.kick <- struct{}{}:
			default:
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(notifyEvery):
		}
	}
}

// listen hears what other processes tell, on a connection of its own, made anew when it is lost. Behind a pooler that
// does not pass notifications on, the poll does its work.
func (h *hub) listen(ctx context.Context, cfg *pgx.ConnConfig) {
	for try := 1; ctx.Err() == nil; try++ {
		started := time.Now()
		err := h.listenOnce(ctx, cfg)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > time.Minute {
			try = 1
		}
		h.db.opts.Logger.WarnContext(ctx, "the connection that hears of new work was lost; polling until it is back", "error", err)
		pause(ctx, min(try+5, 12)) // 64 ms to 6 s
	}
}

func (h *hub) listenOnce(ctx context.Context, cfg *pgx.ConnConfig) error {
	conn, err := pgx.ConnectConfig(ctx, cfg.Copy())
	if err != nil {
		return err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		conn.Close(bye)
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+channel, pgx.QueryExecModeSimpleProtocol); err != nil {
		return err
	}
	h.all()
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		from, rest, _ := strings.Cut(n.Payload, " ")
		if from == h.self {
			continue
		}
		for f := range strings.FieldsSeq(rest) {
			if q, err := strconv.ParseInt(f, 10, 64); err == nil {
				h.heard(q)
			}
		}
	}
}

func randomName() string { return rand.Text() }
