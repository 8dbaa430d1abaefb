package webhook

import (
	"errors"
	"testing"
)

func TestActs(t *testing.T) {
	t.Parallel()
	for s, may := range map[State]string{
		Pending: "cancel", Retrying: "cancel", Sending: "", Delivered: "resend", Failed: "resend", Stuck: "resend resolve", Cancelled: "resend",
	} {
		got := ""
		for _, act := range []struct {
			name string
			err  error
		}{{"resend", s.MayResend()}, {"resolve", s.MayResolve()}, {"cancel", s.MayCancel()}} {
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
