package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/onceward/onceward/internal/canon"
)

// contentKey begins the keys that are made of payloads. A key that somebody gives is printable, so that none is one of them.
const contentKey = "\x01payload:"

// ByContent gives the publish as a queue with content_dedup takes it: one without a key has the hash of its payload's canonical form for one, so that
// two payloads that mean the same are one message in the key's window, and two that differ never are. What else the request says is compared as with any key.
func (p Publish) ByContent() (Publish, error) {
	if p.Key != "" {
		return p, nil
	}
	form, err := canon.Append(nil, p.Body)
	if err != nil {
		return p, fmt.Errorf("the payload's canonical form: %w", err)
	}
	sum := sha256.Sum256(form)
	p.Key = contentKey + hex.EncodeToString(sum[:])
	p.Hash, err = p.hash()
	return p, err
}
