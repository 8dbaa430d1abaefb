package sqlite

import "github.com/onceward/onceward/ledger"

// alike gathers rows that are to be left with the same values, so that one statement writes all of them.
type alike[V comparable] struct {
	rows  map[V][]int64
	order []V
}

func (a *alike[V]) add(id int64, v V) {
	if a.rows == nil {
		a.rows = map[V][]int64{}
	}
	if a.rows[v] == nil {
		a.order = append(a.order, v)
	}
	a.rows[v] = append(a.rows[v], id)
}

// each calls write for each kind of rows, and forgets them.
func (a *alike[V]) each(write func(v V, ids []int64) error) error {
	for _, v := range a.order {
		if err := write(v, a.rows[v]); err != nil {
			return err
		}
	}
	*a = alike[V]{}
	return nil
}

// grantedClaim is what a take's grants may change, each in its way, of a delivery's claim that has its message.
type grantedClaim struct {
	state                        ledger.State
	fence, begun                 int64
	attempt, tries               int
	ambiguous                    bool
	leaseUntil, firstAt, leaseNo int64 // firstAt 0: as it was
}

func grantOf(c, held *ledger.Claim) grantedClaim {
	g := grantedClaim{c.State, c.Fence, c.Begun, c.Attempt, c.Tries, c.Ambiguous, c.LeaseUntil.UnixMicro(), 0, int64(c.Lease)}
	if !c.FirstAt.Equal(held.FirstAt) {
		g.firstAt = c.FirstAt.UnixMicro()
	}
	return g
}

// receivedMessage is what a take changes of a message.
type receivedMessage struct {
	receives, lease int
	visibleAt       int64
}

// save writes what was granted and received. Nearly all of a take are left alike: a statement for each row was half of its cost.
func (k *taking) save() error {
	err := k.granted.each(func(g grantedClaim, ids []int64) error {
		_, err := k.exec("take_granted", g.state, g.fence, g.begun, g.attempt, g.tries, g.ambiguous, k.grant, k.Owner, g.leaseUntil, orNull(g.firstAt), g.leaseNo, idList(ids))
		return err
	})
	if err != nil {
		return err
	}
	return k.received.each(func(m receivedMessage, ids []int64) error {
		_, err := k.exec("take_received", m.receives, m.lease, m.visibleAt, at(k.now), idList(ids))
		return err
	})
}
