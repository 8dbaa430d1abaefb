package api

import (
	"encoding/json/jsontext"
	"strconv"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/webhook"
)

type endpointView struct {
	ID             string            `json:"endpoint_id"`
	URL            string            `json:"url"`
	Tenant         *string           `json:"tenant"`
	EventTypes     []string          `json:"event_types"`
	Description    string            `json:"description"`
	Headers        map[string]string `json:"headers"`
	Timeout        float64           `json:"timeout_seconds"`
	Ladder         []float64         `json:"retry_ladder"`
	Retry4xx       bool              `json:"retry_4xx"`
	Policy         string            `json:"policy"`
	Window         *float64          `json:"receiver_window_seconds"`
	MaxInFlight    int               `json:"max_in_flight"`
	Rate           *float64          `json:"rate_per_second"`
	Disabled       bool              `json:"disabled"`
	DisabledReason *string           `json:"disabled_reason"`
	CreatedAt      stamp             `json:"created_at"`
	UpdatedAt      stamp             `json:"updated_at"`
}

func (c *call) viewEndpoint(e webhook.Endpoint) endpointView {
	v := endpointView{
		ID: c.IDs.Encode(ids.Endpoint, c.project, e.ID), URL: e.URL, Tenant: text(e.Tenant), EventTypes: e.EventTypes, Description: e.Description,
		Headers: e.Headers, Timeout: e.Timeout.Seconds(), Ladder: make([]float64, len(e.Ladder)), Retry4xx: e.Retry4xx, Policy: string(e.Policy),
		MaxInFlight: e.MaxInFlight, Disabled: e.Disabled, CreatedAt: stamp(e.CreatedAt), UpdatedAt: stamp(e.UpdatedAt),
	}
	for i, d := range e.Ladder {
		v.Ladder[i] = d.Seconds()
	}
	if e.Window > 0 {
		v.Window = new(e.Window.Seconds())
	}
	if e.Rate > 0 {
		v.Rate = &e.Rate
	}
	if e.Disabled {
		v.DisabledReason = text(e.Reason)
	}
	return v
}

// endpointSecret is an endpoint whose secret is shown, this once.
type endpointSecret struct {
	endpointView
	Secret *string `json:"secret"`
}

func (e endpointSecret) withoutSecret() any {
	e.Secret = nil
	return e
}

// endpointTest is an endpoint and what was sent to it.
type endpointTest struct {
	endpointView
	sentView
}

// optionalNumber is a number in a request that can be taken away by null.
type optionalNumber struct {
	given, null bool
	f           float64
	raw         string
}

// UnmarshalJSONFrom reads a number or null.
func (n *optionalNumber) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n':
		*n = optionalNumber{null: true}
		return nil
	case '0':
		f, _ := strconv.ParseFloat(string(v), 64) // infinite if no double holds it
		*n = optionalNumber{given: true, f: f, raw: clipped80(v)}
		return nil
	}
	return valueError(v, "a number, or null for none")
}

func (n optionalNumber) ptr() *float64 {
	if !n.given {
		return nil
	}
	return &n.f
}
