package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/onceward/onceward/internal/fault"
	"github.com/onceward/onceward/internal/ids"
	"github.com/onceward/onceward/queue"
	"github.com/onceward/onceward/webhook"
)

// The suite's publishes and events, each by a SQL function in a transaction of a caller's own.
func TestSuiteBySQL(t *testing.T) {
	t.Parallel()
	suiteByCallers(t, byCallers{
		areas:  publishAreas(),
		opened: func(ctx context.Context, url string) error { _, err := Functions(ctx, url, true); return err },
		publish: func(ctx context.Context, s *byCallers, tx pgx.Tx, items []queue.Publish) ([]queue.Published, error) {
			out, seen := make([]queue.Published, len(items)), map[int64]bool{}
			for i, p := range items {
				var id string
				if err := s.priced(ctx, p.Price); err != nil {
					return nil, err
				}
				headers, err := headersText(p.Headers)
				if err != nil {
					return nil, err
				}
				err = s.try(ctx, tx, func(tx pgx.Tx) error {
					return tx.QueryRow(ctx, `SELECT onceward_publish($1, $2::text::json, nullif($3, ''), $4, $5, nullif($6, '')::jsonb, nullif($7, ''), nullif($8, '0001-01-01Z'::timestamptz), (SELECT name FROM projects WHERE id = $9))`,
						p.Queue, string(p.Body), p.Key, p.Delay.Seconds(), p.Priority, headers, p.Group, p.OriginAt, p.Project).Scan(&id)
				})
				if out[i].Err = saidBySQL(err); out[i].Err != nil {
					continue
				}
				row, ok := ids.New(s.Secret()).Decode(ids.Message, p.Project, id)
				if !ok {
					return nil, errors.New(id + " is no id")
				}
				out[i].ID = row
				err = tx.QueryRow(ctx, `SELECT coalesce(k.published_at, m.published_at), coalesce(k.visible_at, m.vis), coalesce(pg_xact_status(k.xmin::text::xid8) = 'committed', false)
					FROM (SELECT $1::bigint AS id) i LEFT JOIN messages m USING (id) LEFT JOIN publish_keys k ON k.message_id = i.id`, row).Scan(&out[i].PublishedAt, &out[i].VisibleAt, &out[i].Replay)
				if err != nil {
					return nil, err
				}
				out[i].Replay = out[i].Replay || seen[row]
				if seen[row] = true; !out[i].Replay {
					out[i].Cost = p.Price
				}
			}
			return out, nil
		},
		send: func(ctx context.Context, s *byCallers, tx pgx.Tx, events []webhook.NewEvent) ([]webhook.Sent, error) {
			out, seen := make([]webhook.Sent, len(events)), map[string]bool{}
			for i, e := range events {
				var endpoints []string
				for _, id := range e.Endpoints {
					endpoints = append(endpoints, ids.New(s.Secret()).Encode(ids.Endpoint, e.Project, id))
				}
				key := ""
				if e.Request != nil {
					key = e.Request.Key
				}
				out[i].EventID = e.EventID
				if _, err := tx.Exec(ctx, "INSERT INTO projects (id, name) VALUES ($1::bigint, 'project ' || $1::bigint) ON CONFLICT DO NOTHING", e.Project); err != nil {
					return nil, err
				}
				err := s.try(ctx, tx, func(tx pgx.Tx) error {
					return tx.QueryRow(ctx, "SELECT onceward_send($1, $2::text::json, nullif($3, ''), nullif($4, ''), nullif($5, ''), $6, (SELECT name FROM projects WHERE id = $7::bigint), nullif($8, ''))",
						e.Type, string(e.Payload), given(e), e.Tenant, e.Subject, endpoints, e.Project, key).Scan(&out[i].EventID)
				})
				if out[i].Err = saidBySQL(err); out[i].Err != nil {
					continue
				}
				rows, err := tx.Query(ctx, "SELECT d.id, d.endpoint, e.created_at, pg_xact_status(e.xmin::text::xid8) = 'committed' FROM events e LEFT JOIN deliveries d ON d.event = e.id WHERE e.project = $1 AND e.event_id = $2 ORDER BY d.id", e.Project, out[i].EventID)
				if err != nil {
					return nil, err
				}
				var id, endpoint *int64
				if _, err := pgx.ForEachRow(rows, []any{&id, &endpoint, &out[i].CreatedAt, &out[i].Replay}, func() error {
					if id != nil {
						out[i].Deliveries = append(out[i].Deliveries, webhook.SentTo{ID: *id, EndpointID: *endpoint})
					}
					return nil
				}); err != nil {
					return nil, err
				}
				out[i].Replay = out[i].Replay || seen[out[i].EventID]
				seen[out[i].EventID] = true
			}
			return out, nil
		},
	})
}

// try does f in a savepoint, as a caller does who goes on after an error.
func (*byCallers) try(ctx context.Context, tx pgx.Tx, f func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, tx, f)
}

