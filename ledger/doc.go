// Package ledger decides what already happened. A queue may hand the same work over twice; the ledger lets one worker
// do it and tells every other what came of it.
//
// A [Ledger] is the front door. Which of its calls is right depends on who can tell a repetition:
//
//   - [Tx]: the effect is in the ledger's own database. Claim, effect and done are one transaction: exactly once.
//   - [Ledger.Do]: the receiver knows our key. A try whose outcome is not known is made again under it.
//   - [Ledger.Once]: the receiver cannot tell. After such a try there is no other; a person resolves it.
//   - [Ledger.Handle]: one of the last two, for the message of any broker. It answers what to do with the message.
//
// Below it: a [Claim] is the record of one work key. It is held by one worker at a time, by a fence that grows by one with each
// grant, and ends in one of three states: done, failed (it certainly did not happen) or stuck (nobody can know).
// The rules are the pure methods of Claim in rules.go; a [Store] loads a claim, applies a rule and saves it, in one
// transaction, by the database's clock. Package store/sqldb has a Store for a database of yours.
package ledger
