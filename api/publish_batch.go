package api

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

type publishBatchRequest struct {
	keyed
	Queue    *string       `json:"queue"`
	Messages []publishItem `json:"messages"`
}

// publishBatch publishes many. An item that cannot be stored has its own error and does not touch the others.
func (c *call) publishBatch() (any, error) {
	var r publishBatchRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	name, err := bodyQueue(r.Queue)
	if err != nil {
		return nil, err
	}
	if err := batchSize("messages", len(r.Messages), r.Messages == nil); err != nil {
		return nil, err
	}
	key, err := c.idempotencyKey(r.Key)
	if err != nil {
		return nil, err
	}
	answers := make([]batchItem, len(r.Messages))
	items := make([]queue.Publish, 0, len(r.Messages))
	place := make([]int, 0, len(r.Messages))
	for i := range r.Messages {
		p, err := c.batchMessage(&r.Messages[i], name, key, i)
		if err != nil {
			answers[i].err = c.told(at(err, "/messages/"+strconv.Itoa(i), nil))
			continue
		}
		items, place = append(items, p), append(place, i)
	}
	if len(items) == 0 {
		_, err := c.Store.Queue(c.ctx, c.project, name) // else it is the items that find none
		return batchAnswer(answers), err
	}
	out, err := c.Store.Publish(c.ctx, items...)
	if err != nil {
		return nil, err
	}
	if noneThere(out) {
		return nil, out[0].Err
	}
	all := true
	for j, i := range place {
		if err := out[j].Err; err != nil {
			answers[i].err, all = c.told(at(c.explainCredit(err), "/messages/"+strconv.Itoa(i), nil)), false
			continue
		}
		c.cost += out[j].Cost
		all = all && out[j].Replay
		answers[i].data = batchPublished{published{c, &items[j], &out[j]}}
	}
	c.replay = all && len(items) == len(answers)
	return batchAnswer(answers), nil
}

// noneThere reports whether nothing of a batch could be stored since its queue is not there: then the whole call is answered so.
func noneThere(out []queue.Published) bool {
	return !slices.ContainsFunc(out, func(p queue.Published) bool { return !errors.Is(p.Err, queue.ErrQueueNotFound) })
}

// batchMessage gives an item with its key: its own, or the batch's and its index.
func (c *call) batchMessage(it *publishItem, name, batchKey string, i int) (queue.Publish, error) {
	p, err := it.message(c.project, name)
	if err != nil {
		return p, err
	}
	p.Price = c.PublishPrice
	key := ""
	if batchKey != "" {
		key = batchKey + ":" + strconv.Itoa(i)
	}
	if it.Key != nil {
		own, err := parseKey("/idempotency_key", *it.Key)
		if err != nil {
			return p, err
		}
		if key != "" && key != own {
			return p, fault.Invalid("/idempotency_key", "idempotency_key is %s and the batch's key makes it %s", fault.Quote(own), fault.Quote(key)).WithHint("give the batch a key, or its messages, not both")
		}
		key = own
	}
	return p, p.SetKey(key)
}

func batchSize(name string, n int, missing bool) error {
	if missing {
		return fault.Invalid("/"+name, "%s is required: a list of at most %d", name, queue.MaxBatch)
	}
	if n > queue.MaxBatch {
		return fault.Invalid("/"+name, "%s has %d items; at most %d", name, n, queue.MaxBatch)
	}
	return nil
}

// batchItem is what became of an item of a batch.
type batchItem struct {
	data writer
	err  *fault.Error
}

// batchAnswer is the items' answers or errors, in the order of the call. An item that went well has "error": null.
type batchAnswer []batchItem

func (b batchAnswer) writeJSON(buf *bytes.Buffer) {
	buf.WriteString(`{"items":[`)
	for i, it := range b {
		if i > 0 {
			buf.WriteByte(',')
		}
		if it.err != nil {
			buf.WriteString(`{"error":`)
			writeError(buf, it.err)
		} else {
			it.data.writeJSON(buf)
			buf.WriteString(`,"error":null`)
		}
		buf.WriteByte('}')
	}
	buf.WriteString(`]}`)
}

// batchPublished is a message's answer in a batch, its object left open.
type batchPublished struct{ published }

func (p batchPublished) writeJSON(buf *bytes.Buffer) {
	p.writeOpen(buf)
	buf.WriteString(`,"idempotent_replay":`)
	writeBool(buf, p.out.Replay)
}