// saidBySQL gives what HTTP says where a function says it by a SQLSTATE.
func saidBySQL(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	code := map[string]fault.Code{"OW400": fault.InvalidArgument, "OW402": fault.InsufficientCredit, "OW404": fault.QueueNotFound, "OW413": fault.MessageTooLarge, "OW409": fault.IdempotencyKeyReused}[e.Code]
	if code == fault.IdempotencyKeyReused && e.Message[:12] == "the event_id" {
		code = fault.EventIDReused
	}
	if code == "" {
		return err
	}
	return fault.New(code, "%s", e.Message)
}

// One publish and one event, by SQL and by a server: the same message, the same event.
func TestOneKeyBySQLAndServer(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	make1(t, db, "jobs")
	e := hook(t, db, func(e *webhook.Endpoint) { e.Tenant = "acme" })
	codec := ids.New(db.Secret())
	origin := time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)
	for n, p := range []queue.Publish{
		{Body: []byte(`{"b":[1.0,"é",{}],"a":null}`)},
		{Body: []byte(`1e2`), Delay: 1500 * time.Millisecond, Priority: 9, Group: "g 1", OriginAt: origin, Headers: map[string]string{"b": "2", "a": `"`, "é": "\n"}},
		{Body: []byte(`"x"`), Delay: time.Microsecond, Headers: map[string]string{}},
	} {
		p.Project, p.Queue = 1, "jobs"
		headers, err := json.Marshal(p.Headers)
		if err != nil {
			t.Fatal(err)
		}
		bySQL := func(key, body string) (string, error) {
			var id string
			err := db.pool.QueryRow(t.Context(), `SELECT onceward_publish('jobs', $1::text::json, $2, $3, $4, nullif($5, 'null')::jsonb, nullif($6, ''), nullif($7, '0001-01-01Z'::timestamptz))`,
				body, key, p.Delay.Seconds(), p.Priority, string(headers), p.Group, p.OriginAt).Scan(&id)
			return id, err
		}
		byServer := func(key string) queue.Published {
			if err := p.SetKey(key); err != nil {
				t.Fatal(err)
			}
			return publish(t, db, p)[0]
		}
		key := string(rune('a' + n))
		id, err := bySQL(key, string(p.Body))
		if err != nil {
			t.Fatal(err)
		}
		if out := byServer(key); !out.Replay || codec.Encode(ids.Message, 1, out.ID) != id {
			t.Errorf("%d: a server's publish after %s of SQL: %+v", n, id, out)
		}
		first := byServer("server " + key)
		if id, err := bySQL("server "+key, " "+string(p.Body)+"\n"); err != nil || id != codec.Encode(ids.Message, 1, first.ID) {
			t.Errorf("%d: SQL's publish after a server's %d: %s, %v", n, first.ID, id, err)
		}
		if _, err := bySQL(key, `{"other":1}`); sqlState(err) != "OW409" {
			t.Errorf("%d: another message under the key: %v", n, err)
		}
	}
	for _, ev := range []webhook.NewEvent{
		{EventID: "plain", Type: "a.b", Payload: []byte(`{"b":1.0,"a":2}`)},
		{EventID: "full", Type: "a.b", Payload: []byte(`[100]`), Tenant: "acme", Subject: `é"`, Endpoints: []int64{e.ID}},
	} {
		ev.Project = 1
		if err := ev.SetHash(); err != nil {
			t.Fatal(err)
		}
		var named []string
		for _, id := range ev.Endpoints {
			named = append(named, codec.Encode(ids.Endpoint, 1, id))
		}
		id := query[string](t, db, "SELECT onceward_send($1, $2::text::json, $3, nullif($4, ''), nullif($5, ''), $6)", ev.Type, string(ev.Payload), ev.EventID, ev.Tenant, ev.Subject, append(named, named...))
		out, err := db.Send(t.Context(), ev)
		if err != nil || out[0].Err != nil || !out[0].Replay || id != ev.EventID || len(out[0].Deliveries) != len(ev.Endpoints) {
			t.Errorf("a server's event after SQL's %s: %+v, %v", id, out, err)
		}
	}
	if id := query[string](t, db, `SELECT onceward_send('a.b', '1')`); len(id) != 28 || !webhook.IsEventID(id) {
		t.Errorf("an event's id was made so: %q", id)
	}
	if n := count(t, db, "SELECT count(*) FROM messages WHERE gid IS NULL AND queue = (SELECT id FROM queues WHERE name = 'jobs')"); n != 4 {
		t.Errorf("%d ungrouped messages, want 4", n)
	}
}

