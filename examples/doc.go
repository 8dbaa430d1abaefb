// Package examples tests the programs beside it, which are examples for who uses Onceward: an API and a worker, in Go and in Node, and a receiver of
// webhooks in Go, Node and Python. README.md says how to start them.
package examples
