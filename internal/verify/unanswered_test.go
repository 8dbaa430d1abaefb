package verify

import (
	"context"
	"errors"
	"sync"
	"testing"
)

// What a server answers to a call that is made again is held against the first answer, and against what the store had.
func TestHandAgain(t *testing.T) {
	t.Parallel()
	cut := errors.New("the server was killed")
	old, other := answer{id: "a", replay: true}, answer{id: "b", replay: true}
	for name, c := range map[string]struct {
		first   *call
		again   [2]answer
		doubled bool
	}{
		"answered":                          {&call{answer: answer{id: "a"}}, [2]answer{old, old}, false},
		"stored, not answered":              {&call{err: cut, stored: true}, [2]answer{old, old}, false},
		"not stored":                        {&call{err: cut}, [2]answer{{id: "a"}, old}, false},
		"stored after the look":             {&call{err: cut}, [2]answer{old, old}, false},
		"answered, another id":              {&call{answer: answer{id: "a"}}, [2]answer{other, other}, true},
		"answered, another delivery":        {&call{answer: answer{id: "a"}}, [2]answer{{id: "a", delivery: "d", replay: true}, old}, true},
		"answered, new again":               {&call{answer: answer{id: "a"}}, [2]answer{{id: "a"}, old}, true},
		"stored, not answered, new again":   {&call{err: cut, stored: true}, [2]answer{{id: "a"}, old}, true},
		"not stored, two ids":               {&call{err: cut}, [2]answer{{id: "a"}, other}, true},
		"not stored, new to both that call": {&call{err: cut}, [2]answer{{id: "a"}, {id: "a"}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			answers := c.again[:]
			w := work{hand: func(*server, context.Context, int) (answer, error) {
				mu.Lock()
				defer mu.Unlock()
				a := answers[0]
				answers = answers[1:]
				return a, nil
			}}
			r := &run{verdict: &verdict{}}
			if err := r.handAgain(t.Context(), nil, w, []*call{c.first}); err != nil {
				t.Fatal(err)
			}
			if r.verdict.doubled != c.doubled {
				t.Errorf("doubled %v: %v", r.verdict.doubled, r.verdict.reasons)
			}
		})
	}
}
