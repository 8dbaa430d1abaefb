// Package sqlite is the embedded store: one file, one process, no set-up.
//
// Every write is a closure for one lane (lane.go): closures that come while a commit is under way share the next one, each in a
// savepoint of its own. Reads run beside the writer on snapshots of their own. The rules are the domains' pure functions; here rows are
// loaded, given to a rule at the transaction's time, and saved. The database's clock is this process's, read once a transaction.
package sqlite
