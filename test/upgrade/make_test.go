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
	commit  = flag.String("commit", "", "the commit that it was built of")
	version = flag.String("version", "", "the number of its last migration, or its tag")
	kind    = flag.String("store", "sqlite", "sqlite or postgres")
)

const (
	apiKey     = "upgrade-test-key-0123456789"
	secretsKey = "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"
	price      = 1_000_000 // of a message, in billionths of a US dollar
)

type object = map[string]any

// known is what a program was asked and answered while it wrote a database. What it did not have is nil.
type known struct {
	MadeAt    time.Time // what the database says of time is moved by what has gone by since
	Commit    string
	Messages  []string // by their number in the payload
	Held      object   // of message 0: in flight for twelve hours
	Dead      string
	Secret    string // of the endpoint
	Endpoint  string
	Delivered string // deliveries
	Waiting   string

	Moving  *moving
	Refused *refused
	Project *project
	Steps   *steps
	Work    *work
	Pushed  *pushed
	Usage   *usage
	Callers *callers
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
	s, err := child.Start(t.Context(), *program, "old", store, "ONCEWARD_API_KEY="+apiKey, "ONCEWARD_SECRETS_KEY="+secretsKey,
		"ONCEWARD_PUBLISH_PRICE_USD=0.001", "ONCEWARD_DRAIN=0s")
	if err != nil {
		t.Fatal(err)
	}
	k := write(t, &caller{t, s.URL, apiKey})
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if *kind == "postgres" {
		k.Callers = writeCallers(t, *program, store, &k)
	}
	k.Commit, k.MadeAt = *commit, time.Now().UTC()
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

// write makes one of each thing that the program knows.
func write(t *testing.T, c *caller) (k known) {
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
		k.Messages = append(k.Messages, c.publish(m))
	}
	k.Held = c.receive("jobs", 43200)
	c.ack("jobs", c.receive("jobs", 60))
	k.Dead = c.bury("jobs")

	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { io.Copy(io.Discard, q.Body) }))
	defer r.Close()
	e := c.do("POST", "/v1/webhooks/endpoints", object{"url": r.URL, "event_types": []string{"a"}, "retry_ladder": []int{3600}})
	k.Secret, k.Endpoint = e["secret"].(string), e["endpoint_id"].(string)
	send := func(id, state string) string {
		d := c.event("a", id)
		c.until(d, state)
		return d
	}
	k.Delivered = send("e1", "delivered")
	c.do("PATCH", "/v1/webhooks/endpoints/"+k.Endpoint, object{"url": "http://127.0.0.1:9/"}) // nobody is there
	k.Waiting = send("e2", "retrying")

	c.do("POST", "/v1/queue/create", object{"name": "shared"}) // of a fair group that callers publish to
	c.publish(object{"queue": "shared", "payload": 0, "message_group_id": "g"})
	c.ack("shared", c.receive("shared", 60))

	k.Project = writeProject(c)
	k.Steps = writeSteps(c)
	k.Work = writeWork(c)
	k.Pushed = writePushed(c)
	k.Refused, k.Moving = writeRefused(t, c), writeMoving(c)
	k.Usage = writeUsage(c)
	for _, id := range []string{k.Refused.Redrive, k.Moving.Redrive} {
		if d := c.do("GET", "/v1/redrives/"+id, nil); d["state"] != "running" {
			t.Fatalf("no redrive is under way at the end: %v", d)
		}
	}
	return k
}
