package postgres

import (
	"encoding/json"
	"time"
)

// redriveRow is a redrive under way, its row locked.
type redriveRow struct {
	id, project, queue int64 // queue is the source; 1: deliveries
	filter             json.RawMessage
	rate               float64
	canary             bool
	total, moved, left int64
	lastID             int64 // the dead letter looked at last
	who                string
	createdAt          time.Time
}
