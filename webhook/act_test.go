package webhook

import (
	"errors"
	"testing"
	"time"

	"github.com/onceward/onceward/ledger"
)

func TestActs(t *testing.T) {
	t.Parallel()
	now := time.Now()
	held := ledger.Claim{LeaseUntil: now.Add(time.Microsecond)}
	if err := Sending.MayCancel(held.LeaseUntil, &held); err != nil {
		t.Errorf("cancelled in the instant in which the lease is over: %v", err)
	}
	for s, may := range map[State]string{
		Pending: "cancel", Retrying: "cancel", Sending: "", Delivered: "resend", Failed: "resend", Stuck: "resend resolve", Cancelled: "resend",
	} {
		got := ""
		for _, act := range []struct {
			name string
			err  error
		}{{"resend", s.MayResend()}, {"resolve", s.MayResolve()}, {"cancel", s.MayCancel(now, &held)}} {
			if act.err == nil {
				got += " " + act.name
			} else if !errors.Is(act.err, ErrConflict) {
				t.Errorf("%s, %s: %v", s, act.name, act.err)
			}
		}
		if got = got[min(1, len(got)):]; got != may {
			t.Errorf("%s may %q, want %q", s, got, may)
		}
	}
}
