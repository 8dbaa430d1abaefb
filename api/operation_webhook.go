package api

import "github.com/onceward/onceward/internal/fault"

var webhookOperations = map[string]operation{
	"POST /v1/webhooks/endpoints": {
		id: "webhooks.endpoints.create", keyed: true, says: "Makes an endpoint: a URL that wants events. Its secret is shown this once.",
		body: endpointRequest{}, wants: "url", example: `{"url":"https://example.com/hook","tenant":"acme","event_types":["ticket.*"]}`, answer: endpointSecret{},
	},
	"GET /v1/webhooks/endpoints":      {id: "webhooks.endpoints.list", says: "Lists the endpoints, the newest first.", answer: list[endpointView]{}},
	"GET /v1/webhooks/endpoints/{id}": {id: "webhooks.endpoints.get", says: "Shows an endpoint, without its secret.", answer: endpointView{}},
	"PATCH /v1/webhooks/endpoints/{id}": {
		id: "webhooks.endpoints.update", says: "Changes an endpoint.", body: endpointRequest{},
		wants:   "{}",
		example: `{"timeout_seconds":10,"rate_per_second":null}`, answer: endpointView{}, errors: []fault.Code{fault.Conflict},
	},
	"DELETE /v1/webhooks/endpoints/{id}": {id: "webhooks.endpoints.delete", says: "Deletes an endpoint and cancels what waits for it.", answer: deleted{}},
	"POST /v1/webhooks/endpoints/{id}/rotate_secret": {
		id: "webhooks.endpoints.rotate_secret", keyed: true, says: "Gives an endpoint another secret; both sign for a while. It is shown this once.",
		body: rotateRequest{}, example: `{"grace_seconds":3600}`, answer: endpointSecret{}, errors: []fault.Code{fault.Conflict},
	},
	"POST /v1/webhooks/endpoints/{id}/enable":  {id: "webhooks.endpoints.enable", says: "Sends to the endpoint again, what waited first.", body: keyed{}, answer: endpointView{}},
	"POST /v1/webhooks/endpoints/{id}/disable": {id: "webhooks.endpoints.disable", says: "Lets what is for the endpoint wait.", body: keyed{}, answer: endpointView{}},
	"POST /v1/webhooks/endpoints/{id}/test":    {id: "webhooks.endpoints.test", keyed: true, says: "Sends an event of type webhook.test to the endpoint.", body: keyed{}, answer: endpointTest{}, errors: []fault.Code{fault.Conflict}},

	"POST /v1/webhooks/events": {
		id: "webhooks.events.send", keyed: true, says: "Stores an event and makes its deliveries, in one transaction. The same event_id again answers the first deliveries.",
		body: eventRequest{}, wants: "event_type payload", example: `{"event_type":"ticket.resolved","payload":{"ticket":8},"tenant":"acme"}`, answer: sentView{},
		errors: []fault.Code{fault.EventIDReused, fault.NotFound},
	},
	"GET /v1/webhooks/events":          {id: "webhooks.events.list", says: "Lists the events, the newest first.", answer: list[eventView]{}, errors: []fault.Code{fault.NotFound}},
	"GET /v1/webhooks/events/{id}":     {id: "webhooks.events.get", says: "Shows an event with its payload and its deliveries.", answer: eventShape{}},
	"GET /v1/webhooks/deliveries":      {id: "webhooks.deliveries.list", says: "Lists the deliveries, the newest first.", answer: list[deliveryView]{}, errors: []fault.Code{fault.NotFound}},
	"GET /v1/webhooks/deliveries/{id}": {id: "webhooks.deliveries.get", says: "Shows a delivery with its attempts.", answer: deliveryView{}},
	"POST /v1/webhooks/deliveries/{id}/resend": {
		id: "webhooks.deliveries.resend", keyed: true, says: "Sends a delivery again, even one that was delivered.",
		body: resendRequest{}, example: `{"reason":"they lost it"}`, answer: deliveryView{}, errors: []fault.Code{fault.Conflict},
	},
	"POST /v1/webhooks/deliveries/{id}/resolve": {
		id: "webhooks.deliveries.resolve", says: "Says what became of a stuck delivery.",
		body: resolveRequest{}, wants: "as", example: `{"as":"delivered","note":"they have it"}`, answer: deliveryView{}, errors: []fault.Code{fault.Conflict},
	},
	"POST /v1/webhooks/deliveries/{id}/cancel": {
		id: "webhooks.deliveries.cancel", says: "Gives up a delivery that waits.",
		body: cancelRequest{}, example: `{"reason":"sent by mistake"}`, answer: deliveryView{}, errors: []fault.Code{fault.Conflict},
	},
	"POST /v1/webhooks/redrive": {
		id: "webhooks.redrive", keyed: true, says: "Begins to send dead deliveries again, in the background.",
		body: redriveDeliveriesRequest{}, wants: "{}",
		example: `{"endpoint_id":"` + exEndpoint + `","states":["failed"]}`, answer: redriveView{}, errors: []fault.Code{fault.Conflict, fault.NotFound},
	},
}
