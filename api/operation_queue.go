package api

import "github.com/onceward/onceward/internal/fault"

var queueOperations = map[string]operation{
	"GET /healthz": {id: "health.alive", says: "Says that the program runs.", answer: health{}},
	"GET /readyz":  {id: "health.ready", says: "Says that requests can be served: 503 while the server is stopping or its store is away.", answer: health{}},

	"POST /v1/queue/create": {
		id: "queue.create", keyed: true, says: "Makes a queue, and its dead-letter queue. The same call again answers the queue.",
		body: createRequest{}, wants: "name", example: `{"name":"reports","max_receive_count":5}`, answer: queueView{},
		errors: []fault.Code{fault.QueueExists},
	},
	"POST /v1/queue/update/{queue}": {
		id: "queue.update", says: "Changes a queue's settings, for messages published from then on.",
		body: updateRequest{}, wants: "{}",
		example: `{"visibility_timeout_default":60}`, answer: queueView{}, errors: []fault.Code{fault.Conflict},
	},
	"GET /v1/queue/list":              {id: "queue.list", says: "Lists the queues, the newest first.", answer: list[queueView]{}},
	"GET /v1/queue/get/{queue}":       {id: "queue.get", says: "Shows a queue.", answer: queueView{}},
	"DELETE /v1/queue/delete/{queue}": {id: "queue.delete", says: "Deletes a queue; with force, its messages with it. Its dead-letter queue stays.", answer: deleted{}, errors: []fault.Code{fault.QueueNotEmpty, fault.Conflict}},
	"POST /v1/queue/pause/{queue}":    {id: "queue.pause", says: "Makes consume answer an empty list; publishing goes on.", body: keyed{}, answer: queueView{}},
	"POST /v1/queue/resume/{queue}":   {id: "queue.resume", says: "Ends a pause.", body: keyed{}, answer: queueView{}},
	"POST /v1/queue/purge/{queue}": {
		id: "queue.purge", says: "Deletes all messages of a queue, those in flight included.",
		body: purgeRequest{}, wants: "confirm", example: `{"confirm":"jobs"}`, answer: purgedView{},
	},
	"GET /v1/queue/stats/{queue}":    {id: "queue.stats", says: "Counts a queue's messages by where they are.", answer: statsView{}},
	"GET /v1/queue/messages/{queue}": {id: "queue.messages", says: "Looks at a queue's messages without a lease, the oldest first.", answer: list[seenShape]{}},

	"POST /v1/queue/push_subscribe/{queue}": {
		id: "queue.push.subscribe", says: "Has the queue's messages sent to a URL, signed; 2xx acks. The same URL again answers the same id, and changes what is named.",
		body: subscribeRequest{}, wants: "url", example: `{"url":"https://example.com/work","max_in_flight":5}`, answer: subscribedView{},
	},
	"GET /v1/queue/push_list/{queue}":                {id: "queue.push.list", says: "Lists a queue's subscriptions, the newest first.", answer: list[subscriptionView]{}},
	"DELETE /v1/queue/push_unsubscribe/{queue}/{id}": {id: "queue.push.unsubscribe", says: "Ends a subscription: nothing more is sent within a second. What is being sent is finished.", answer: deleted{}, errors: []fault.Code{fault.NotFound}},

	"GET /v1/queue/dlq/list/{queue}": {id: "queue.dlq.list", says: "Lists the dead letters that came from a queue, the oldest first.", answer: list[seenShape]{}},
	"POST /v1/queue/dlq/redrive/{queue}": {
		id: "queue.dlq.redrive", keyed: true, says: "Begins to send a queue's dead letters back to it, in the background.",
		body: redriveRequest{}, example: `{"rate_per_second":50}`, answer: redriveView{}, errors: []fault.Code{fault.Conflict, fault.MessageNotFound},
	},
	"GET /v1/queue/dlq/redrive/{queue}":      {id: "queue.dlq.redrive.get", says: "Shows the newest redrive of a queue; a dry run only where it has had no other.", answer: redriveView{}, errors: []fault.Code{fault.NotFound}},
	"POST /v1/queue/dlq/redrive_cancel/{id}": {id: "queue.dlq.redrive.cancel", says: "Stops a redrive; nothing is lost.", body: keyed{}, answer: redriveView{}},
	"GET /v1/redrives/{id}":                  {id: "redrives.get", says: "Shows how far a redrive is.", answer: redriveView{}},
	"GET /v1/redrives/{id}/endpoints":        {id: "redrives.endpoints", says: "Shows how far a redrive of deliveries is with each endpoint.", answer: list[redrivePartView]{}},
	"POST /v1/redrives/{id}/cancel":          {id: "redrives.cancel", says: "Stops a redrive; nothing is lost.", body: keyed{}, answer: redriveView{}},
}
