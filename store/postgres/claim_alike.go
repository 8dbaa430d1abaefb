package postgres

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/onceward/onceward/ledger"
)

var (
	grantClaimsSQL = stmt("claims_granted")
	doneSendsSQL   = stmt("claims_done")
	doneKeysSQL    = strings.Replace(doneSendsSQL, "delivery_claims", "worker_claims", 1)
)

// grantsAlike is how many claims that a grant left alike are worth a statement of their own.
const grantsAlike = 8

// grant is what one changes of a delivery's claim.
type grant struct {
	state          ledger.State
	fence, begun   int64
	attempt, tries int
	ambiguous      bool
	grantID, owner string
	leaseUntil     time.Time
	firstAt        time.Time
	lease          int
}

// queueGrants adds the writing of what was granted to b, by a statement without arrays where many are alike: nearly all of a take are. It gives
// the others. Times are compared as they came, from one transaction.
func queueGrants(b *pgx.Batch, claims []*claim) (rest []*claim) {
	byGrant := map[grant][]*claim{}
	for _, c := range claims {
		g := grant{c.State, c.Fence, c.Begun, c.Attempt, c.Tries, c.Ambiguous, c.GrantID, c.Owner, c.LeaseUntil, c.FirstAt, c.Lease}
		byGrant[g] = append(byGrant[g], c)
	}
	for g, of := range byGrant {
		if len(of) < grantsAlike {
			rest = append(rest, of...)
			continue
		}
		b.Queue(grantClaimsSQL, column(of, func(c *claim) int64 { return c.ID }), string(g.state), g.fence, g.begun, g.attempt, g.tries, g.ambiguous, clean(g.grantID), clean(g.owner),
			g.leaseUntil, g.firstAt, g.lease)
	}
	return rest
}

// queueDone adds the writing of claims of one part of the ledger to b that are done, without a result, and of which nothing else changed.
func queueDone(b *pgx.Batch, sql string, ids []int64, now time.Time) {
	if len(ids) > 0 {
		b.Queue(sql, ids, now)
	}
}
