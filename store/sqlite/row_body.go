package sqlite

import "github.com/onceward/onceward/queue"

// message loads a message with its body and its names.
func (t *tx) message(id int64, m *queue.Message) error {
	to := append(messageColumns(&m.Row), &m.Body, toJSON(&m.Headers))
	if err := t.row("message_take", id).Scan(to...); err != nil {
		return err
	}
	return t.named(m)
}

// named adds the names of a message's queue, group and source.
func (t *tx) named(m *queue.Message) (err error) {
	if m.Queue, err = t.nameOf("queue_name", m.QueueID); err != nil {
		return err
	}
	if m.Source, err = t.nameOf("queue_name", m.SourceQueue); err != nil {
		return err
	}
	m.Group, err = t.nameOf("group_name", m.GroupID|m.SourceGroup) // one of them is 0
	return err
}

// nameOf gives a row's name; empty where it is gone. A transaction remembers those it found.
func (t *tx) nameOf(statement string, id int64) (name string, err error) {
	if id == 0 {
		return "", nil
	}
	k := rowName{statement, id}
	if name, ok := t.names[k]; ok {
		return name, nil
	}
	if _, err = found(t.row(statement, id).Scan(&name)); err != nil {
		return "", err
	}
	if t.names == nil {
		t.names = map[rowName]string{}
	}
	t.names[k] = name
	return name, nil
}

type rowName struct {
	statement string
	id        int64
}

// insertBody stores what a message carries.
func (t *tx) insertBody(id int64, body []byte, headers map[string]string) error {
	var h any
	if len(headers) > 0 {
		var err error
		if h, err = asJSON(headers); err != nil {
			return err
		}
	}
	if body == nil {
		body = []byte{}
	}
	_, err := t.exec("body_insert", id, body, h)
	return err
}
