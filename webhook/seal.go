package webhook

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"
)

// sealVersion is the first byte of what Seal makes: AES-256-GCM, the nonce before the text.
const sealVersion = 1

// A Sealer encrypts secrets before they are stored. Sealed text is bound to its project: moved to another
// project's row it does not open. A nil Sealer seals and opens nothing, with an error.
type Sealer struct{ aead cipher.AEAD }

// NewSealer makes a Sealer with a key of 32 bytes.
func NewSealer(key []byte) (*Sealer, error) {
	if len(key) != 32 {
		return nil, fmt.Errorf("the secrets key has %d bytes; it must have 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("secrets key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("secrets key: %w", err)
	}
	return &Sealer{aead}, nil
}

var errNoSealer = errors.New("no secrets key is set, so no secret can be sealed or opened")

// Seal encrypts a secret of a project. Two seals of one secret differ.
func (s *Sealer) Seal(project int64, secret []byte) ([]byte, error) {
	if s == nil {
		return nil, errNoSealer
	}
	out := make([]byte, 1, 1+len(secret)+s.aead.Overhead())
	out[0] = sealVersion
	return s.aead.Seal(out, nil, secret, sealedFor(project)), nil
}

// Open decrypts what Seal made for the same project under the same key.
func (s *Sealer) Open(project int64, sealed []byte) ([]byte, error) {
	if s == nil {
		return nil, errNoSealer
	}
	if len(sealed) == 0 || sealed[0] != sealVersion {
		return nil, errors.New("open secret: not in a form that this version knows")
	}
	secret, err := s.aead.Open(nil, nil, sealed[1:], sealedFor(project))
	if err != nil {
		return nil, errors.New("open secret: it was sealed with another key or for another project")
	}
	return secret, nil
}

func sealedFor(project int64) []byte {
	return binary.BigEndian.AppendUint64([]byte("onceward webhook secret "), uint64(project))
}
