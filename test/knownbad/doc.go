// Package knownbad holds consumers as they are often written, each with the mistake that makes it lose work or do it twice, beside the ledger's guard. All
// work through the same queue, under the same faults, drawn from the same seed: what the mistakes cost is counted, and the guard must cost nothing.
package knownbad
