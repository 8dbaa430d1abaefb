package client_test

import (
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/onceward/onceward/client"
)

// shapes are the types that read what the contract's schemas say.
var shapes = map[string]reflect.Type{
	"Attempt": reflect.TypeFor[client.Attempt](), "Beat": reflect.TypeFor[client.Word](), "Claim": reflect.TypeFor[client.Claim](), "ClaimNote": reflect.TypeFor[client.ClaimNote](),
	"Delivery": reflect.TypeFor[client.Delivery](), "Endpoint": reflect.TypeFor[client.Endpoint](), "EndpointSecret": reflect.TypeFor[client.Endpoint](),
	"Event": reflect.TypeFor[client.Event](), "Key": reflect.TypeFor[client.APIKey](), "KeySecret": reflect.TypeFor[client.APIKey](), "LeasedMessage": reflect.TypeFor[client.Message](),
	"Project": reflect.TypeFor[client.Project](), "Published": reflect.TypeFor[client.Published](), "Queue": reflect.TypeFor[client.Queue](), "Redrive": reflect.TypeFor[client.Redrive](),
	"RedrivePart": reflect.TypeFor[client.RedrivePart](), "SeenMessage": reflect.TypeFor[client.Message](), "SentTo": reflect.TypeFor[client.SentTo](),
	"Stats": reflect.TypeFor[client.QueueStats](), "usage": reflect.TypeFor[client.UsageDay](), "Verdict": reflect.TypeFor[client.Verdict](), "WholeClaim": reflect.TypeFor[client.Claim](), "Word": reflect.TypeFor[client.Word](),
}

// What the client knows otherwise, or leaves out: why.
var leftOut = map[string]string{
	"Error": "it is client.Error", "Health": "it is nil", "Metadata": "it is client.Meta", "WriteMetadata": "it is client.Meta", "Resolved": "Resolve returns its fields",
	"Extended": "it is client.Settled", "capability": "of /v1/discovery, which is for programs that know no client",
	"Published.payload": "the caller has it", "Published.delivery_count": "it is 0", "Stats.queue": "the caller has it", "Queue.enable_priority": "it is always on",
}

// Every field that the server answers is one that the client gives: an answer that grows shows here.
func TestEveryFieldIsKnown(t *testing.T) {
	t.Parallel()
	c := serve(t, nil)
	r, err := c.HTTP.Get(c.URL + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]json.RawMessage
			}
		}
	}
	if b, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(b, &doc) != nil {
		t.Fatalf("%v: %.200s", err, b)
	}
	if len(doc.Components.Schemas) < len(shapes) {
		t.Fatalf("the document has %d schemas", len(doc.Components.Schemas))
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		if leftOut[name] != "" {
			continue
		}
		shape, ok := shapes[name]
		if !ok {
			t.Errorf("the contract's %s has no type of the client: name it in shapes, or in leftOut with the reason", name)
			continue
		}
		known := map[string]bool{}
		for _, f := range reflect.VisibleFields(shape) {
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			known[tag] = true
		}
		for field := range doc.Components.Schemas[name].Properties {
			if !known[field] && leftOut[name+"."+field] == "" {
				t.Errorf("the contract's %s has a field %s that %v does not give", name, field, shape)
			}
		}
	}
}
