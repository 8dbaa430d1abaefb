package api

import (
	"encoding/json/jsontext"
	"reflect"

	"github.com/onceward/onceward/internal/fault"
)

var ledgerOperations = map[string]operation{
	"POST /v1/ledger/claim": {
		id: "ledger.claim", says: "Asks for a key of work: granted to one at a time, and never again once it is done.",
		body: claimRequest{}, wants: "scope key|payload", example: `{"scope":"receipt","key":"order-7","payload":{"order":7},"queue":"jobs","receipt_handle":"` + exReceipt + `"}`,
		answer: answeredShape{}, errors: []fault.Code{fault.ReceiptInvalid, fault.QueueNotFound, fault.MessageNotFound, fault.Conflict},
	},
	"POST /v1/ledger/begin": {
		id: "ledger.begin", says: "Says that the effect begins, or keeps the lease of a key and its message.",
		body: beginRequest{}, wants: "scope key fence", example: `{"scope":"receipt","key":"order-6","fence":1,"lease_seconds":120}`, answer: begun{}, errors: []fault.Code{fault.NotFound},
	},
	"POST /v1/ledger/complete": {
		id: "ledger.complete", says: "Says that the work is done, and what duplicates are told.",
		body: completeRequest{}, wants: "scope key fence", example: `{"scope":"receipt","key":"order-6","fence":1,"result":{"sent":true},"settle":true}`, answer: said{},
		errors: []fault.Code{fault.NotFound},
	},
	"POST /v1/ledger/fail": {
		id: "ledger.fail", says: "Says that a try failed, and whether it may have taken effect.",
		body: failRequest{}, wants: "scope key fence kind", example: `{"scope":"receipt","key":"order-6","fence":1,"kind":"definite","error":"503","retry_in_seconds":30}`, answer: said{},
		errors: []fault.Code{fault.NotFound},
	},
	"POST /v1/ledger/resolve": {
		id: "ledger.resolve", says: "Says what became of a stuck key, or that a failed one is to be tried again; its dead letter follows.",
		body: resolveKeyRequest{}, wants: "scope key as", example: `{"scope":"charge","key":"order-5","as":"done","note":"the bank has it","fence":1}`, answer: resolvedView{},
		errors: []fault.Code{fault.NotFound, fault.ClaimChanged, fault.Conflict},
	},
	"GET /v1/ledger/claims": {
		id: "ledger.claims", says: "Shows a key with its history, by scope and key; or lists the keys in a state, the newest first.", answer: claimsShape{}, errors: []fault.Code{fault.NotFound},
	},
}

type answeredShape struct {
	answered
	Result jsontext.Value `json:"result"`
}

type wholeShape struct {
	claimWhole
	Result jsontext.Value `json:"result"`
}

// claimsShape is one key or a page of them.
type claimsShape struct{}

func (claimsShape) shape(g *shapes) *schema {
	return &schema{AnyOf: []*schema{g.of(reflect.TypeFor[wholeShape](), ""), g.of(reflect.TypeFor[list[claimView]](), "ledger.claims")}}
}
