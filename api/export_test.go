package api

import (
	"context"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
)

// KeyMemory is how long a key is remembered.
const KeyMemory = time.Duration(keyMemory)

// Paths are the routes without their parameters.
func Paths() []string {
	all := Routes()
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], "?")
	}
	return all
}

// Fill takes all the room that a handler has for large bodies, or for large answers, until it is given back.
func Fill(h http.Handler, answers bool) (empty func()) {
	if !answers {
		return Leave(h, 0, 0)
	}
	return take(h.(*server).rooms.answers, answerRoom)
}

// Leave takes the room that a handler has for large bodies and for their rests, but for so many bytes of each.
func Leave(h http.Handler, large, rest int64) (empty func()) {
	r := h.(*server).rooms
	one, other := take(r.large, largeRoom-large), take(r.rest, restRoom-rest)
	return func() { one(); other() }
}

func take(room *semaphore.Weighted, n int64) (empty func()) {
	if err := room.Acquire(context.Background(), n); err != nil {
		panic(err)
	}
	return func() { room.Release(n) }
}

// Described is a route and what is said of it.
type Described struct {
	Route, ID, Path, Example string
	Body, Raw                bool
}

// Descriptions are of all routes that are documented.
func Descriptions() (all []Described) {
	for _, d := range describe(append(routes(), pageRoutes...)) {
		all = append(all, Described{d.method + " " + d.path, d.id, d.path, d.operation.example, d.body != nil, d.kind != ""})
	}
	return all
}

// Undescribed says what nobody has described, and what is described and is not there.
func Undescribed() (errs []string) {
	calls := describe(append(routes(), pageRoutes...))
	there := map[string]bool{}
	for _, d := range calls {
		there[d.method+" "+d.path] = true
		for _, name := range d.query {
			if parameterShapes[name] == nil {
				errs = append(errs, "the parameter ?"+name+"= of "+d.path+" has no description: add it to parameterShapes in api/openapi.go")
			}
		}
	}
	for route := range operations() {
		if !there[route] {
			errs = append(errs, route+" is described in api/operation_*.go and is no route")
		}
	}
	_, more := openAPI(calls)
	for _, c := range codes {
		if statuses[c.code] == 0 {
			errs = append(errs, string(c.code)+" is described and has no status")
		}
	}
	if len(codes) != len(statuses) {
		errs = append(errs, "each code of api/errors.go has a line in codes in api/field_names.go, and no other has")
	}
	return append(errs, more...)
}

// Contract is what /openapi.json serves.
func Contract() []byte {
	d, _ := openAPI(describe(append(routes(), pageRoutes...)))
	return mustJSON(d)
}

// The ids of examples.
const (
	ExampleMessage  = exMessage
	ExampleReceipt  = exReceipt
	ExampleEndpoint = exEndpoint
)
