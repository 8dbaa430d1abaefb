// Package ids turns row numbers into the ids that clients see, and back. An id is a prefix and 24 alphanumerics that
// hold the row's number and a keyed hash over project, kind and number: sortable by creation, not guessable, and
// checked without a look-up, so that an id of another project is simply no id.
package ids

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strings"
	"time"
)

// Kind is what an id names: its prefix.
type Kind string

// The kinds of the HTTP contract.
const (
	Message  Kind = "qmsg_"
	Event    Kind = "evt_"
	Endpoint Kind = "ep_"
	Delivery Kind = "dlv_"
	Attempt  Kind = "att_"
	Redrive  Kind = "rdv_"
	Key      Kind = "key_"
	Project  Kind = "prj_"
	Push     Kind = "psh_"

	receipt Kind = "rct_"
	cursor  Kind = "cur_"
)

const (
	macLen  = 9
	bodyLen = 8 + macLen // 24 base62 digits hold 142 bits, so 17 bytes
	digits  = 24
	// Seventeen bytes and a lease number: 21 bytes want 29 digits.
	receiptDigits = 29
	alphabet      = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Codec makes and reads the ids of one store.
type Codec struct{ secret []byte }

// New makes a Codec over the store's secret, at least 16 bytes that never change.
func New(secret []byte) *Codec { return &Codec{append([]byte(nil), secret...)} }

// Encode gives the id of a row.
func (c *Codec) Encode(k Kind, project, id int64) string { return c.seal(k, "", project, id) }

// Decode gives the row of an id; false if it is not one of this project and kind.
func (c *Codec) Decode(k Kind, project int64, s string) (int64, bool) {
	return c.open(k, "", project, s)
}

func (c *Codec) seal(k Kind, name string, project, id int64) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, bodyLen), uint64(id))
	return string(k) + base62(append(b, c.mac(string(k), name, project, id, 0)...), digits)
}

func (c *Codec) open(k Kind, name string, project int64, s string) (int64, bool) {
	rest, ok := strings.CutPrefix(s, string(k))
	if !ok {
		return 0, false
	}
	b, ok := unbase62(rest, digits, bodyLen)
	if !ok {
		return 0, false
	}
	id := int64(binary.BigEndian.Uint64(b))
	return id, hmac.Equal(b[8:], c.mac(string(k), name, project, id, 0))
}

// Receipt gives the handle of one receive of a message: only the newest of a message acts.
func (c *Codec) Receipt(project int64, queue string, id int64, lease int) string {
	b := binary.BigEndian.AppendUint64(make([]byte, 0, bodyLen+4), uint64(id))
	b = binary.BigEndian.AppendUint32(b, uint32(lease))
	return string(receipt) + base62(append(b, c.mac(string(receipt), queue, project, id, lease)...), receiptDigits)
}

// OpenReceipt reads a handle that Receipt made for this project and queue.
func (c *Codec) OpenReceipt(project int64, queue, s string) (id int64, lease int, ok bool) {
	rest, ok := strings.CutPrefix(s, string(receipt))
	if !ok {
		return 0, 0, false
	}
	b, ok := unbase62(rest, receiptDigits, bodyLen+4)
	if !ok {
		return 0, 0, false
	}
	id, lease = int64(binary.BigEndian.Uint64(b)), int(binary.BigEndian.Uint32(b[8:]))
	return id, lease, hmac.Equal(b[12:], c.mac(string(receipt), queue, project, id, lease))
}

// Cursor gives the place after row id in the list that name names.
func (c *Codec) Cursor(project int64, name string, id int64) string {
	return c.seal(cursor, name, project, id)
}

// OpenCursor reads a cursor that Cursor made for this project and list.
func (c *Codec) OpenCursor(project int64, name, s string) (int64, bool) {
	return c.open(cursor, name, project, s)
}

// NewEventID makes an id for an event that came without one: the millisecond, then chance.
func NewEventID(now time.Time) string {
	var b [bodyLen]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	rand.Read(b[6:])
	return string(Event) + base62(b[:], digits)
}

func (c *Codec) mac(kind, name string, project, id int64, lease int) []byte {
	m := hmac.New(sha256.New, c.secret)
	b := make([]byte, 0, 96)
	b = append(append(b, kind...), 0)
	b = binary.BigEndian.AppendUint64(b, uint64(project))
	b = binary.BigEndian.AppendUint64(b, uint64(id))
	b = binary.BigEndian.AppendUint32(b, uint32(lease))
	m.Write(append(b, name...))
	return m.Sum(nil)[:macLen]
}

// base62 writes b as a number in base 62, n digits, the most significant first: byte order is kept.
func base62(b []byte, n int) string {
	out := make([]byte, n)
	v := make([]uint32, (len(b)+3)/4)
	for i := range b { // big-endian limbs
		j := len(b) - 1 - i
		v[len(v)-1-i/4] |= uint32(b[j]) << (8 * (i % 4))
	}
	for i := n - 1; i >= 0; i-- {
		var rem uint64
		for j := range v {
			cur := rem<<32 | uint64(v[j])
			v[j], rem = uint32(cur/62), cur%62
		}
		out[i] = alphabet[rem]
	}
	return string(out)
}

func unbase62(s string, n, size int) ([]byte, bool) {
	if len(s) != n {
		return nil, false
	}
	v, base := new(big.Int), big.NewInt(62)
	for i := range len(s) {
		d := strings.IndexByte(alphabet, s[i])
		if d < 0 {
			return nil, false
		}
		v.Add(v.Mul(v, base), big.NewInt(int64(d)))
	}
	if v.BitLen() > 8*size {
		return nil, false
	}
	return v.FillBytes(make([]byte, size)), true
}
