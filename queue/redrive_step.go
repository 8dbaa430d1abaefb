package queue

import (
	"errors"
	"time"
)

// canaryPoll is how soon a canary's outcome, or a dead letter that somebody else has, is looked for again.
const canaryPoll = 100 * time.Millisecond

// Stepped says what a step of a redrive did.
type Stepped struct {
	Looked int           // at so many dead letters: moved or left
	Again  time.Duration // when it is worth to step again; 0: it is over
	Save   bool          // the redrive and its pace changed
}

// Step moves a redrive on at the database's time now. move is called with how many the pace allows, of limit at most, and counts in r what it
// moved and left. over: there is no more; idle: nothing has changed, nor can it before a canary is heard of or somebody else lets go of a dead letter.
func (r *Redrive) Step(now time.Time, pace *Pace, limit int, move func(allowed int) (over, idle bool, err error)) (Stepped, error) {
	allowed := pace.Allowed(now, limit)
	if allowed == 0 {
		return Stepped{Again: max(time.Millisecond, pace.Wait(now))}, nil
	}
	was := *r
	over, idle, err := move(allowed)
	if err != nil {
		return Stepped{}, err
	}
	pace.Spend(int(r.Moved - was.Moved))
	s := Stepped{Looked: int(r.Moved + r.Left - was.Moved - was.Left), Save: true}
	r.Counted()
	switch {
	case over:
		r.End(now, Completed)
	case idle:
		return Stepped{Again: canaryPoll}, nil
	default:
		s.Again = max(time.Millisecond, pace.Wait(now))
	}
	return s, nil
}

// StepEach steps each of the running redrives, in shares of limit so that none takes another's. One that fails is stepped again in a second, and
// stops no other.
func StepEach[R any](running []R, limit int, step func(r R, limit int) (Stepped, error)) (looked int, again time.Duration, err error) {
	for i, r := range running {
		s, e := step(r, max(1, (limit-looked)/(len(running)-i)))
		if e != nil {
			err, s = errors.Join(err, e), Stepped{Again: time.Second}
		}
		looked += s.Looked
		if s.Again > 0 && (again == 0 || s.Again < again) {
			again = s.Again
		}
	}
	return looked, again, err
}