// A queue with content_dedup and one that is fifo are so for SQL too.
func TestSQLToFIFOAndByContent(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "ordered", FIFO: new(true)}); err != nil {
		t.Fatal(err)
	}
	if _, err := db.CreateQueue(t.Context(), queue.Spec{Project: 1, Name: "by-content", ContentDedup: new(true)}); err != nil {
		t.Fatal(err)
	}
	first := publish(t, db, queue.Publish{Queue: "by-content", Body: []byte(`{"a":1.0}`)})[0]
	if id := query[string](t, db, `SELECT onceward_publish('by-content', '{"a" : 1}')`); id != ids.New(db.Secret()).Encode(ids.Message, 1, first.ID) {
		t.Errorf("the same payload is another message: %s", id)
	}
	for _, call := range []string{`onceward_publish('ordered', '1')`, `onceward_publish('ordered', '1', message_group_id => 'g', priority => 1)`} {
		if _, err := db.pool.Exec(t.Context(), "SELECT "+call); sqlState(err) != "OW400" {
			t.Errorf("%s: %v", call, err)
		}
	}
	exec(t, db, `SELECT onceward_publish('ordered', to_json(i), message_group_id => 'g') FROM generate_series(1, 3) i`)
	for _, want := range []string{"1", "2", "3"} {
		got := receive(t, db, "ordered", 10)
		if len(got) != 1 || string(got[0].Body) != want {
			t.Fatalf("received %+v, want %s alone", got, want)
		}
		ack(t, db, got)
	}
}

// What HTTP refuses the functions refuse, and nothing is stored.
func TestSQLRefuses(t *testing.T) {
	t.Parallel()
	db, _ := withFunctions(t)
	make1(t, db, "jobs")
	e := hook(t, db, func(e *webhook.Endpoint) { e.Tenant = "acme" })
	endpoint := ids.New(db.Secret()).Encode(ids.Endpoint, 1, e.ID)
	for call, state := range map[string]string{
		`onceward_publish('gone', '1')`:                                                                            "OW404",
		`onceward_publish(NULL, '1')`:                                                                              "OW404",
		`onceward_publish('_deliveries', '1')`:                                                                     "OW404",
		`onceward_publish('jobs', '1', project => 'nobody')`:                                                       "OW404",
		`onceward_publish('jobs', NULL)`:                                                                           "OW400",
		`onceward_publish('jobs', '{"a":1,"a":1}')`:                                                                "OW400",
		`onceward_publish('jobs', '{"a":1,}')`:                                                                     "22P02",
		`onceward_publish('jobs', '"\ud800"')`:                                                                     "22P02",
		`onceward_publish('jobs', to_json(repeat('x', 262143)))`:                                                   "OW413",
		`onceward_publish('jobs', '1', '')`:                                                                        "OW400",
		`onceward_publish('jobs', '1', 'é')`:                                                                       "OW400",
		`onceward_publish('jobs', '1', repeat('k', 256))`:                                                          "OW400",
		`onceward_publish('jobs', '1', delay_seconds => -1)`:                                                       "OW400",
		`onceward_publish('jobs', '1', delay_seconds => 604801)`:                                                   "OW400",
		`onceward_publish('jobs', '1', delay_seconds => 'NaN')`:                                                    "OW400",
		`onceward_publish('jobs', '1', priority => 10)`:                                                            "OW400",
		`onceward_publish('jobs', '1', message_group_id => '')`:                                                    "OW400",
		`onceward_publish('jobs', '1', message_group_id => E'a\nb')`:                                               "OW400",
		`onceward_publish('jobs', '1', headers => '[]')`:                                                           "OW400",
		`onceward_publish('jobs', '1', headers => '{"a":1}')`:                                                      "OW400",
		`onceward_publish('jobs', '1', headers => jsonb_build_object('a', repeat('x', 8192)))`:                     "OW400",
		`onceward_publish('jobs', '1', headers => (SELECT jsonb_object_agg(i, '') FROM generate_series(1, 21) i))`: "OW400",
		`onceward_send('a b', '1')`:                                                                                "OW400",
		`onceward_send(NULL, '1')`:                                                                                 "OW400",
		`onceward_send('a', '1', 'a b')`:                                                                           "OW400",
		`onceward_send('a', '1', tenant => '')`:                                                                    "OW400",
		`onceward_send('a', '1', subject => E'a\u0085')`:                                                           "OW400",
		`onceward_send('a', '1', endpoint_ids => '{}')`:                                                            "OW400",
		`onceward_send('a', '1', endpoint_ids => '{ep_x}', tenant => 'acme')`:                                      "OW400",
		`onceward_send('a', '1', endpoint_ids => '{` + endpoint + `}')`:                                            "OW400",
		`onceward_send('a', to_json(repeat('x', 1048575)))`:                                                        "OW413",
	} {
		_, err := db.pool.Exec(t.Context(), "SELECT "+call)
		if sqlState(err) != state {
			t.Errorf("%s: %v, want %s", call, err, state)
		}
	}
	if n := count(t, db, "SELECT (SELECT count(*) FROM messages) + (SELECT count(*) FROM events) + (SELECT count(*) FROM publish_keys)"); n != 0 {
		t.Errorf("%d rows are there", n)
	}
	for _, call := range []string{
		`onceward_publish('jobs', to_json(repeat('x', 262142)), repeat('k', 255), 604800, 9, '{"a":""}', repeat('g', 128), now())`,
		`onceward_publish('jobs-dlq', 'null')`,
		`onceward_publish('jobs', row_to_json(row(1, 'a', now())))`,
	} {
		exec(t, db, "SELECT "+call)
	}
}
