package verify

// matrix gives its cells: every point at which a server, a worker, a receiver or a caller can die, with all that can follow.
func matrix() (all []kase) {
	for _, h := range []how{restarted, takenOver, woken} {
		all = append(all, deliveryCells(h)...)
		all = append(all, callCells(h)...)
		all = append(all, dutyCells(h)...)
		all = append(all, workCells(h)...)
		all = append(all, txCells(h)...)
		all = append(all, callerCells(h)...)
	}
	return append(all, callerCells(outlived)...)
}
