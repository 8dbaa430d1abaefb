package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"
)

// Sign makes the Standard Webhooks v1 signature of a request: "v1," and the base64 of HMAC-SHA-256 over id, the
// second, and the body's own bytes. The header webhook-signature has one for each valid secret, a space between.
func Sign(secret []byte, id string, at time.Time, body []byte) string {
	var sum [sha256.Size]byte
	mac(sum[:0], secret, id, at.Unix(), body)
	out := make([]byte, len(signVersion)+base64.StdEncoding.EncodedLen(len(sum)))
	copy(out, signVersion)
	base64.StdEncoding.Encode(out[len(signVersion):], sum[:])
	return string(out)
}

const signVersion = "v1,"

func mac(to, secret []byte, id string, second int64, body []byte) []byte {
	m := hmac.New(sha256.New, secret)
	head := make([]byte, 0, len(id)+24)
	head = append(append(head, id...), '.')
	head = append(strconv.AppendInt(head, second, 10), '.')
	m.Write(head)
	m.Write(body)
	return m.Sum(to)
}
