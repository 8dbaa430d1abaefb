package ledger

import (
	"bytes"
	"strings"
	"time"
)

// beyondWindow is why a key is stuck whose next try would come too late.
const beyondWindow = "the next try would come when the receiver no longer remembers the key of one with an unknown outcome"

// minWait is the least a busy worker is told to wait: never a hot loop, whatever the clock says.
const minWait = time.Second

// Grant asks for a key.
type Grant struct {
	GrantID  string // fresh for each call; repeated only to ask again for its own lost answer
	Owner    string
	Lease    time.Duration
	WorkHash []byte // nil is not compared
	Lost     bool   // the lease of the message that is to carry the key is lost: whoever has the message now may be granted it
}

// Ruling is the answer to a Grant.
type Ruling struct {
	Verdict  Verdict
	Wait     time.Duration // of Busy
	Changed  bool          // the claim must be saved
	Lapsed   bool          // a holder was found dead: its try, the Claim's former Attempt, ends with an unknown outcome
	NotBegun bool          // with Lapsed: that holder certainly never began the effect
	Repeated bool          // the same call again: nothing changes
	Lost     bool          // Busy, since the caller's message is another's by now
}

// Links reports whether the message that asked carries the key from now on: its work is to be done, or it is to be dead-lettered with the
// key, so that its redrive opens that again.
func (r Ruling) Links() bool {
	switch r.Verdict {
	case Granted:
		return !r.Repeated
	case WasFailed, WasStuck, TooOld:
		return true
	}
	return false
}

// Link notes the message that carries the key: that of its newest grant, with the lease under which it was granted. Of a key that has ended it
// is the one that it had, which may lie as a dead letter for a person's word.
func (c *Claim) Link(r Ruling, message int64, lease int) {
	switch {
	case r.Verdict == Granted:
		c.MessageID, c.Lease = message, lease
	case c.MessageID == 0:
		c.MessageID = message
	}
}

// Grant rules on a call for the key at the database's time now, and makes the change it rules.
func (c *Claim) Grant(now time.Time, g Grant) Ruling {
	switch {
	case c.WorkHash != nil && g.WorkHash != nil && !bytes.Equal(c.WorkHash, g.WorkHash):
		return Ruling{Verdict: Mismatch}
	case c.State.Terminal():
		return Ruling{Verdict: Verdict(c.State)}
	case c.State.Held() && c.LeaseUntil.After(now):
		if c.GrantID == g.GrantID && c.Owner == g.Owner {
			return Ruling{Verdict: Granted, Repeated: true}
		}
		return Ruling{Verdict: Busy, Wait: max(minWait, c.LeaseUntil.Sub(now)), Lost: g.Lost}
	case c.GrantID != "" && c.GrantID == g.GrantID:
		return Ruling{Verdict: Busy, Wait: max(minWait, c.NextAt.Sub(now)), Lost: g.Lost} // its grant is over: a new call needs a new id
	case c.State == Retry && c.NextAt.After(now):
		return Ruling{Verdict: Busy, Wait: max(minWait, c.NextAt.Sub(now)), Lost: g.Lost}
	}
	if g.Lost {
		return Ruling{Verdict: Busy, Wait: minWait, Lost: true}
	}
	r := Ruling{Changed: true, Lapsed: c.State.Held(), NotBegun: c.State == Claimed}
	if s, why := c.over(now); s != "" {
		c.end(now, s, why)
		r.Verdict = Verdict(s)
		return r
	}
	if c.tooOld(now) {
		c.Close(now, "older than the ledger's memory of 90 days")
		r.Verdict = TooOld
		return r
	}
	mayHave := c.Ambiguous || c.State == Started
	if c.Attempt == 0 && c.WorkHash == nil {
		c.WorkHash = g.WorkHash
	}
	c.Ambiguous = mayHave
	c.Fence++
	c.Attempt++
	c.Tries++
	c.GrantID, c.Owner = g.GrantID, g.Owner
	c.LeaseUntil, c.NextAt = now.Add(g.Lease), time.Time{}
	if c.Policy == Once {
		c.State = Claimed
	} else {
		c.State, c.Begun = Started, c.Fence
		if !mayHave || c.FirstAt.IsZero() {
			c.FirstAt = now
		}
	}
	r.Verdict = Granted
	return r
}

