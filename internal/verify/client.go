package verify

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"time"
)

// call makes one request of a server and decodes its data.
func (s *server) call(ctx context.Context, method, path string, body, to any) (replay bool, err error) {
	return s.callBy(ctx, apiKey, method, path, body, to)
}

// callBy is call by another key.
func (s *server) callBy(ctx context.Context, key, method, path string, body, to any) (replay bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second) // longer than a server is frozen
	defer cancel()
	b, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(b))
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer resp.Body.Close()
	var a struct {
		Data     jsontext.Value `json:"data"`
		Error    jsontext.Value `json:"error"`
		Metadata struct {
			Replay bool `json:"idempotent_replay"`
		} `json:"metadata"`
	}
	if err := json.UnmarshalRead(resp.Body, &a); err != nil {
		return false, fmt.Errorf("%s %s: status %d: %w", method, path, resp.StatusCode, err)
	}
	if resp.StatusCode != http.StatusOK {
		r := &refusal{status: resp.StatusCode}
		json.Unmarshal(a.Error, r)
		return false, fmt.Errorf("%s %s: %w", method, path, r)
	}
	return a.Metadata.Replay, json.Unmarshal(a.Data, to)
}

// refusal is an answer that is no success.
type refusal struct {
	status  int
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (r *refusal) Error() string {
	return fmt.Sprintf("status %d: %s: %s", r.status, r.Code, r.Message)
}

// sent is a server's answer to an event.
type sent struct {
	EventID    string `json:"event_id"`
	Deliveries []struct {
		ID string `json:"delivery_id"`
	} `json:"deliveries"`
}

func (s *server) makeEndpoint(ctx context.Context, url, policy string, timeout time.Duration) error {
	var o struct{}
	_, err := s.call(ctx, "POST", "/v1/webhooks/endpoints", map[string]any{
		"url": url, "policy": policy, "timeout_seconds": timeout.Seconds(), "retry_ladder": []int{1, 1, 1, 1, 1, 1, 1, 1},
	}, &o)
	return err
}

func (s *server) send(ctx context.Context, id string) (e sent, replay bool, err error) {
	replay, err = s.call(ctx, "POST", "/v1/webhooks/events", map[string]any{
		"event_id": id, "event_type": "verify.case", "payload": map[string]any{"id": id},
	}, &e)
	if err == nil && (e.EventID != id || len(e.Deliveries) != 1) {
		err = fmt.Errorf("event %s: answered %+v", id, e)
	}
	return e, replay, err
}

// answer is what a client was told of one thing that it handed over.
type answer struct {
	id       string // of the event or the message
	delivery string // of an event
	replay   bool
}

// handEvent hands event n over. Every second one has no id of its own, so that the Idempotency-Key alone tells it.
func (s *server) handEvent(ctx context.Context, n int) (a answer, err error) {
	body := map[string]any{"event_type": "verify.case", "payload": payload{n}}
	if n%2 == 0 {
		body["event_id"] = fmt.Sprint("evt_", n)
	} else {
		body["idempotency_key"] = fmt.Sprint("key-", n)
	}
	var e sent
	if a.replay, err = s.call(ctx, "POST", "/v1/webhooks/events", body, &e); err != nil {
		return a, err
	}
	if e.EventID == "" || len(e.Deliveries) != 1 {
		return a, fmt.Errorf("event %d: answered %+v", n, e)
	}
	a.id, a.delivery = e.EventID, e.Deliveries[0].ID
	return a, nil
}

const jobs = "jobs" // the queue of the runs that publish

func (s *server) makeQueue(ctx context.Context) error {
	var o struct{}
	_, err := s.call(ctx, "POST", "/v1/queue/create", map[string]any{"name": jobs}, &o)
	return err
}

// handMessage publishes message n.
func (s *server) handMessage(ctx context.Context, n int) (a answer, err error) {
	var m message
	a.replay, err = s.call(ctx, "POST", "/v1/queue/publish", map[string]any{
		"queue": jobs, "payload": payload{n}, "idempotency_key": fmt.Sprint("key-", n),
	}, &m)
	a.id = m.ID
	return a, err
}

// payload tells a thing that was handed over from the others.
type payload struct {
	N int `json:"n"`
}

// message is a message as a consumer gets it.
type message struct {
	ID      string  `json:"message_id"`
	Receipt string  `json:"receipt_handle"`
	Payload payload `json:"payload"`
}

// consume takes messages and acks them, until there are none.
func (s *server) consume(ctx context.Context, each func(message)) error {
	for {
		var got struct {
			Items []message `json:"items"`
		}
		if _, err := s.call(ctx, "POST", "/v1/queue/consume", map[string]any{"queue": jobs, "max_messages": 100}, &got); err != nil || len(got.Items) == 0 {
			return err
		}
		for _, m := range got.Items {
			each(m)
			var a struct {
				Acked bool `json:"acked"`
			}
			if _, err := s.call(ctx, "POST", "/v1/queue/ack", map[string]any{"queue": jobs, "receipt_handle": m.Receipt}, &a); err != nil {
				return err
			}
			if !a.Acked {
				return fmt.Errorf("the ack of message %s was refused", m.ID)
			}
		}
	}
}

// resolve rules on a delivery of which nobody could know whether it came.
func (s *server) resolve(ctx context.Context, id, as string) error {
	var o struct{}
	_, err := s.call(ctx, "POST", "/v1/webhooks/deliveries/"+id+"/resolve", map[string]any{"as": as, "note": "the receiver was asked"}, &o)
	return err
}

// delivery is a delivery as a server tells it.
type delivery struct {
	ID       string `json:"delivery_id"`
	State    string `json:"state"`
	Key      string `json:"delivery_key"`
	Attempts []struct {
		Outcome string `json:"outcome"`
		Error   string `json:"error"`
	} `json:"attempts"`
}

func (s *server) delivery(ctx context.Context, id string) (d delivery, err error) {
	_, err = s.call(ctx, "GET", "/v1/webhooks/deliveries/"+id, nil, &d)
	return d, err
}
