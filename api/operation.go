package api

import (
	"strings"

	"github.com/onceward/onceward/internal/fault"
)

// operation says what a call is, for /openapi.json, /docs, /llms.txt and /v1/discovery. Each route has one in operations.
type operation struct {
	id      string       // as queue.publish: unique, and never changed
	says    string       // what it does, in a sentence
	body    any          // a value of the struct that its body is read into; nil: it takes none
	wants   string       // the members of the body that it needs, "a b|c": a, and b or c; "{}": a body, of whichever; none: not even that
	keyed   bool         // it takes an idempotency key
	example string       // a body that it takes, with the ids of examples
	answer  any          // a value of the type of its data
	errors  []fault.Code // besides those that any call of its kind may end with
	kind    string       // the Content-Type of an answer that has no envelope; empty: it has
	unit    string       // what of it is metered; empty: it is free
}

// requires splits wants into the members that it needs, each with its other names.
func (o operation) requires() (all [][]string) {
	for w := range strings.FieldsSeq(o.wants) {
		if w != "{}" {
			all = append(all, strings.Split(w, "|"))
		}
	}
	return all
}

// operations are what is said of each route, by its method and path.
func operations() map[string]operation {
	all := map[string]operation{}
	for _, of := range []map[string]operation{pageOperations, queueOperations, messageOperations, ledgerOperations, webhookOperations, accessOperations} {
		for route, o := range of {
			all[route] = o
		}
	}
	return all
}

// Ids of examples. They have the form of real ones; the tests put real ones in their place.
const (
	exMessage  = "qmsg_00000000012cV4Kx9bRtQm7L"
	exReceipt  = "rct_00000000012cV4Kx9bRtQm7LpW3n"
	exEndpoint = "ep_00000000007hT2sGd8kYwN4Z"
)
