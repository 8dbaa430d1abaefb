package history

import (
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// The words of answers.
const (
	New     = "new"
	Replay  = "replay"
	Granted = "granted"
	Done    = "done"
	Busy    = "busy"
	Stuck   = "stuck"
	Failed  = "failed"
	Applied = "applied"
	Fenced  = "fenced"
)

// linearizable holds each publish key, and each key of work, against its model: the calls of all processes must be explained by some order in which each took
// effect at one instant between its beginning and its answer. A call that was never answered, or with what may pass, took effect at any time from then on, or never.
func (c *checker) linearizable() {
	publishes, work := map[string][]porcupine.Operation{}, map[string][]porcupine.Operation{}
	client := 0
	for _, e := range c.Events {
		if e.Key == "" || e.Answer == Busy { // busy says that somebody holds the key by the database's clock: the rows' part
			continue
		}
		returned := e.Answered
		if open := e.Answered == 0 || e.Answer == "" || e.Answer == strings.ToUpper(e.Answer); open {
			e.Answer, returned = "", math.MaxInt64
		}
		op := porcupine.Operation{ClientId: client, Input: e, Output: e, Call: e.Called, Return: returned}
		switch e.Do {
		case Publish:
			publishes[e.Key] = append(publishes[e.Key], op)
		case Claim, Begin, Complete, Fail, Resolve:
			work[e.Key] = append(work[e.Key], op)
		default:
			continue
		}
		client++
	}
	c.each("I4", publishes, publishModel)
	c.each("I5", work, workModel)
}

func (c *checker) each(invariant string, keys map[string][]porcupine.Operation, m porcupine.Model) {
	for _, key := range sorted(keys) {
		switch porcupine.CheckOperationsTimeout(m, keys[key], mostTime) {
		case porcupine.Illegal:
			c.say(invariant, "no order of its calls explains the answers about %s", key)
		case porcupine.Unknown:
			c.say(invariant, "the calls about %s could not be judged within %v", key, mostTime)
		}
	}
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// publishModel is a publish key: the first publish stores, every other is told the same id.
var publishModel = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		id, e := state.(string), input.(Event)
		const unheard = "?" // stored, and nobody was told the id
		switch {
		case e.Answer == "" && id == "":
			return true, unheard
		case e.Answer == "":
			return true, id
		case e.Answer == New:
			return id == "", e.Message
		default:
			return id == unheard || id == e.Message, e.Message
		}
	},
	Equal: func(a, b any) bool { return a == b },
}

// work is a key of work as its callers can know it.
type workKey struct {
	fence int64
	state string // "": open
}

// workModel is a key of work. That leases end is time's doing, which the rows are held against; here a grant may come at any time, but under the next fence, and
// never of what is done.
var workModel = porcupine.Model{
	Init: func() any { return workKey{} },
	Step: func(state, input, _ any) (bool, any) {
		k, e := state.(workKey), input.(Event)
		newest := e.Fence == k.fence
		switch {
		case e.Do == Claim:
			return k.claimed(e)
		case e.Do == Resolve && e.Answer == "":
			return true, k
		case e.Do == Resolve: // the answer is the state that it has now
			return newest, workKey{k.fence, openOr(e.Answer)}
		case e.Answer == Fenced:
			return !newest, k
		case e.Do == Begin:
			return e.Answer != Applied || newest, k
		case e.Do == Complete && newest && (e.Answer == Applied || e.Answer == ""):
			if k.state == Failed {
				return e.Answer == "", k
			}
			return true, workKey{k.fence, Done}
		case e.Answer == "": // a failure whose answer was lost, or a success of one that was fenced out
			return true, k
		case e.Answer == Applied || strings.HasPrefix(e.Answer, Applied+":"): // a failure, or a success under an old fence
			_, to, _ := strings.Cut(e.Answer, ":")
			return newest && e.Do == Fail && k.state != Done, workKey{k.fence, openOr(to)}
		}
		return true, k // refused for another reason: nothing changed
	},
	Equal: func(a, b any) bool { return a == b },
}

func (k workKey) claimed(e Event) (bool, any) {
	switch e.Answer {
	case Granted:
		return k.state == "" && e.Fence == k.fence+1, workKey{e.Fence, ""}
	case "":
		if k.state == "" {
			return true, workKey{k.fence + 1, ""}
		}
		return true, k
	case Done:
		return k.state == Done, k
	case Stuck, Failed: // by itself, when a lease was over
		return k.state == "" || k.state == e.Answer, workKey{k.fence, e.Answer}
	}
	return true, k
}

func openOr(state string) string {
	if closed(state) {
		return state
	}
	return ""
}
