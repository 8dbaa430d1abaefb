// Package simulation runs the whole server in a bubble of its own time: the API, the duties, the workers and the pusher over a real SQLite file, with receivers and
// clients on a network in memory. Days pass in a second. What is done, and every fault, follows from a seed; a model beside it knows what each answer must be.
// The same seed is the same run.
package simulation
