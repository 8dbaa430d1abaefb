// Package queue is an at-least-once message queue: messages, leases with receipts, delays, priorities, fair groups, dead
// letters and redrive. It moves work between processes; what already happened is for package ledger to decide.
//
// A message is available or delayed until it is received; then it is in flight under a lease, and its newest receipt
// alone can ack, nack, release or extend it. A lease that runs out makes it available again; a message received
// MaxReceives times with nothing recorded is dead-lettered. In a queue of type fifo the head of a group holds it until it is
// gone, so that a group's messages go in the order of their publishing, one at a time. The rules are the pure methods of [Row] in rules.go; a
// [Store] loads rows, applies a rule and saves them, in one transaction, by the database's clock.
package queue