// over reports the state in which a claim that is held past its lease or waits must end because it may not be tried
// again, and why; "" if it may be.
func (c *Claim) over(now time.Time) (State, string) {
	mayHave := c.Ambiguous || c.State == Started
	switch {
	case c.State == Started && c.Policy == Once:
		return Stuck, "the worker died after the effect may have begun"
	case c.Tries >= c.MaxTries && mayHave:
		return Stuck, "tries used up, one of them with an unknown outcome"
	case c.Tries >= c.MaxTries:
		return Failed, "tries used up"
	case c.Policy == Idempotent && mayHave && c.windowOver(now):
		return Stuck, "the receiver no longer remembers the key of a try with an unknown outcome"
	}
	return "", ""
}

// tooOld reports whether the work is older than the ledger's memory. What a person sent back is not, until it was tried or waited as long again.
func (c *Claim) tooOld(now time.Time) bool {
	back := c.State == Retry && c.Tries == 0 && now.Sub(c.NextAt) <= Memory
	return !c.OriginAt.IsZero() && now.Sub(c.OriginAt) > Memory && !back
}

func (c *Claim) windowOver(now time.Time) bool {
	return c.Window > 0 && !c.FirstAt.IsZero() && !now.Before(c.FirstAt.Add(c.Window))
}

// end moves an open claim to a terminal state.
func (c *Claim) end(now time.Time, s State, why string) {
	c.Ambiguous = c.Ambiguous || c.State == Started && s != Done
	c.State, c.LastError = s, why
	c.LeaseUntil, c.NextAt, c.FinishedAt = time.Time{}, time.Time{}, time.Time{}
	if s != Stuck {
		c.FinishedAt = now
	}
}

// Applied says what became of a holder's word.
type Applied struct {
	Applied    bool
	State      State     // of the claim now
	Reason     string    // why it was not applied: fenced, not_begun, or the terminal state
	LeaseUntil time.Time // of a Begin that was applied
}

func (c *Claim) refused(reason string) Applied { return Applied{State: c.State, Reason: reason} }

// Refused is the line of history of a word that was not applied.
func (a Applied) Refused(fence int64, word string) Note {
	if a.Reason == Fenced {
		return Note{What: Fenced, Fence: fence, Detail: word}
	}
	return Note{What: "refused", Fence: fence, Detail: word}
}

// Reasons of words that change nothing.
const (
	Fenced   = "fenced"
	NotBegun = "not_begun"
	NoKey    = "not_found" // there is no such key, or no more
)

// Begin is the durable line before the effect of a Once claim, and the heartbeat of both policies.
func (c *Claim) Begin(now time.Time, fence int64, lease time.Duration) Applied {
	switch {
	case c.Fence != fence:
		return c.refused(Fenced)
	case !c.State.Held():
		return c.refused(string(c.State))
	}
	if c.Begun != fence {
		c.Begun = fence
		if !c.Ambiguous || c.FirstAt.IsZero() {
			c.FirstAt = now
		}
	}
	c.State, c.LeaseUntil = Started, now.Add(lease)
	return Applied{Applied: true, State: c.State, LeaseUntil: c.LeaseUntil}
}

