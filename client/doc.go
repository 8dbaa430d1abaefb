// Package client calls an Onceward server over its HTTP contract, from any Go program. It imports the standard library alone.
//
//	c, err := client.New(client.Config{URL: "http://127.0.0.1:6623", APIKey: os.Getenv("ONCEWARD_API_KEY")})
//	m, err := c.Publish(ctx, "jobs", client.NewMessage{Payload: job, Key: "order-7"})
//
// A call is a method: [Client.Publish], [Client.Consume], [Client.SendEvent] and so on, each with the limits and errors of the contract
// (docs/http-api.md). Durations are seconds on the wire and [time.Duration] here. Lists are iterators that ask for page after page.
//
// # Sending again
//
// A call whose answer is lost may have been done. So what makes something carries an idempotency key, and is sent again under the same one: on
// 429, on 5xx, and where no answer came; never on another 4xx. The key is yours if you give one, else it is made for the call, which covers this
// call and no more: a program that may die and run again gives its own, made of what the work is ("order-7"). The pause between two tries is that of the
// answer's Retry-After, or grows from 100 ms to 10 s, and is never as long as what is left of the context.
//
// # Consuming
//
// [Consumer] is the loop around Consume: handlers side by side, leases extended while they work, acks in batches, and a stop that breaks nothing off.
package client
