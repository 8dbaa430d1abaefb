// Package worker is the one loop that webhooks, push and cron share: receive a job that is claimed, make its effect, settle
// its outcome.
//
// What it promises, whatever the effect is:
//
//   - It receives only what it can start at once, so that no lease runs out in a line.
//   - A lease is extended from its first third on, claim and message together. An effect whose lease is lost is cancelled.
//   - A job whose effect must never be made twice is begun durably before it.
//   - An outcome is settled until the store takes it; failing to settle never makes a second effect.
//   - With the store away it waits, with jitter, and goes on by itself. Nothing is received before what was done is settled.
//   - A soft stop receives no more and lets effects finish within the grace; a hard stop cancels them. What was not begun is given
//     back, and counts as no try.
//   - An effect that panics has an unknown outcome, which is settled like any other.
//
// Where jobs come from is a [Source], where outcomes go is [Outcomes]. With Onceward's own queue both are one database, and an outcome
// commits together with the message's settling. With a broker, Settle commits the outcome first and acks after it, which
// the claim makes safe: a message that comes again finds its key done.
package worker
