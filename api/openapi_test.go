package api_test

import (
	"bytes"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/onceward/onceward/api"
	"github.com/onceward/onceward/internal/conform"
)

// What is not in the documents does not exist for who reads them.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	ids := map[string]string{}
	for _, d := range api.Descriptions() {
		if d.ID == "" {
			t.Errorf("%s is not described: give it an operation in api/operation_*.go, by its method and path, with an id like queue.publish, what it does in a sentence, the struct of its body, "+
				"an example of one, the type of its answer, and the codes of its errors; then write its answer down with: go test ./api -run TestExamples -update", d.Route)
			continue
		}
		if other := ids[d.ID]; other != "" {
			t.Errorf("%s and %s have the same id, %s", other, d.Route, d.ID)
		}
		ids[d.ID] = d.Route
	}
	for _, err := range api.Undescribed() {
		t.Error(err)
	}
}

// The document is one of OpenAPI 3.1, by the specification's own schema, and it is what is served.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	contract, err := conform.Read(api.Contract())
	if err != nil {
		t.Fatal(err)
	}
	if err := contract.Valid(); err != nil {
		t.Error(err)
	}
	e := serve(t, api.Config{Store: newStub()})
	a := e.do("GET", "/openapi.json", "", "Authorization", "")
	if a.status != 200 || !bytes.Equal(a.raw, api.Contract()) {
		t.Errorf("/openapi.json without a key: %d, %d bytes", a.status, len(a.raw))
	}
	var d struct {
		OpenAPI string                    `json:"openapi"`
		Paths   map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(a.raw, &d); err != nil || d.OpenAPI != "3.1.1" {
		t.Fatalf("%v %q", err, d.OpenAPI)
	}
	for _, d2 := range api.Descriptions() {
		method, path, _ := strings.Cut(d2.Route, " ")
		if d.Paths[path][strings.ToLower(method)] == nil {
			t.Errorf("%s is not in the document", d2.Route)
		}
	}
}
