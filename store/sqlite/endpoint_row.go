package sqlite

import (
	"time"

	"github.com/onceward/onceward/webhook"
)

// storedSecret is a secret as its endpoint's row holds it.
type storedSecret struct {
	Sealed    []byte `json:"sealed"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

// readEndpoint scans the columns of endpoint_by_id.sql.
func readEndpoint(r scanner) (webhook.Endpoint, error) {
	var e webhook.Endpoint
	var secrets []storedSecret
	var ladder []float64
	var policy string
	var rate *float64
	err := r.Scan(&e.ID, &e.Project, toText(&e.Tenant), &e.URL, toJSON(&e.EventTypes), &e.Description, toJSON(&e.Headers), toJSON(&secrets),
		toSpan(&e.Timeout), toJSON(&ladder), &e.Retry4xx, &policy, toSpan(&e.Window), &e.MaxInFlight, &rate, &e.Disabled, toText(&e.Reason),
		toTime(&e.CreatedAt), toTime(&e.UpdatedAt))
	if err != nil {
		return webhook.Endpoint{}, err
	}
	for _, s := range secrets {
		w := webhook.Secret{Sealed: s.Sealed}
		if s.ExpiresAt != 0 {
			w.ExpiresAt = time.UnixMicro(s.ExpiresAt).UTC()
		}
		e.Secrets = append(e.Secrets, w)
	}
	e.Ladder, e.Policy = fromRungs(ladder), toPolicy(policy)
	if rate != nil {
		e.Rate = *rate
	}
	return e, nil
}

// endpointValues gives the values of endpoint_put.sql.
func endpointValues(e webhook.Endpoint) ([]any, error) {
	secrets := make([]storedSecret, len(e.Secrets))
	for i, s := range e.Secrets {
		secrets[i].Sealed = s.Sealed
		if !s.ExpiresAt.IsZero() {
			secrets[i].ExpiresAt = s.ExpiresAt.UnixMicro()
		}
	}
	types := e.EventTypes
	if types == nil {
		types = []string{}
	}
	var texts [4]any
	for i, v := range []any{types, e.Headers, secrets, rungs(e.Ladder)} {
		var err error
		if texts[i], err = asJSON(v); err != nil {
			return nil, err
		}
	}
	var rate any
	if e.Rate != 0 {
		rate = e.Rate
	}
	return []any{
		e.ID, e.Project, textOrNull(e.Tenant), e.URL, texts[0], e.Description, texts[1], texts[2], seconds(e.Timeout), texts[3],
		e.Retry4xx, fromPolicy(e.Policy), secondsOrNull(e.Window), e.MaxInFlight, rate, e.Disabled, textOrNull(e.Reason),
		at(e.CreatedAt), at(e.UpdatedAt),
	}, nil
}

// rungs gives a ladder as it is stored, in seconds.
func rungs(ladder []time.Duration) []float64 {
	out := make([]float64, len(ladder))
	for i, d := range ladder {
		out[i] = d.Seconds()
	}
	return out
}

func fromRungs(stored []float64) []time.Duration {
	out := make([]time.Duration, len(stored))
	for i, s := range stored {
		out[i] = fromSeconds(s)
	}
	return out
}
