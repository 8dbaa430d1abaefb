package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/onceward/onceward/internal/child"
)

const key = "peers-peers-peers-peers"

type oncewardSubject struct {
	server   *child.Server
	caller   *child.Caller
	database int // 0: none
	drop     func() error
}

func oncewardOn(postgres bool) func(context.Context) (subject, error) {
	return func(ctx context.Context) (subject, error) { return openOnceward(ctx, postgres) }
}

func openOnceward(ctx context.Context, postgres bool) (subject, error) {
	bin, err := build("../..", "./cmd/onceward")
	if err != nil {
		return nil, err
	}
	s := &oncewardSubject{drop: func() error { return nil }}
	var store string
	if postgres {
		if store, s.drop, err = database(ctx); err != nil {
			return nil, err
		}
		s.database = grounds.cluster.Pid()
	} else {
		dir, err := folder()
		if err != nil {
			return nil, err
		}
		store = "sqlite:" + filepath.Join(dir, "onceward.db")
	}
	if s.server, err = child.Start(ctx, bin, "peers", store, "ONCEWARD_API_KEY="+key, "ONCEWARD_SECRETS_KEY="+strings.Repeat("07", 32)); err != nil {
		return nil, err
	}
	s.caller = &child.Caller{URL: s.server.URL, Key: key}
	return s, s.post(ctx, "/v1/queue/create", []byte(`{"name":"bench"}`), nil)
}

func (s *oncewardSubject) post(ctx context.Context, path string, body []byte, to any) error {
	return s.caller.Call(ctx, "POST", path, body, to)
}

func (s *oncewardSubject) enqueue(ctx context.Context, i int64, body []byte) error {
	return s.post(ctx, publishPath, publishBody(i, body), nil)
}

const publishPath = "/v1/queue/publish"

func publishBody(i int64, body []byte) []byte {
	return fmt.Appendf(nil, `{"queue":"bench","payload":%s,"idempotency_key":"k%d"}`, body, i)
}

func (s *oncewardSubject) enqueueMany(ctx context.Context, from int64, bodies [][]byte) error {
	b := []byte(`{"queue":"bench","messages":[`)
	for i, body := range bodies {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"payload":%s,"idempotency_key":"k%d"}`, body, from+int64(i))
	}
	return s.post(ctx, "/v1/queue/publish_batch", append(b, "]}"...), nil)
}

// consume has two receivers: more of one queue cost more and bring no more.
func (s *oncewardSubject) consume(ctx context.Context, came func(i int64)) error {
	var all sync.WaitGroup
	errs := make(chan error, 2)
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := s.once(ctx, came); err != nil && ctx.Err() == nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

func (s *oncewardSubject) once(ctx context.Context, came func(i int64)) error {
	var got struct {
		Items []struct {
			Receipt string          `json:"receipt_handle"`
			Payload json.RawMessage `json:"payload"`
		} `json:"items"`
	}
	if err := s.post(ctx, "/v1/queue/consume", []byte(`{"queue":"bench","max_messages":100,"wait_seconds":5}`), &got); err != nil || len(got.Items) == 0 {
		return err
	}
	b := []byte(`{"queue":"bench","items":[`)
	for i, m := range got.Items {
		came(number(m.Payload))
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"receipt_handle":%q}`, m.Receipt)
	}
	return s.post(context.WithoutCancel(ctx), "/v1/queue/ack_batch", append(b, "]}"...), nil)
}

func (s *oncewardSubject) roots() map[string]int {
	r := map[string]int{"server": s.server.Process.Pid}
	if s.database != 0 {
		r["database"] = s.database
	}
	return r
}

func (s *oncewardSubject) close() error {
	s.caller.Close()
	s.server.Kill()
	return s.drop()
}
