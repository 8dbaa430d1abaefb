package sqlite

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward/webhook"
)

// storedSecret is a secret as its endpoint's row holds it.
type storedSecret struct {
	Sealed    []byte `json:"sealed"`
	ExpiresAt int64  `json:"expires_at,omitempty"`
}

// readEndpoint scans the columns of endpoint_by_id.sql.
func (t *tx) readEndpoint(r scanner) (webhook.Endpoint, error) {
	var e webhook.Endpoint
	var types, headers, secrets, ladder string
	var rate *float64
	err := r.Scan(&e.ID, &e.Project, toText(&e.Tenant), &e.URL, &types, &e.Description, toText(&headers), &secrets,
		toSpan(&e.Timeout), &ladder, &e.Retry4xx, scanPolicy(&e.Policy), toSpan(&e.Window), &e.MaxInFlight, &rate, &e.Disabled, toText(&e.Reason),
		toTime(&e.CreatedAt), toTime(&e.UpdatedAt))
	if err != nil {
		return webhook.Endpoint{}, err
	}
	ofTypes, err1 := decoded[[]string](t.session, types)
	ofHeaders, err2 := decoded[map[string]string](t.session, headers)
	ofSecrets, err3 := decoded[[]storedSecret](t.session, secrets)
	rungs, err4 := t.ladder(ladder)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return webhook.Endpoint{}, err
	}
	for _, s := range ofSecrets {
		w := webhook.Secret{Sealed: s.Sealed}
		if s.ExpiresAt != 0 {
			w.ExpiresAt = time.UnixMicro(s.ExpiresAt).UTC()
		}
		e.Secrets = append(e.Secrets, w)
	}
	e.EventTypes, e.Headers, e.Ladder = slices.Clone(ofTypes), maps.Clone(ofHeaders), rungs
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
