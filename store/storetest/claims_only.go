package storetest

import (
	"io"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/store"
)

// ClaimsOnly lets a store of claims stand where the suite wants a whole one. What is not the ledger's is not there.
func ClaimsOnly[L interface {
	ledger.Store
	io.Closer
}](l L) store.Store {
	return claimsOnly{Store: l, Closer: l}
}

type claimsOnly struct {
	ledger.Store
	io.Closer
	missing
}

// missing stands a floor deeper than the ledger, whose methods hide its own.
type missing struct{ rest }

type rest struct{ store.Store }
