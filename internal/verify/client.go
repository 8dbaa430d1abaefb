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
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	b, err := json.Marshal(body)
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(b))
	if err != nil {
		return false, err
	}
	req.Header.Set("Authorization", "Bearer "+apiKey)
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
		return false, fmt.Errorf("%s %s: status %d: %s", method, path, resp.StatusCode, a.Error)
	}
	return a.Metadata.Replay, json.Unmarshal(a.Data, to)
}

// sent is a server's answer to an event.
type sent struct {
	EventID    string `json:"event_id"`
	Deliveries []struct {
		ID string `json:"delivery_id"`
	} `json:"deliveries"`
}

func (s *server) makeEndpoint(ctx context.Context, url, policy string) error {
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

// delivery is a delivery as a server tells it.
type delivery struct {
	ID       string `json:"delivery_id"`
	State    string `json:"state"`
	Attempts []struct {
		Outcome string `json:"outcome"`
		Error   string `json:"error"`
	} `json:"attempts"`
}

func (s *server) delivery(ctx context.Context, id string) (d delivery, err error) {
	_, err = s.call(ctx, "GET", "/v1/webhooks/deliveries/"+id, nil, &d)
	return d, err
}