// Settle applies the outcome of the try of fence. A late success counts as long as nobody else was granted the key.
func (c *Claim) Settle(now time.Time, fence int64, kind Kind, retryIn time.Duration, word string, result []byte) Applied {
	if c.Fence != fence {
		return c.refused(Fenced)
	}
	begun := c.Begun == fence
	if kind == Succeeded {
		switch {
		case c.State == Done:
			return Applied{Applied: true, State: Done} // the same word again
		case c.State == Failed || c.State == New:
			return c.refused(string(c.State))
		case !begun:
			return c.refused(NotBegun)
		}
		c.end(now, Done, "")
		c.Result = result
		return Applied{Applied: true, State: Done}
	}
	if !c.State.Held() {
		return c.refused(string(c.State))
	}
	if kind == Ambiguous && !begun {
		kind = Definite // what was not begun cannot have happened
	}
	amb := c.Ambiguous || kind == Ambiguous
	c.LastError, c.LeaseUntil = word, time.Time{}
	s := Retry
	switch {
	case kind == GivenBack:
		c.Tries, c.Attempt = c.Tries-1, c.Attempt-1
		if c.Attempt == 0 && !amb {
			c.WorkHash = nil // nothing was ever begun under it: the key stands for no work yet
		}
	case kind == Ambiguous && c.Policy == Once:
		s = Stuck
	case kind == Permanent || c.Tries >= c.MaxTries:
		s = Failed
		if amb {
			s = Stuck
		}
	case amb && c.Policy == Idempotent && c.windowOver(now.Add(retryIn)): // nobody would be granted the next try
		s = Stuck
		c.LastError = strings.TrimPrefix(word+"; "+beyondWindow, "; ")
	}
	c.State, c.Ambiguous = s, amb
	switch s {
	case Retry:
		c.NextAt = now.Add(retryIn)
	case Failed:
		c.FinishedAt = now
	}
	return Applied{Applied: true, State: s}
}

// Reap moves a claim whose holder is gone, or whose wait can lead nowhere, and reports whether it did.
func (c *Claim) Reap(now time.Time) bool {
	lapsed := c.State.Held() && !c.LeaseUntil.After(now)
	switch {
	case lapsed:
	case c.State == Retry && (c.Policy == Idempotent && c.Ambiguous && c.windowOver(now)):
	case c.State == Retry && c.tooOld(now):
		c.Close(now, "older than the ledger's memory of 90 days")
		return true
	default:
		return false
	}
	if s, why := c.over(now); s != "" {
		c.end(now, s, why)
		return true
	}
	if !lapsed {
		return false
	}
	c.Ambiguous = c.Ambiguous || c.State == Started
	c.LastError = "the worker's lease ran out in state " + string(c.State)
	c.State, c.NextAt, c.LeaseUntil = Retry, now, time.Time{}
	return true
}

// ForgetAt is until when a claim that is done or failed is remembered; zero for every other, which is for ever.
func (c *Claim) ForgetAt() time.Time {
	switch {
	case c.State != Done && c.State != Failed:
		return time.Time{}
	case c.Keep == 0:
		return c.FinishedAt.Add(Memory)
	}
	return c.FinishedAt.Add(c.Keep)
}

// Forgotten reports whether a claim ended so long ago that its key is as one that never was.
func (c *Claim) Forgotten(now time.Time) bool {
	at := c.ForgetAt()
	return !at.IsZero() && !now.Before(at)
}

// Close ends an open claim whose message is dead-lettered or expires: failed if nothing can have happened, else stuck.
// It reports whether the claim was open.
func (c *Claim) Close(now time.Time, why string) bool {
	if c.State.Terminal() {
		return false
	}
	s := Failed
	if c.Ambiguous || c.State == Started {
		s = Stuck
	}
	c.end(now, s, why)
	return true
}

// Reopen is a redrive: the key may be tried again with tries 0 and the receiver's window anew, the fence kept. A stuck
// claim of policy Once is left for a person to resolve; so is one that is not failed or stuck.
func (c *Claim) Reopen(now time.Time) bool {
	if !c.Reopens() {
		return false
	}
	c.reopen(now)
	return true
}

// Reopens reports whether a redrive reopens it.
func (c *Claim) Reopens() bool {
	return c.State == Failed || c.State == Stuck && c.Policy == Idempotent
}

func (c *Claim) reopen(now time.Time) {
	c.State, c.NextAt, c.FinishedAt, c.FirstAt = Retry, now, time.Time{}, time.Time{}
	c.Tries = 0
}

// Resolve is a person's word on a stuck claim, or, with Retry, on a failed one. It reports whether it applies.
func (c *Claim) Resolve(now time.Time, as State) bool {
	switch {
	case as == Retry && (c.State == Stuck || c.State == Failed):
		c.Ambiguous = false // the person answers for what happened
		c.reopen(now)
	case (as == Done || as == Failed) && c.State == Stuck:
		c.State, c.FinishedAt = as, now
		c.Ambiguous = c.Ambiguous && as == Done // who says that it failed answers for it
	default:
		return false
	}
	return true
}
