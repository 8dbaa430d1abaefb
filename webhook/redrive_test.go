package webhook

import (
	"testing"

	"github.com/onceward/onceward/ledger"
)

// Whatever a part waits for comes, or it ends: no canary is waited for whose word cannot come.
func TestPartHears(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		was  PartState
		news PartNews
		want PartState
	}{
		"waiting":                                {PartWaiting, PartNews{Canaries: true}, PartWaiting},
		"waiting, the endpoint disabled":         {PartWaiting, PartNews{Canaries: true, Disabled: true}, PartDisabled},
		"waiting, the endpoint deleted":          {PartWaiting, PartNews{Canaries: true, Gone: true}, PartDeleted},
		"the canary waits for its turn":          {PartCanary, PartNews{Canaries: true, Claim: ledger.Retry}, PartCanary},
		"it was sent anew by a person":           {PartCanary, PartNews{Canaries: true, Claim: ledger.New}, PartCanary},
		"it waits, the endpoint disabled":        {PartCanary, PartNews{Canaries: true, Claim: ledger.Retry, Disabled: true}, PartDisabled},
		"it is being sent":                       {PartCanary, PartNews{Canaries: true, Claim: ledger.Started, Tries: 1}, PartCanary},
		"it is being sent, disabled meanwhile":   {PartCanary, PartNews{Canaries: true, Claim: ledger.Started, Tries: 1, Disabled: true}, PartCanary},
		"it is being sent, deleted meanwhile":    {PartCanary, PartNews{Canaries: true, Claim: ledger.Started, Tries: 1, Gone: true}, PartDeleted},
		"delivered":                              {PartCanary, PartNews{Canaries: true, Claim: ledger.Done, Tries: 1}, PartOpen},
		"delivered, disabled meanwhile":          {PartCanary, PartNews{Canaries: true, Claim: ledger.Done, Tries: 1, Disabled: true}, PartDisabled},
		"refused, tried again later":             {PartCanary, PartNews{Canaries: true, Claim: ledger.Retry, Tries: 1}, PartRefused},
		"refused for good":                       {PartCanary, PartNews{Canaries: true, Claim: ledger.Failed, Tries: 1}, PartRefused},
		"refused by 410, which disables":         {PartCanary, PartNews{Canaries: true, Claim: ledger.Failed, Tries: 1, Disabled: true}, PartRefused},
		"nobody can know":                        {PartCanary, PartNews{Canaries: true, Claim: ledger.Stuck, Tries: 1}, PartRefused},
		"cancelled by a person":                  {PartCanary, PartNews{Canaries: true, Claim: ledger.Failed, Cancelled: true}, PartRefused},
		"it is not there any more":               {PartCanary, PartNews{Canaries: true}, PartRefused},
		"open":                                   {PartOpen, PartNews{Canaries: true}, PartOpen},
		"open, the endpoint disabled":            {PartOpen, PartNews{Canaries: true, Disabled: true}, PartDisabled},
		"open without canaries, disabled":        {PartOpen, PartNews{Disabled: true}, PartOpen},
		"open without canaries, deleted":         {PartOpen, PartNews{Gone: true}, PartDeleted},
		"what is over stays so":                  {PartRefused, PartNews{Canaries: true, Gone: true}, PartRefused},
		"what was cancelled hears of no outcome": {PartCancelled, PartNews{Canaries: true, Claim: ledger.Done}, PartCancelled},
	} {
		p := RedrivePart{State: c.was, Total: 5, Moved: 1}
		if c.was.Over() {
			p.Left = 4
		}
		if p.Hear(c.news); p.State != c.want {
			t.Errorf("%s: %s, want %s", what, p.State, c.want)
		}
		if left := p.Total - p.Moved - p.Left; p.State.Over() != (left == 0) {
			t.Errorf("%s: %s, and %d are neither moved nor left", what, p.State, left)
		}
	}
}
