package sqlite

import (
	"github.com/onceward/onceward/queue"
)

// messageColumns are where the columns of message_by_id.sql go.
func messageColumns(m *queue.Row) []any {
	return []any{
		&m.ID, &m.Project, &m.QueueID, toInt(&m.GroupID), &m.Priority, toInt(&m.Place), &m.Receives, &m.MaxReceives, &m.Lease, &m.Leased, &m.Open,
		toTime(&m.VisibleAt), toTime(&m.PublishedAt), toTime(&m.OriginAt), toTime(&m.ReceivedAt), toTime(&m.ExpiresAt), toSpan(&m.Retention),
		toInt(&m.ClaimID), toInt(&m.SourceQueue), toInt(&m.SourceGroup), toTime(&m.DeadAt), toText(&m.LastError),
	}
}

// messageByID finds a message: false if there is none.
func (t *tx) messageByID(id int64) (m queue.Row, ok bool, err error) {
	ok, err = found(t.row("message_by_id", id).Scan(messageColumns(&m)...))
	return m, ok, err
}

// insertMessage stores a new message's row; its body, if it has one, goes by insertBody, its group is woken by wakeGroup.
func (t *tx) insertMessage(m *queue.Row) error {
	t.count(m, 1)
	_, err := t.exec("message_insert", m.ID, m.Project, m.QueueID, orNull(m.GroupID), m.Priority, orNull(m.Place), m.Receives, m.MaxReceives, m.Lease, m.Leased, m.Open,
		at(m.VisibleAt), at(m.PublishedAt), at(m.OriginAt), at(m.ReceivedAt), at(m.ExpiresAt), seconds(m.Retention),
		orNull(m.ClaimID), orNull(m.SourceQueue), orNull(m.SourceGroup), at(m.DeadAt), textOrNull(m.LastError))
	return err
}

// saveMessage stores what a rule made of the row that was. Where it stays in its queue only what a lease changes is
// written: an update rewrites every index that names one of its columns.
func (t *tx) saveMessage(was, m *queue.Row) error {
	if was.QueueID == m.QueueID && was.GroupID == m.GroupID && was.SourceQueue == m.SourceQueue && was.ExpiresAt.Equal(m.ExpiresAt) && was.ClaimID == m.ClaimID {
		if was.Receives == m.Receives && was.Lease == m.Lease && was.Leased == m.Leased && was.Open == m.Open && was.VisibleAt.Equal(m.VisibleAt) && was.LastError == m.LastError {
			return nil
		}
		t.count(was, -1)
		t.count(m, 1)
		_, err := t.exec("message_lease", m.Receives, m.Lease, m.Leased, m.Open, at(m.VisibleAt), at(m.ReceivedAt), textOrNull(m.LastError), m.ID)
		return err
	}
	t.count(was, -1)
	t.count(m, 1)
	_, err := t.exec("message_move", m.QueueID, orNull(m.GroupID), orNull(m.Place), m.Receives, m.Lease, m.Leased, m.Open, at(m.VisibleAt), at(m.ReceivedAt),
		at(m.ExpiresAt), orNull(m.ClaimID), orNull(m.SourceQueue), orNull(m.SourceGroup), at(m.DeadAt), textOrNull(m.LastError), m.ID)
	return err
}

// deleteMessage removes a message and its body; that its group's slot comes back is for the caller.
func (t *tx) deleteMessage(m *queue.Row) error {
	t.count(m, -1)
	if _, err := t.exec("message_delete", m.ID); err != nil {
		return err
	}
	_, err := t.exec("body_delete", m.ID)
	return err
}
