package queue

import "github.com/onceward/onceward/internal/fault"

// The types of queues, as [Queue.Type] names them.
const (
	Standard = "standard"
	FIFO     = "fifo"
)

// Type names the queue's type.
func (q Queue) Type() string {
	if q.FIFO {
		return FIFO
	}
	return Standard
}

// Orders refuses the publish to a fifo queue where it has no group, or a priority: in a group messages go in the order in which
// they were published, and there is no order between groups.
func (p *Publish) Orders() error {
	switch {
	case p.Group == "":
		return fault.Invalid("/message_group_id", "message_group_id is required: queue %q is fifo, and its order is that within a group", p.Queue)
	case p.Priority != 0:
		return fault.Invalid("/priority", "priority is %d; queue %q is fifo, where the order of publishing decides", p.Priority, p.Queue).WithHint("leave it out")
	}
	return nil
}
