package verify

// matrix gives its cells: every point at which a server can die, with all that can follow.
func matrix() (all []kase) {
	for _, h := range []how{restarted, takenOver, woken} {
		all = append(all, deliveryCells(h)...)
		all = append(all, callCells(h)...)
		all = append(all, dutyCells(h)...)
	}
	return all
}
