package api

import (
	"bytes"
	"maps"
	"slices"

	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
)

// messageList is a page of messages that are looked at.
type messageList struct {
	c      *call
	m      []queue.Message
	next   *string
	status func(*queue.Message) queue.Status
}

func (l messageList) writeJSON(buf *bytes.Buffer) {
	buf.WriteString(`{"items":[`)
	for i := range l.m {
		if i > 0 {
			buf.WriteByte(',')
		}
		m := &l.m[i]
		l.c.writeMessage(buf, m, l.status(m))
		buf.WriteString(`,"visible_at":`)
		writeTime(buf, m.VisibleAt)
		buf.WriteByte('}')
	}
	buf.WriteString(`],"next_cursor":`)
	writeOptional(buf, or(l.next, ""))
	buf.WriteByte('}')
}

// writeMessage writes what every look at a message has, and leaves its object open.
func (c *call) writeMessage(buf *bytes.Buffer, m *queue.Message, status queue.Status) {
	buf.WriteString(`{"message_id":"`)
	buf.WriteString(c.IDs.Encode(ids.Message, c.project, m.ID))
	buf.WriteString(`","queue":`)
	writeString(buf, m.Queue)
	buf.WriteString(`,"payload":`)
	buf.Write(m.Body)
	buf.WriteString(`,"headers":`)
	writeHeaders(buf, m.Headers)
	buf.WriteString(`,"priority":`)
	writeInt(buf, m.Priority)
	buf.WriteString(`,"message_group_id":`)
	writeOptional(buf, m.Group)
	buf.WriteString(`,"status":"`)
	buf.WriteString(string(status))
	buf.WriteString(`","delivery_count":`)
	writeInt(buf, m.Receives)
	buf.WriteString(`,"published_at":`)
	writeTime(buf, m.PublishedAt)
	buf.WriteString(`,"origin_at":`)
	writeTime(buf, m.OriginAt)
	buf.WriteString(`,"dead_lettered_at":`)
	writeTime(buf, m.DeadAt)
	buf.WriteString(`,"source_queue":`)
	writeOptional(buf, m.Source)
	buf.WriteString(`,"last_error":`)
	writeOptional(buf, m.LastError)
}

func writeHeaders(buf *bytes.Buffer, h map[string]string) {
	buf.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(h)) {
		if i > 0 {
			buf.WriteByte(',')
		}
		writeString(buf, name)
		buf.WriteByte(':')
		writeString(buf, h[name])
	}
	buf.WriteByte('}')
}
