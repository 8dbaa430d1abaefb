// Package ledger decides what already happened. A queue may hand the same work over twice; the ledger lets one worker
// do it and tells every other what came of it.
//
// A [Claim] is the record of one work key. It is held by one worker at a time, by a fence that grows by one with each
// grant, and ends in one of three states: done, failed (it certainly did not happen) or stuck (nobody can know).
// The rules are the pure methods of Claim in rules.go; a [Store] loads a claim, applies a rule and saves it, in one
// transaction, by the database's clock.
package ledger
