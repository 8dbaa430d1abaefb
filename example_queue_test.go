package onceward_test

import "fmt"

// A message is leased to who receives it, and gone once its receipt is acked. A receipt that is not the newest changes
// nothing.
func Example_queue() {
	s, done := open()
	defer done()
	post[any](s, "/v1/queue/create", `{"name":"jobs"}`)
	post[any](s, "/v1/queue/publish", `{"queue":"jobs","payload":{"job":7}}`)

	first, _ := consume(s, 0)
	_, another := consume(s, 0)
	fmt.Println("job", first.Body.Job, "receive", first.Count, "and another:", another)

	type result struct {
		Nacked, Acked bool
		Reason        string
	}
	post[result](s, "/v1/queue/nack", `{"queue":"jobs","receipt_handle":"`+first.Receipt+`","delay_seconds":0}`)
	second, _ := consume(s, 0)
	fmt.Println("job", second.Body.Job, "receive", second.Count)

	late := post[result](s, "/v1/queue/ack", `{"queue":"jobs","receipt_handle":"`+first.Receipt+`"}`)
	fmt.Println("acked by the first:", late.Data.Acked, late.Data.Reason)
	ack := post[result](s, "/v1/queue/ack", `{"queue":"jobs","receipt_handle":"`+second.Receipt+`"}`)
	fmt.Println("acked by the second:", ack.Data.Acked)
	// Output:
	// job 7 receive 1 and another: false
	// job 7 receive 2
	// acked by the first: false lease_lost
	// acked by the second: true
}

// A publish whose answer was lost is repeated under its key: one message, and the first answer again.
func Example_publishKey() {
	s, done := open()
	defer done()
	post[any](s, "/v1/queue/create", `{"name":"jobs"}`)

	first := post[message](s, "/v1/queue/publish", `{"queue":"jobs","payload":{"job":7},"idempotency_key":"order-7"}`)
	again := post[message](s, "/v1/queue/publish", `{"queue":"jobs","payload":{"job":7},"idempotency_key":"order-7"}`)
	fmt.Println("the same message:", again.Data.ID == first.Data.ID, "replay:", again.Metadata.Replay)

	other := post[message](s, "/v1/queue/publish", `{"queue":"jobs","payload":{"job":8},"idempotency_key":"order-7"}`)
	fmt.Println("another under the key:", other.Error.Code)
	// Output:
	// the same message: true replay: true
	// another under the key: IDEMPOTENCY_KEY_REUSED
}

// A message that nobody can do is set aside, and sent back once its cause is mended. Run moves what is redriven.
func Example_deadLetter() {
	s, done := open()
	defer done()
	defer run(s)()
	post[any](s, "/v1/queue/create", `{"name":"jobs","max_receive_count":1}`)
	post[any](s, "/v1/queue/publish", `{"queue":"jobs","payload":{"job":7}}`)

	m, _ := consume(s, 0)
	nack := post[struct{ Status string }](s, "/v1/queue/nack", `{"queue":"jobs","receipt_handle":"`+m.Receipt+`","error":"no printer"}`)
	fmt.Println("after its last receive:", nack.Data.Status)

	post[any](s, "/v1/queue/dlq/redrive/jobs", `{}`)
	back, _ := consume(s, 20)
	fmt.Println("redriven: the same message:", back.ID == m.ID, "receive", back.Count)
	// Output:
	// after its last receive: dead_lettered
	// redriven: the same message: true receive 1
}
