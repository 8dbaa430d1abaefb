package idempotency

import (
	"errors"
	"testing"
)

func TestAgain(t *testing.T) {
	t.Parallel()
	r := Request{Key: "k", Hash: []byte{1}}
	if err := r.Again([]byte{1}); err != nil {
		t.Error(err)
	}
	for _, other := range [][]byte{nil, {2}, {1, 1}} {
		if err := r.Again(other); !errors.Is(err, ErrKeyReused) {
			t.Errorf("%x: %v", other, err)
		}
	}
}
