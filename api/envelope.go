package api

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/onceward/onceward/internal/failpoint"
	"github.com/onceward/onceward/internal/fault"
)

// writer is data that writes its own JSON: the hot answers, and those that hold a payload's own bytes, which an encoder
// would put in another form.
type writer interface{ writeJSON(*bytes.Buffer) }

// list is a page: its items, never null, and the cursor of the next one, null at the end.
type list[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next_cursor"`
}

// answer sends data in its envelope; an error says that it did not reach the client.
func (c *call) answer(data any) error {
	if p, ok := data.(page); ok {
		return c.send(http.StatusOK, p.kind, p.body)
	}
	buf := getBuffer()
	defer putBuffer(buf)
	if !c.bare {
		buf.WriteString(`{"ok":true,"data":`)
	}
	if err := writeData(buf, data); err != nil {
		c.fail(err)
		return nil
	}
	if !c.bare {
		buf.WriteString(`,"error":null`)
		c.writeMetadata(buf)
	}
	release, err := c.hold(buf)
	if err != nil {
		if c.lost != nil {
			c.lost()
		}
		c.fail(err)
		return nil
	}
	defer release()
	if c.replay {
		c.w.Header().Set("Idempotent-Replayed", "true")
	}
	return c.send(http.StatusOK, jsonKind, buf.Bytes())
}

func writeData(buf *bytes.Buffer, data any) error {
	switch d := data.(type) {
	case writer:
		d.writeJSON(buf)
	case remembrance:
		buf.Write(d)
	default:
		return json.MarshalWrite(buf, d, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	}
	return nil
}

// writeMetadata writes what follows the error, to the end of the envelope.
func (c *call) writeMetadata(buf *bytes.Buffer) {
	buf.WriteString(`,"metadata":{"request_id":"`)
	buf.WriteString(c.id)
	buf.WriteString(`","latency_ms":`)
	buf.Write(strconv.AppendFloat(buf.AvailableBuffer(), float64(time.Since(c.start).Microseconds())/1000, 'f', -1, 64))
	buf.WriteString(`,"cost_usd":`)
	buf.WriteString(c.cost.String())
	if c.write {
		buf.WriteString(`,"idempotent_replay":`)
		writeBool(buf, c.replay)
	}
	buf.WriteString(`}}`)
}

const jsonKind = "application/json"

func (c *call) send(status int, kind string, body []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("X-Request-Id", c.id)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	c.status = status
	failpoint.At(failpoint.BeforeAnswer, c.route)
	c.w.WriteHeader(status)
	_, err := c.w.Write(body)
	return err
}

func writeError(buf *bytes.Buffer, e *fault.Error) {
	buf.WriteString(`{"code":"`)
	buf.WriteString(string(e.Code))
	buf.WriteString(`","message":`)
	writeString(buf, e.Message)
	buf.WriteString(`,"hint":`)
	writeOptional(buf, e.Hint)
	buf.WriteString(`,"field":`)
	writeOptional(buf, e.Field)
	buf.WriteByte('}')
}

func writeBool(buf *bytes.Buffer, v bool) { buf.Write(strconv.AppendBool(buf.AvailableBuffer(), v)) }

func writeInt(buf *bytes.Buffer, v int) {
	buf.Write(strconv.AppendInt(buf.AvailableBuffer(), int64(v), 10))
}

// writeString writes s as JSON; what is not UTF-8 in it becomes U+FFFD.
func writeString(buf *bytes.Buffer, s string) {
	b, _ := jsontext.AppendQuote(buf.AvailableBuffer(), s)
	buf.Write(b)
}

// writeOptional writes s, or null if it is empty.
func writeOptional(buf *bytes.Buffer, s string) {
	if s == "" {
		buf.WriteString("null")
		return
	}
	writeString(buf, s)
}

// timeLayout is RFC 3339 in UTC to the microsecond.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// writeTime writes t, or null if it is zero.
func writeTime(buf *bytes.Buffer, t time.Time) {
	if t.IsZero() {
		buf.WriteString("null")
		return
	}
	buf.Write(t.UTC().AppendFormat(buf.AvailableBuffer(), `"`+timeLayout+`"`))
}

// stamp is a time in an answer; zero is null.
type stamp time.Time

// MarshalJSON writes it as the contract has it.
func (s stamp) MarshalJSON() ([]byte, error) {
	if time.Time(s).IsZero() {
		return []byte("null"), nil
	}
	return []byte(time.Time(s).UTC().Format(`"` + timeLayout + `"`)), nil
}

// text gives a string in an answer, empty as null.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// maxPooled is the largest buffer that is kept: one large answer is not to hold its memory for ever.
const maxPooled = 1 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer {
	b := buffers.Get().(*bytes.Buffer)
	b.Reset()
	return b
}

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		buffers.Put(b)
	}
}
