package history

// Row is one change of a row, as a trigger in the store saw it.
type Row struct {
	N     int64  `json:"n"`  // their order: each row's own changes are in it
	Tx    int64  `json:"tx"` // the transaction; where the store cannot tell, all that was committed between two looks from outside
	At    int64  `json:"at"` // the database's clock as it was changed, in microseconds
	Table string `json:"table"`
	ID    int64  `json:"id"`
	Old   *State `json:"old,omitzero"` // nil: inserted
	New   *State `json:"new,omitzero"` // nil: deleted
}

// State is what a row was, in the columns that the invariants are about. Times are in microseconds, a column that is null is 0.
type State struct {
	// of a message
	Lease    int64 `json:"lease,omitzero"`
	Leased   int64 `json:"leased,omitzero"`
	Vis      int64 `json:"vis,omitzero"`
	Receives int64 `json:"receives,omitzero"`
	Max      int64 `json:"max,omitzero"`
	Origin   int64 `json:"origin,omitzero"`
	Dead     int64 `json:"dead,omitzero"`
	Claim    int64 `json:"claim,omitzero"` // of deliveries, attempts and notes too

	// of a claim
	State  string `json:"state,omitzero"`
	Policy string `json:"policy,omitzero"` // i or o
	Fence  int64  `json:"fence,omitzero"`  // of attempts and notes too
	Until  int64  `json:"until,omitzero"`

	InFlight int64  `json:"in_flight,omitzero"` // of a group
	Slots    int64  `json:"slots,omitzero"`
	What     string `json:"what,omitzero"`  // of a note
	Key      string `json:"key,omitzero"`   // of a publish key; an event's id
	Other    int64  `json:"other,omitzero"` // a publish key's message, a delivery's event
	Total    int64  `json:"total,omitzero"` // of a redrive
	Moved    int64  `json:"moved,omitzero"`
	Left     int64  `json:"left,omitzero"`
}

// closed reports whether a claim's state is one that work ends in.
func closed(state string) bool { return state == "done" || state == "failed" || state == "stuck" }

func held(state string) bool { return state == "claimed" || state == "started" }
