package webhook

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"time"

	"github.com/onceward/onceward/internal/fault"
)

const (
	secretPrefix = "whsec_"
	minSecret    = 24
	maxSecret    = 64
	newSecret    = 32

	// MaxSecrets is how many secrets of an endpoint can be valid at a time: each is a signature in every request.
	MaxSecrets = 5
	// MaxGrace is the longest that a rotated secret may go on being signed with.
	MaxGrace = 30 * 24 * time.Hour
)

// NewSecret makes a signing secret: "whsec_" and the base64 of 32 random bytes.
func NewSecret() string {
	b := make([]byte, newSecret)
	rand.Read(b)
	return secretPrefix + base64.StdEncoding.EncodeToString(b)
}

// ParseSecret gives a secret's bytes. The text is base64 of 24 to 64 bytes, with or without "whsec_" before it, as
// Standard Webhooks writes it; it is never taken as raw bytes.
func ParseSecret(s string) ([]byte, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(s, secretPrefix))
	if err != nil {
		return nil, fault.Invalid("/secret", "a secret is %q and the base64 of 24 to 64 bytes; this is not base64", secretPrefix)
	}
	if len(b) < minSecret || len(b) > maxSecret {
		return nil, fault.Invalid("/secret", "a secret is %q and the base64 of 24 to 64 bytes; this one has %d bytes", secretPrefix, len(b))
	}
	return b, nil
}

// sealSecret makes a new secret, or takes the one given, which must have its prefix: without it, raw text that happens
// to be base64 would sign with other bytes than its owner believes.
func sealSecret(project int64, given *string, r Rules) (Secret, string, error) {
	s := NewSecret()
	if given != nil {
		s = *given
		if !strings.HasPrefix(s, secretPrefix) {
			return Secret{}, "", fault.Invalid("/secret", "a secret begins with %q, then the base64 of 24 to 64 bytes", secretPrefix)
		}
	}
	raw, err := ParseSecret(s)
	if err != nil {
		return Secret{}, "", err
	}
	sealed, err := r.Sealer.Seal(project, raw)
	if err != nil {
		return Secret{}, "", err
	}
	return Secret{Sealed: sealed}, s, nil
}

// Rotate gives an endpoint a new secret, made if none is given. The former ones are signed with for grace more, 0 to
// [MaxGrace]; one that ends sooner still does. The new secret is returned, to be shown this once. ErrConflict if
// more than [MaxSecrets] would be valid.
func Rotate(now time.Time, e *Endpoint, secret *string, grace time.Duration, r Rules) (newSecret string, err error) {
	if grace < 0 || grace > MaxGrace {
		return "", fault.Invalid("/grace_seconds", "grace_seconds is %v; it must be 0 to %d", grace.Seconds(), int(MaxGrace.Seconds()))
	}
	s, shown, err := sealSecret(e.Project, secret, r)
	if err != nil {
		return "", err
	}
	secrets := []Secret{s}
	for _, old := range e.Secrets {
		if end := now.Add(grace); old.ExpiresAt.IsZero() || old.ExpiresAt.After(end) {
			old.ExpiresAt = end
		}
		if old.ExpiresAt.After(now) {
			secrets = append(secrets, old)
		}
	}
	if len(secrets) > MaxSecrets {
		return "", fault.New(fault.Conflict, "the endpoint has %d secrets that are still valid, the most there can be", len(e.Secrets)).
			WithHint("rotate with grace_seconds 0, or wait until one of them ends")
	}
	e.Secrets = secrets
	return shown, nil
}
