package postgres

// sweepState is where the sweeps that page stand.
type sweepState struct{}
