package sqlite

// sweepState remembers how far the paging duties of a sweep came.
type sweepState struct {
	expired int64 // message id
	groups  int64 // group id
}
