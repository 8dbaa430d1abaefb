package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/onceward/onceward/internal/history"
)

// neighbours is the project beside the first one. It has a queue of the same name.
const neighbours = "neighbours"

// makeNeighbour makes that project, and gives a key of it.
func (s *server) makeNeighbour(ctx context.Context) (key string, err error) {
	var p struct {
		ID string `json:"project_id"`
	}
	if _, err := s.call(ctx, "POST", "/v1/projects", object{"name": neighbours}, &p); err != nil {
		return "", err
	}
	var k struct {
		Key string `json:"key"`
	}
	if _, err := s.call(ctx, "POST", "/v1/keys", object{"project_id": p.ID, "scopes": []string{"admin"}}, &k); err != nil {
		return "", err
	}
	var o object
	_, err = s.callBy(ctx, k.Key, "POST", "/v1/queue/create", object{"name": jobs, "max_receive_count": 1000}, &o)
	return k.Key, err
}

// neighbour publishes, receives and lists in its own project, and tries ids that were answered to the first one, until the round stops it and its queue is empty.
// The history's checker sees that no answer names what is not its own.
func (l *long) neighbour(ctx context.Context) {
	for n := 1; !l.stopped() && ctx.Err() == nil; n++ {
		name := fmt.Sprint("their-", n)
		for !l.publishTheirs(ctx, name) && ctx.Err() == nil {
			pause(ctx, 50*time.Millisecond)
		}
		l.tryOurs(ctx)
		for _, path := range []string{theirQueue, "/v1/queue/dlq/list/" + jobs, "/v1/webhooks/events", "/v1/webhooks/deliveries", "/v1/ledger/claims?state=started"} {
			l.listTheirs(ctx, path)
		}
		l.drinkTheirs(ctx)
		pause(ctx, 50*time.Millisecond)
	}
	// Its queue says when all is acked: of an ack whose answer was lost nobody else can. What is left after that time is not at rest.
	until(ctx, longRest, func() (bool, error) {
		l.drinkTheirs(ctx)
		return l.listTheirs(ctx, theirQueue) == 0, nil
	})
}

const theirQueue = "/v1/queue/messages/" + jobs

func (l *long) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// ask makes a call by the neighbour's key. It reports whether that was answered with success; what answers tell of it is for the log.
func (l *long) ask(ctx context.Context, e history.Event, method, path string, body, to any, tell func(*history.Event)) bool {
	s := l.one()
	if s == nil {
		return false
	}
	e.Project = neighbours
	end := l.log.Begin(e)
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	replay, err := s.callBy(within, l.theirs, method, path, body, to)
	if no, ok := errors.AsType[*refusal](err); ok && no.Code != unavailable { // which says nothing of what happened, as no answer does
		end(history.Event{Answer: no.Code})
	}
	if err != nil {
		return false
	}
	a := history.Event{Answer: newOrReplay(nil, replay)}
	tell(&a)
	end(a)
	return true
}

func (l *long) publishTheirs(ctx context.Context, name string) bool {
	var m message
	return l.ask(ctx, history.Event{Do: history.Publish, Key: name, Thing: name}, "POST", "/v1/queue/publish",
		object{"queue": jobs, "payload": thing{name}, "idempotency_key": name}, &m, func(a *history.Event) { a.Message = m.ID })
}

// tryOurs calls by ids of the first project, as if they were its own.
func (l *long) tryOurs(ctx context.Context) {
	l.mu.Lock()
	message, delivery := l.newest["/v1/queue/publish"], l.newest["delivery"]
	l.mu.Unlock()
	var o object
	try := func(id, method, path string, body any) {
		if id != "" {
			l.ask(ctx, history.Event{Do: history.Foreign, Message: id}, method, path, body, &o, func(a *history.Event) { a.Answer = fmt.Sprint(o) })
		}
	}
	try(message, "POST", "/v1/queue/ack", object{"queue": jobs, "message_id": message})
	try(delivery, "GET", "/v1/webhooks/deliveries/"+delivery, nil)
	try(delivery, "POST", "/v1/webhooks/deliveries/"+delivery+"/cancel", object{})
}

// listTheirs lists what there is, by whatever names it, and gives how many there are: -1 if nothing was answered.
func (l *long) listTheirs(ctx context.Context, path string) int {
	var d struct {
		Items []object `json:"items"`
	}
	n := -1
	l.ask(ctx, history.Event{Do: history.List, Thing: path}, "GET", path, nil, &d, func(a *history.Event) {
		n = len(d.Items)
		a.Answer = fmt.Sprint(n)
		for _, item := range d.Items {
			for _, member := range []string{"message_id", "event_id", "delivery_id", "key"} {
				if name, ok := item[member].(string); ok {
					a.Names = append(a.Names, name)
				}
			}
		}
	})
	return n
}

// drinkTheirs receives what there is, and acks it.
func (l *long) drinkTheirs(ctx context.Context) {
	var got struct {
		Items []struct {
			ID      string `json:"message_id"`
			Receipt string `json:"receipt_handle"`
			Payload thing  `json:"payload"`
		} `json:"items"`
	}
	l.ask(ctx, history.Event{Do: history.List, Thing: "consume"}, "POST", "/v1/queue/consume", object{"queue": jobs, "max_messages": 10, "visibility_timeout": 3}, &got, func(a *history.Event) {
		for _, m := range got.Items {
			a.Names = append(a.Names, m.ID, m.Payload.Thing)
		}
	})
	for _, m := range got.Items {
		var o object
		l.ask(ctx, history.Event{Do: history.Ack, Thing: m.Payload.Thing, Message: m.ID, Receipt: m.Receipt}, "POST", "/v1/queue/ack",
			object{"queue": jobs, "receipt_handle": m.Receipt}, &o, func(a *history.Event) { a.Answer = fmt.Sprint(o["acked"]) })
	}
}
