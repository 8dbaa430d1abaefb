package storetest

import (
	"strings"

	"github.com/onceward/onceward/ledger"
)

var claimListTests = []named{
	{"keys of a state are listed newest first, over pages each once", claimsListed},
	{"I13: a list of keys has a project's own, and no deliveries", claimsOwn},
}

// keysIn lists the keys of a state by pages of n.
func (r *rig) keysIn(s ledger.State, n int) (keys []string) {
	r.Helper()
	for after := int64(0); ; {
		page, err := r.Claims(r.ctx, r.project, s, after, n)
		r.ok(err)
		for _, c := range page {
			want(r, "state", c.State, s)
			want(r, "result of "+c.Key, len(c.Result), 0)
			keys, after = append(keys, c.Key), c.ID
		}
		if len(page) < n {
			return keys
		}
	}
}

func claimsListed(r *rig) {
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		a := r.ask(r.call(key), ledger.Granted)
		w := word(a, ledger.Succeeded)
		w.Result = []byte(`"large"`)
		switch key {
		case "b":
			r.say(word(a, ledger.Permanent), ledger.Failed)
		case "e":
			r.say(word(a, ledger.Definite), ledger.Retry)
		default:
			r.say(w, ledger.Done)
		}
	}
	for _, n := range []int{1, 2, 3, 50} {
		want(r, "done", strings.Join(r.keysIn(ledger.Done, n), ""), "fdca")
	}
	want(r, "failed", strings.Join(r.keysIn(ledger.Failed, 2), ""), "b")
	want(r, "retry", strings.Join(r.keysIn(ledger.Retry, 2), ""), "e")
	want(r, "stuck", strings.Join(r.keysIn(ledger.Stuck, 2), ""), "")
	page, err := r.Claims(r.ctx, r.project, ledger.Retry, 0, 1)
	r.ok(err)
	whole := r.find("e")
	want(r, "as it is found", page[0].OpID() == whole.OpID() && page[0].Owner == whole.Owner && page[0].NextAt.Equal(whole.NextAt), true)
}

func claimsOwn(r *rig) {
	r.endpoint()
	r.delivery("evt1")
	r.take(1)
	r.ask(r.call("ours"), ledger.Granted)
	r.project = 2
	r.ask(r.call("theirs"), ledger.Granted)
	want(r, "theirs", strings.Join(r.keysIn(ledger.Started, 5), ""), "theirs")
	r.project = 1
	want(r, "ours", strings.Join(r.keysIn(ledger.Started, 5), ""), "ours")
}
