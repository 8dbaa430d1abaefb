package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A delivery whose signature is refused was not taken: the next one under its key is no repetition.
func TestReceiveBadSignature(t *testing.T) {
	t.Parallel()
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	var out strings.Builder
	r := &receiver{receiveCmd: &receiveCmd{Status: 200, Secret: []string{secret}}, out: output{Writer: &out}, seen: map[string]int{}}
	send := func(signature string) int {
		req := httptest.NewRequest("POST", "/hook", strings.NewReader("{}"))
		req.Header.Set("Idempotency-Key", "k")
		req.Header.Set("Webhook-Id", "evt_7")
		req.Header.Set("Webhook-Timestamp", "1614265330")
		req.Header.Set("Webhook-Signature", signature)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		return w.Code
	}
	for range 2 {
		if got := send("v1,bm8="); got != http.StatusUnauthorized {
			t.Errorf("status %d, want 401", got)
		}
	}
	if strings.Contains(out.String(), "taken before") {
		t.Errorf("a delivery that was refused counts as taken:\n%s", &out)
	}
}
