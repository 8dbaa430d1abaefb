package upgrade

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onceward/onceward/internal/child"
	"github.com/onceward/onceward/internal/pgtest"
)

var (
	program = flag.String("program", "", "the program that TestMake makes a database with")
	version = flag.String("version", "", "the number of its last migration")
	kind    = flag.String("store", "sqlite", "sqlite or postgres")
)

const (
	apiKey     = "upgrade-test-key-0123456789"
	secretsKey = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
)

type object = map[string]any

// known is what a program was asked and answered while it wrote a database.
type known struct {
	MadeAt    time.Time // what the database says of time is moved by what has gone by since
	Messages  []string  // by their number in the payload
	Held      object    // of message 0: in flight for twelve hours
	Dead      string
	Secret    string // of the endpoint
	Endpoint  string
	Delivered string // deliveries
	Waiting   string
}

// TestMake writes a database with another program, for testdata.
func TestMake(t *testing.T) {
	if *program == "" {
		t.Skip("it makes a database with the program that -program names")
	}
	store := "sqlite:" + filepath.Join(t.TempDir(), "o.db")
	made := func() []byte {
		b, err := os.ReadFile(strings.TrimPrefix(store, "sqlite:"))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	if *kind == "postgres" {
		db, err := pgtest.Start(t.Context(), pgtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		store, made = db.URL("postgres"), func() []byte {
			b, err := db.Dump(context.Background(), "postgres")
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	s, err := child.Start(t.Context(), *program, "old", store, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+secretsKey)
	if err != nil {
		t.Fatal(err)
	}
	k := write(t, &caller{t, s.URL})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", *kind+"-"+*version)
	var zipped bytes.Buffer
	z, _ := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	z.Write(made())
	z.Close()
	what, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	for ending, b := range map[string][]byte{".gz": zipped.Bytes(), ".json": append(what, '\n')} {
		if err := os.WriteFile(name+ending, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// write makes one of each thing that the first schema had.
func write(t *testing.T, c *caller) (k known) {
	k.MadeAt = time.Now().UTC()
	c.do("POST", "/v1/queue/create", object{"name": "jobs"})
	for i := range 6 {
		m := object{"queue": "jobs", "payload": object{"n": i}, "headers": object{"h": "v"}}
		switch i {
		case 3:
			m["idempotency_key"] = "k3"
		case 4:
			m["message_group_id"] = "g"
		case 5:
			m["delay_seconds"] = 3600
		}
		k.Messages = append(k.Messages, c.do("POST", "/v1/queue/publish", m)["message_id"].(string))
	}
	receive := func(seconds int) object {
		return c.do("POST", "/v1/queue/consume", object{"queue": "jobs", "max_messages": 1, "visibility_timeout": seconds})["items"].([]any)[0].(object)
	}
	k.Held = receive(43200)
	c.do("POST", "/v1/queue/ack", object{"queue": "jobs", "receipt_handle": receive(60)["receipt_handle"]})
	dead := receive(60)
	k.Dead = dead["message_id"].(string)
	c.do("POST", "/v1/queue/nack", object{"queue": "jobs", "receipt_handle": dead["receipt_handle"], "requeue": false, "error": "no"})

	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.Copy(io.Discard, q.Body) }))
	defer r.Close()
	e := c.do("POST", "/v1/webhooks/endpoints", object{"url": r.URL, "retry_ladder": []int{3600}})
	k.Secret, k.Endpoint = e["secret"].(string), e["endpoint_id"].(string)
	send := func(id, state string) string {
		d := c.do("POST", "/v1/webhooks/events", object{"event_type": "a", "event_id": id, "payload": object{"id": id}})["deliveries"].([]any)[0].(object)["delivery_id"].(string)
		c.until(d, state)
		return d
	}
	k.Delivered = send("e1", "delivered")
	c.do("PATCH", "/v1/webhooks/endpoints/"+k.Endpoint, object{"url": "http://127.0.0.1:9/"}) // nobody is there
	k.Waiting = send("e2", "retrying")
	return k
}

// caller calls a server under the root key.
type caller struct {
	t   *testing.T
	url string
}

func (c *caller) call(method, path string, body object) (status int, data object) {
	c.t.Helper()
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			c.t.Fatal(err)
		}
		in = bytes.NewReader(b)
	}
	q, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, in)
	if err != nil {
		c.t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+apiKey)
	q.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(q)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	var a struct {
		Data  object
		Error object
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		c.t.Fatalf("%s %s: %d: %v", method, path, res.StatusCode, err)
	}
	if a.Data == nil {
		return res.StatusCode, a.Error
	}
	return res.StatusCode, a.Data
}

// do wants 200.
func (c *caller) do(method, path string, body object) object {
	c.t.Helper()
	status, data := c.call(method, path, body)
	if status != 200 {
		c.t.Fatalf("%s %s %v: %d %v", method, path, body, status, data)
	}
	return data
}

// until waits until a delivery is so.
func (c *caller) until(delivery, state string) object {
	c.t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		d := c.do("GET", "/v1/webhooks/deliveries/"+delivery, nil)
		if d["state"] == state {
			return d
		}
		if time.Now().After(end) {
			c.t.Fatalf("a delivery is not %s within 30 s: %v", state, d)
		}
	}
}
