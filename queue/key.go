package queue

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/onceward/onceward/internal/canon"
	"github.com/onceward/onceward/internal/fault"
)

// CheckKey refuses what is not a publish key. field is the JSON pointer that the error names.
func CheckKey(field, key string) error {
	ok := key != "" && len(key) <= MaxKey
	for i := range len(key) {
		ok = ok && ' ' <= key[i] && key[i] <= '~'
	}
	if !ok {
		return fault.Invalid(field, "the idempotency key %s is not 1 to %d printable ASCII characters, bare or quoted", fault.Quote(key), MaxKey)
	}
	return nil
}

// SetKey gives the message its publish key and the hash of what it says; an empty key is none, and hashes nothing. The body must be JSON.
func (p *Publish) SetKey(key string) (err error) {
	if p.Key = key; key != "" {
		p.Hash, err = p.hash()
	}
	return err
}

// hash is the same for two publishes that say the same: defaults filled in, the payload by its canonical form, origin_at only
// where it was given. It is kept with keys, so its form does not change. The SQL functions of store/postgres make the same.
func (p *Publish) hash() ([]byte, error) {
	b := make([]byte, 0, 128+2*len(p.Body))
	b = append(b, 1) // the form's version
	b = binary.BigEndian.AppendUint64(b, uint64(p.Delay/time.Microsecond))
	b = append(b, byte(p.Priority))
	b = appendPart(b, p.Group)
	origin := int64(-1)
	if !p.OriginAt.IsZero() {
		origin = p.OriginAt.UnixMicro()
	}
	b = binary.BigEndian.AppendUint64(b, uint64(origin))
	b = binary.BigEndian.AppendUint32(b, uint32(len(p.Headers)))
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		b = appendPart(appendPart(b, name), p.Headers[name])
	}
	b, err := canon.Append(b, p.Body)
	h := sha256.Sum256(b)
	return h[:], err
}

func appendPart(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}
