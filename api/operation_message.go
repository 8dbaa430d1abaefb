package api

import "github.com/onceward/onceward/internal/fault"

var messageOperations = map[string]operation{
	"POST /v1/queue/publish": {
		id: "queue.publish", keyed: true, says: "Stores a message. Under the same key in its window it is stored once.", unit: "message",
		body: publishRequest{}, wants: "queue payload|body", example: `{"queue":"jobs","payload":{"order":7},"delay_seconds":0}`, answer: publishedShape{},
		errors: []fault.Code{fault.QueueNotFound, fault.MessageTooLarge, fault.InsufficientCredit},
	},
	"POST /v1/queue/publish_batch": {
		id: "queue.publish_batch", keyed: true, says: "Stores many messages: one that cannot be stored does not touch the others.", unit: "message",
		body: publishBatchRequest{}, wants: "queue messages", example: `{"queue":"jobs","messages":[{"payload":{"order":8}},{"payload":{"order":9},"priority":9,"idempotency_key":"order-9"}]}`,
		answer: batchShape[publishedItemShape]{}, errors: []fault.Code{fault.QueueNotFound},
	},
	"POST /v1/queue/consume": {
		id: "queue.consume", says: "Hands out messages under a lease, waiting for some if asked to.",
		body: consumeRequest{}, wants: "queue", example: `{"queue":"jobs","max_messages":10,"wait_seconds":0}`, answer: list[leasedShape]{},
		errors: []fault.Code{fault.QueueNotFound},
	},
	"POST /v1/queue/ack":     settling("queue.ack", "Ends a message: its work is done.", ackItem{}, "", "", ackedShape{}),
	"POST /v1/queue/nack":    settling("queue.nack", "Gives a message back because its work failed, or dead-letters it now.", nackItem{}, "", `,"delay_seconds":30,"error":"the mail server is away"`, nackedShape{}),
	"POST /v1/queue/release": settling("queue.release", "Gives a message back as if it had not been received: its delivery count is given back too.", releaseItem{}, "", "", releasedShape{}),
	"POST /v1/queue/extend":  settling("queue.extend", "Makes a lease last from now, up to 12 hours after the receive.", extendItem{}, " visibility_timeout", `,"visibility_timeout":300`, extendedShape{}),

	"POST /v1/queue/ack_batch":     settlingMany("queue.ack_batch", "Acks many messages of a queue.", settleManyRequest[ackItem]{}, "", batchShape[ackedShape]{}),
	"POST /v1/queue/nack_batch":    settlingMany("queue.nack_batch", "Nacks many messages of a queue.", settleManyRequest[nackItem]{}, `,"requeue":false`, batchShape[nackedShape]{}),
	"POST /v1/queue/release_batch": settlingMany("queue.release_batch", "Releases many messages of a queue.", settleManyRequest[releaseItem]{}, "", batchShape[releasedShape]{}),
	"POST /v1/queue/extend_batch":  settlingMany("queue.extend_batch", "Extends many leases of a queue.", settleManyRequest[extendItem]{}, `,"visibility_timeout":300`, batchShape[extendedShape]{}),
}

const exAct = `"receipt_handle":"` + exReceipt + `"`

func settling(id, says string, body any, wants, more string, answer any) operation {
	return operation{
		id: id, says: says, body: body, wants: "queue receipt_handle|message_id" + wants, example: `{"queue":"jobs",` + exAct + more + `}`, answer: answer,
		errors: []fault.Code{fault.QueueNotFound, fault.MessageNotFound, fault.ReceiptInvalid},
	}
}

func settlingMany(id, says string, body any, more string, answer any) operation {
	return operation{
		id: id, says: says + " Of each item its answer or its error.", body: body, wants: "queue items", example: `{"queue":"jobs","items":[{` + exAct + more + `}]}`, answer: answer,
		errors: []fault.Code{fault.QueueNotFound},
	}
}
