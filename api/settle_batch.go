package api

import (
	"bytes"
	"strconv"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/queue"
)

type settleManyRequest[T any] struct {
	keyed
	Queue *string `json:"queue"`
	Items []T     `json:"items"`
}

// settleMany is an act on many messages of a queue: one result or error for each, in order.
func settleMany[T any, P actOf[T]](verb queue.Verb) func(*call) (any, error) {
	return func(c *call) (any, error) {
		var r settleManyRequest[T]
		if err := c.decode(&r); err != nil {
			return nil, err
		}
		name, err := bodyQueue(r.Queue)
		if err != nil {
			return nil, err
		}
		if err := batchSize("items", len(r.Items), r.Items == nil); err != nil {
			return nil, err
		}
		for i := range r.Items {
			if P(&r.Items[i]).of().Queue != nil {
				return nil, fault.Invalid("/items/"+strconv.Itoa(i)+"/queue", "\"queue\" is not a field of an item: the call names the queue of all")
			}
		}
		answers := make([]batchItem, len(r.Items))
		items := make([]queue.Settle, 0, len(r.Items))
		place := make([]int, 0, len(r.Items))
		for i := range r.Items {
			s, err := c.settlement(verb, name, P(&r.Items[i]))
			if err != nil {
				answers[i].err = c.told(at(err, "/items/"+strconv.Itoa(i), nil))
				continue
			}
			items, place = append(items, s), append(place, i)
		}
		if len(items) == 0 {
			return batchAnswer(answers), nil
		}
		out, err := c.Store.Settle(c.ctx, items...)
		if err != nil {
			return nil, err
		}
		for j, i := range place {
			if err := out[j].Err; err != nil {
				answers[i].err = c.told(at(err, "/items/"+strconv.Itoa(i), nil))
				continue
			}
			answers[i].data = batchSettled{settled{verb, &out[j]}}
		}
		return batchAnswer(answers), nil
	}
}

// batchSettled is an act's answer in a batch, its object left open.
type batchSettled struct{ settled }

func (s batchSettled) writeJSON(buf *bytes.Buffer) { s.writeOpen(buf) }
