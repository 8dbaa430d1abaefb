package api

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onceward/onceward/access"
)

// Who calls while others look a key up shares what they find, be it that the key is live; that it is not is no answer to a call that came after the
// look began: the key may have been made in between.
func TestKeyMadeDuringALookUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var made atomic.Bool
		var looks atomic.Int32
		r := keyring{find: func(context.Context, []byte) (access.Key, bool, error) {
			looks.Add(1)
			live := made.Load()
			time.Sleep(100 * time.Millisecond)
			return access.Key{}, live, nil
		}}
		hash := make([]byte, 32)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, live, err := r.get(t.Context(), hash); live || err != nil {
				t.Errorf("before it is made: live %v, %v", live, err)
			}
		})
		time.Sleep(50 * time.Millisecond)
		made.Store(true)
		for range 3 {
			wg.Go(func() {
				if _, live, err := r.get(t.Context(), hash); !live || err != nil {
					t.Errorf("after it was made: live %v, %v", live, err)
				}
			})
		}
		wg.Wait()
		if n := looks.Load(); n != 2 {
			t.Errorf("%d looks, want one before and one that is shared", n)
		}
	})
}
