package webhook

import (
	"crypto/hmac"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Tolerance is how far a request's webhook-timestamp may be from the receiver's clock, either way.
const Tolerance = 5 * time.Minute

// What Verify answers of a request that is not to be believed, for errors.Is.
var (
	ErrUnsigned     = errors.New("the request has no usable webhook-id, webhook-timestamp and webhook-signature")
	ErrTooOld       = errors.New("the webhook-timestamp is older than five minutes")
	ErrTooNew       = errors.New("the webhook-timestamp is more than five minutes ahead")
	ErrBadSignature = errors.New("no signature matches the body")
)

// Verify reports whether a request that a receiver got was signed with one of its secrets, within [Tolerance] of now.
// The body is that of the wire, byte for byte: read it before any decoder does. Secrets are given as they were shown, with or without
// "whsec_"; give both while one is being rotated. Comparison takes the same time whatever differs.
//
// A request that verifies can still be one that came before: keep the Idempotency-Key of what was done.
func Verify(h http.Header, body []byte, now time.Time, secrets ...string) error {
	id, stamp, signatures := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp"), h.Get("Webhook-Signature")
	second, err := strconv.ParseInt(stamp, 10, 48) // more is no time
	if id == "" || err != nil || signatures == "" {
		return fmt.Errorf("verify webhook: %w", ErrUnsigned)
	}
	if len(secrets) == 0 {
		return errors.New("verify webhook: no secret was given")
	}
	switch at := time.Unix(second, 0); {
	case at.Before(now.Add(-Tolerance)):
		return fmt.Errorf("verify webhook: %w", ErrTooOld)
	case at.After(now.Add(Tolerance)):
		return fmt.Errorf("verify webhook: %w", ErrTooNew)
	}
	var given [][]byte
	for s := range strings.FieldsSeq(signatures) {
		if b, ok := strings.CutPrefix(s, signVersion); ok {
			if sum, err := base64.StdEncoding.DecodeString(b); err == nil {
				given = append(given, sum)
			}
		}
	}
	match := false
	for _, s := range secrets {
		secret, err := ParseSecret(s)
		if err != nil {
			return fmt.Errorf("verify webhook: %w", err)
		}
		want := mac(nil, secret, id, second, body)
		for _, sum := range given {
			match = hmac.Equal(sum, want) || match
		}
	}
	if !match {
		return fmt.Errorf("verify webhook: %w", ErrBadSignature)
	}
	return nil
}
