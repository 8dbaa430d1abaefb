package sqlite

import (
	"time"

	"github.com/onceward/onceward/ledger"
	"github.com/onceward/onceward/queue"
)

// applyChange stores what a rule of queue.Row made of the row that was: the row itself, its group's slot and turn, and
// the closing of its key if it was dead-lettered with an open one.
func (t *tx) applyChange(was, m *queue.Row, c queue.Change) error {
	var err error
	if c.ToEnd {
		if m.Place, err = t.id(seqMessages); err != nil {
			return err
		}
	}
	if c.Delete {
		err = t.deleteMessage(was)
	} else {
		err = t.saveMessage(was, m)
	}
	if err != nil {
		return err
	}
	if err := t.addSlots(was.GroupID, c.Slot); err != nil {
		return err
	}
	if c.Slot < 0 && was.GroupID != 0 {
		t.wake(was.QueueID, t.now) // a slot is free: what waited for it can go
	}
	if c.Next {
		if err := t.wakeGroup(was.GroupID, was.QueueID, t.now); err != nil {
			return err
		}
	}
	if !c.Wake.IsZero() {
		if err := t.wakeGroup(m.GroupID, m.QueueID, c.Wake); err != nil {
			return err
		}
	}
	if c.Dead {
		t.wake(m.QueueID, t.now)
	}
	if c.CloseKey {
		return t.closeKey(m, m.LastError)
	}
	return nil
}

// closeKey ends the open claim of a message that is dead-lettered or expires, and notes it. A key that another message carries by now is
// that one's.
func (t *tx) closeKey(m *queue.Row, why string) error {
	if m.ClaimID == 0 {
		return nil
	}
	c, ok, err := t.claimByID(m.ClaimID)
	if err != nil || !ok || c.MessageID != m.ID {
		return err
	}
	held := c
	if !c.Close(t.now, why) {
		return nil
	}
	if err := t.saveClaim(&c); err != nil {
		return err
	}
	if held.State.Held() {
		if err := t.noteDeath(&held, time.Time{}); err != nil {
			return err
		}
	}
	return t.note(c.ID, ledger.Note{What: "closed", Fence: c.Fence, Detail: string(c.State) + ": " + why})
}
