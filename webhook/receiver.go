package webhook

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/retryafter"
	"github.com/onceward/onceward/ledger"
)

// Received is a request that was verified.
type Received struct {
	EventID string      // webhook-id
	Key     string      // the delivery key, the same on every attempt: Idempotency-Key, or, of a sender that gives none, webhook-id
	Attempt int         // the sender's count; 0 if it gives none
	Payload []byte      // the body, byte for byte
	Header  http.Header // of the request
}

// ReceiverConfig says what a Receiver does. Store, Secrets and Effect are required; T is the transaction of the receiver's database, *sql.Tx or pgx.Tx
// with package store/sqldb.
type ReceiverConfig[T any] struct {
	Store   ledger.TxStore[T]
	Secrets []string // of the endpoint, as they were shown; two while one is being rotated
	// Effect does what the event asks for, in tx and nowhere else: it may be run again if the database undoes it. An error undoes it, and the sender
	// tries again by its ladder; [ledger.Refused] says that it need not.
	Effect func(ctx context.Context, tx T, r Received) error

	Project    int64         // whose events: a tenant of the receiver, say (1)
	Scope      string        // of the keys in the ledger; one for each endpoint's effect ("webhook-received")
	MaxPayload int64         // bytes of a body (MaxPayload)
	Timeout    time.Duration // of reading and of the effect; below the endpoint's own (10 s)
	Logger     *slog.Logger  // what the sender is not told (slog.Default())
}

// Receiver is the other end of a delivery: an http.Handler that believes only what is signed, and lets each delivery take effect exactly once, whatever
// of sender and receiver dies when. Its answers are those on which the sender does right:
//
//	204  done, now or before
//	401  not signed with one of the secrets, or more than five minutes off
//	413  larger than MaxPayload
//	422  refused for good, or known under this key with another body
//	503  undone, or not known: try again
//
// The Idempotency-Key is not part of what is signed: who could read a request on its way could repeat it within five minutes under another
// key. Serve it over TLS.
type Receiver[T any] struct {
	c ReceiverConfig[T]
	l *ledger.Ledger
}

// NewReceiver makes a Receiver.
func NewReceiver[T any](c ReceiverConfig[T]) (*Receiver[T], error) {
	if c.Scope == "" {
		c.Scope = "webhook-received"
	}
	if c.MaxPayload == 0 {
		c.MaxPayload = MaxPayload
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	switch {
	case c.Store == nil:
		return nil, fault.Invalid("/Store", "a Receiver needs the Store of its own database").WithHint("package store/sqldb has them")
	case c.Effect == nil:
		return nil, fault.Invalid("/Effect", "a Receiver needs an Effect")
	case len(c.Secrets) == 0:
		return nil, fault.Invalid("/Secrets", "a Receiver needs the endpoint's secret").WithHint("it was shown when the endpoint was made, or its secret rotated")
	case c.MaxPayload < 0 || c.Timeout < 0:
		return nil, fault.Invalid("/MaxPayload", "MaxPayload is %d and Timeout %v; neither can be below 0", c.MaxPayload, c.Timeout)
	}
	for i, s := range c.Secrets {
		if _, err := ParseSecret(s); err != nil {
			return nil, fmt.Errorf("secret %d of %d: %w", i+1, len(c.Secrets), err)
		}
	}
	l, err := ledger.NewLedger(ledger.Config{
		Store: c.Store, Project: c.Project, Scope: c.Scope, Logger: c.Logger,
		MaxTries: math.MaxInt32, Retry: func(int) time.Duration { return time.Nanosecond }, // the sender's ladder decides
	})
	if err != nil {
		return nil, err
	}
	return &Receiver[T]{c, l}, nil
}

// ServeHTTP takes a delivery.
func (r *Receiver[T]) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "a delivery is a POST", http.StatusMethodNotAllowed)
		return
	}
	wire := http.NewResponseController(w)
	timed := wire.SetReadDeadline(time.Now().Add(r.c.Timeout)) == nil // not every server can
	body, err := io.ReadAll(http.MaxBytesReader(w, q.Body, r.c.MaxPayload))
	if timed {
		_ = wire.SetReadDeadline(time.Time{})
	}
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, fmt.Sprintf("the body has more than %d bytes", r.c.MaxPayload), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the body did not come whole", http.StatusBadRequest)
		return
	}
	if err := Verify(q.Header, body, time.Now(), r.c.Secrets...); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	got := Received{EventID: q.Header.Get("Webhook-Id"), Payload: body, Header: q.Header}
	got.Attempt, _ = strconv.Atoi(q.Header.Get("Webhook-Attempt"))
	if got.Key = q.Header.Get("Idempotency-Key"); got.Key == "" {
		got.Key = got.EventID
	}
	r.answer(w, got, r.once(q.Context(), got))
}

// once lets a delivery take effect, unless it did. A sender that goes away meanwhile does not cut it off: it would only come again.
func (r *Receiver[T]) once(ctx context.Context, got Received) ledger.Outcome {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.c.Timeout)
	defer cancel()
	hash := sha256.Sum256(append([]byte(got.EventID+"\n"), got.Payload...))
	o, _ := ledger.Tx(ctx, r.l, ledger.Work{Key: got.Key, Hash: hash[:]}, func(ctx context.Context, tx T, _ ledger.Try) ([]byte, error) {
		return nil, r.c.Effect(ctx, tx, got)
	})
	return o
}

func (r *Receiver[T]) answer(w http.ResponseWriter, got Received, o ledger.Outcome) {
	d := o.Disposition()
	switch d.Action {
	case ledger.Ack:
		w.WriteHeader(http.StatusNoContent)
		return
	case ledger.DeadLetter:
		http.Error(w, "the delivery is refused, and need not be tried again", http.StatusUnprocessableEntity)
	default:
		retryafter.Set(w.Header(), d.Wait)
		http.Error(w, "the delivery did not take effect, or is not known to have; try again", http.StatusServiceUnavailable)
	}
	r.c.Logger.Error("a delivery did not take effect", "event", got.EventID, "key", got.Key, "attempt", got.Attempt, "error", d.Reason)
}
