package api

import (
	"encoding/json/v2"
	"fmt"
	"reflect"
	"slices"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
)

// page is an answer that is no JSON of a call: it is sent as it is.
type page struct {
	kind string // its Content-Type
	body []byte
}

// capability is a call as /v1/discovery shows it.
type capability struct {
	ID        string  `json:"id"`
	Summary   string  `json:"summary"`
	Method    string  `json:"method"`
	Path      string  `json:"path"`
	Available bool    `json:"available"`
	Billing   billing `json:"billing"`
	Request   *schema `json:"request_schema"`
	Response  *schema `json:"response_schema"`
}

// discovered is the answer of /v1/discovery.
type discovered struct {
	Capabilities []capability `json:"capabilities"`
}

// billing says what a call costs. Replays and redeliveries are free.
type billing struct {
	Metered bool    `json:"metered"`
	Unit    *string `json:"unit"`
	Price   dollars `json:"price_usd"`
}

// pageRoutes are what pages serves.
var pageRoutes = []route{
	{"GET", "/v1/discovery", nil, nil},
	{"GET", "/v1/discovery/{id}", nil, nil},
	{"GET", "/openapi.json", nil, nil},
	{"GET", "/docs", nil, nil},
	{"GET", "/llms.txt", nil, nil},
}

// pages are what is served about the API itself, open to all, and made once: it holds nothing of anybody's.
func (s *server) pages() []route {
	calls := describe(append(routes(), pageRoutes...))
	document, _ := openAPI(calls)
	contract := page{jsonKind, mustJSON(document)}
	var list []capability
	byID := map[string]page{}
	for _, d := range calls {
		if d.id == "" {
			continue
		}
		c := d.capability(s.PublishPrice)
		list = append(list, c)
		byID[d.id] = page{jsonKind, mustJSON(c)}
	}
	all := page{jsonKind, mustJSON(discovered{list})}
	manual := page{"text/html; charset=utf-8", writeManual(calls)}
	short := page{"text/plain; charset=utf-8", writeShort(calls)}
	give := func(p page) func(*call) (any, error) { return func(*call) (any, error) { return p, nil } }
	serve := map[string]func(*call) (any, error){
		"/openapi.json": give(contract),
		"/llms.txt":     give(short),
		"/v1/discovery": give(all),
		"/docs": func(c *call) (any, error) {
			c.w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
			return manual, nil
		},
		"/v1/discovery/{id}": func(c *call) (any, error) {
			id := c.r.PathValue("id")
			p, ok := byID[id]
			if !ok {
				c.bare = true
				return nil, fault.New(fault.NotFound, "there is no capability %s", fault.Quote(id)).WithHint("GET /v1/discovery lists them")
			}
			return p, nil
		},
	}
	served := slices.Clone(pageRoutes)
	for i := range served {
		served[i].serve = serve[served[i].path]
	}
	return served
}

// mustJSON writes what is made of nothing but our own types.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("api: %v", err))
	}
	return b
}

func (d described) capability(price account.USD) capability {
	c := capability{ID: d.id, Summary: d.says, Method: d.method, Path: d.path, Available: true, Response: d.answerShape(&shapes{inline: true, reply: true})}
	if d.body != nil {
		c.Request = d.bodyShape(&shapes{inline: true})
	}
	if d.unit != "" {
		c.Billing = billing{Metered: price > 0, Unit: &d.unit, Price: dollars(price)}
	}
	return c
}

// answerShape gives the schema of the data.
func (d described) answerShape(g *shapes) *schema { return g.of(reflect.TypeOf(d.answer), d.id) }
