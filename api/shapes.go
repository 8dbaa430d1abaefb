package api

import (
	"encoding/json/jsontext"
	"reflect"
)

// The answers that write themselves, as types: nothing is written from them, they say only what is. test/wire holds every answer that it
// sees against them.

type messageShape struct {
	ID        string            `json:"message_id"`
	Queue     string            `json:"queue"`
	Payload   jsontext.Value    `json:"payload"`
	Headers   map[string]string `json:"headers"`
	Priority  int               `json:"priority"`
	Group     *string           `json:"message_group_id"`
	Status    string            `json:"status"`
	Count     int               `json:"delivery_count"`
	Published stamp             `json:"published_at"`
	Origin    stamp             `json:"origin_at"`
	DeadAt    stamp             `json:"dead_lettered_at"`
	Source    *string           `json:"source_queue"`
	LastError *string           `json:"last_error"`
}

type seenShape struct {
	messageShape
	Visible stamp `json:"visible_at"`
}

type leasedShape struct {
	messageShape
	Receipt string `json:"receipt_handle"`
	Until   stamp  `json:"visible_until"`
}

type publishedShape struct {
	ID        string         `json:"message_id"`
	Queue     string         `json:"queue"`
	Payload   jsontext.Value `json:"payload"`
	Status    string         `json:"status"`
	Count     int            `json:"delivery_count"`
	Published stamp          `json:"published_at"`
	Visible   stamp          `json:"visible_at"`
}

type publishedItemShape struct {
	publishedShape
	Replay bool `json:"idempotent_replay"`
}

// settledShape is in each answer to an act, movedShape where the message may go somewhere.
type (
	settledShape struct {
		Reason *string `json:"reason"`
	}
	movedShape struct {
		settledShape
		Status  *string `json:"status"`
		Visible stamp   `json:"visible_at"`
	}
	ackedShape struct {
		Acked bool `json:"acked"`
		settledShape
	}
	nackedShape struct {
		Nacked bool `json:"nacked"`
		movedShape
	}
	releasedShape struct {
		Released bool `json:"released"`
		movedShape
	}
	extendedShape struct {
		Extended bool `json:"extended"`
		settledShape
		Until stamp `json:"visible_until"`
	}
)

type eventShape struct {
	eventView
	Payload    jsontext.Value `json:"payload"`
	Deliveries []sentToView   `json:"deliveries"`
}

type errorShape struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Hint    *string `json:"hint"`
	Field   *string `json:"field"`
}

type metadataShape struct {
	RequestID string  `json:"request_id"`
	Latency   float64 `json:"latency_ms"`
	Cost      float64 `json:"cost_usd"`
}

type writeShape struct {
	metadataShape
	Replay bool `json:"idempotent_replay"`
}

// batchShape is the answer to a batch: of each item what T says, or its error.
type batchShape[T any] struct{}

func (batchShape[T]) shape(g *shapes) *schema {
	item := reflect.TypeFor[T]()
	done := g.object(item, shapeNames[item])
	done.Properties = append(done.Properties, property{"error", null()})
	done.Required = append(done.Required, "error")
	failed := &schema{Type: "object", Properties: properties{{"error", g.of(reflect.TypeFor[errorShape](), "")}}, Required: []string{"error"}}
	return &schema{Type: "object", Required: []string{"items"}, Properties: properties{{"items", &schema{
		Type: "array", Description: "Of each item its answer or its error, in the order of the call.", Items: &schema{AnyOf: []*schema{done, failed}},
	}}}}
}

// shapeNames are the types that more than one call answers with, or that are worth a name.
var shapeNames = map[reflect.Type]string{
	reflect.TypeFor[queueView]():       "Queue",
	reflect.TypeFor[messageShape]():    "Message",
	reflect.TypeFor[seenShape]():       "SeenMessage",
	reflect.TypeFor[leasedShape]():     "LeasedMessage",
	reflect.TypeFor[publishedShape]():  "Published",
	reflect.TypeFor[settledShape]():    "Settled",
	reflect.TypeFor[movedShape]():      "Settled",
	reflect.TypeFor[extendedShape]():   "Extended",
	reflect.TypeFor[redriveView]():     "Redrive",
	reflect.TypeFor[redrivePartView](): "RedrivePart",
	reflect.TypeFor[endpointView]():    "Endpoint",
	reflect.TypeFor[endpointSecret]():  "EndpointSecret",
	reflect.TypeFor[sentToView]():      "SentTo",
	reflect.TypeFor[eventView]():       "Event",
	reflect.TypeFor[deliveryView]():    "Delivery",
	reflect.TypeFor[attemptView]():     "Attempt",
	reflect.TypeFor[claimView]():       "Claim",
	reflect.TypeFor[wholeShape]():      "WholeClaim",
	reflect.TypeFor[noteView]():        "ClaimNote",
	reflect.TypeFor[answeredShape]():   "Verdict",
	reflect.TypeFor[answered]():        "Verdict",
	reflect.TypeFor[said]():            "Word",
	reflect.TypeFor[begun]():           "Beat",
	reflect.TypeFor[resolvedView]():    "Resolved",
	reflect.TypeFor[usageView]():       "usage",
	reflect.TypeFor[projectView]():     "Project",
	reflect.TypeFor[keyView]():         "Key",
	reflect.TypeFor[keySecret]():       "KeySecret",
	reflect.TypeFor[errorShape]():      "Error",
	reflect.TypeFor[metadataShape]():   "Metadata",
	reflect.TypeFor[writeShape]():      "WriteMetadata",
	reflect.TypeFor[capability]():      "capability",
	reflect.TypeFor[statsView]():       "Stats",
	reflect.TypeFor[health]():          "Health",
}
