package main

// ofRequests are the guards of the request ledger in front of a handler. Their tests run on every ledger by themselves.
var ofRequests = []mutant{
	{
		id: "request-fence", holds: "I7, H-L05", out: "a handler whose key was taken over is not answered for",
		edits:  []edit{{file: "idempotency/run.go", old: "\tcase !a.Applied:\n\t\treturn c.lost(a)\n", new: "\tcase !a.Applied && a.Reason == \"\":\n\t\treturn c.lost(a)\n"}},
		caught: alone("idempotency", "TestFrozen", `answered 409 of the frozen; want 409 with "IN_FLIGHT"`),
	},
	{
		id: "request-heartbeat", holds: "I5", out: "a handler that runs keeps its key",
		edits:  []edit{{file: "idempotency/run.go", old: "Lost: ErrLeaseLost, Beat: c.beat})", new: "Lost: ErrLeaseLost, Beat: func() (bool, error) { return true, nil }})"}},
		caught: alone("idempotency", "TestLongHandler", `want 409 with "IN_FLIGHT"`),
	},
	{
		id: "request-tenant", holds: "I13", out: "the tenant is part of a key",
		edits:  []edit{{file: "idempotency/middleware.go", old: "[]string{tenant, method, route, key}", new: "[]string{method, route, key}"}},
		caught: alone("idempotency", "TestApart", "has the operation of another"),
	},
	{
		id: "request-same", holds: "H-L13, H-L17", out: "a repeated request is compared with the first",
		edits:  []edit{{file: "idempotency/middleware.go", old: "Lease: c.m.c.Lease, WorkHash: c.hash[:]", new: "Lease: c.m.c.Lease"}},
		caught: alone("idempotency", "TestSame", "the body does not make it another request"),
	},
	{
		id: "request-not-kept", holds: "I4", out: "what failed is not given again",
		edits:  []edit{{file: "idempotency/run.go", old: "\treturn status < 500\n", new: "\treturn status < 600\n"}},
		caught: alone("idempotency", "TestNotKept", "want 502 with"),
	},
	{
		id: "request-held-back", holds: "I1", out: "an answer leaves when its record is made",
		edits:  []edit{{file: "idempotency/recorder.go", old: "\tif len(r.Body) > r.limit {\n\t\tr.stream()", new: "\tif len(r.Body) > 0 {\n\t\tr.stream()"}},
		caught: alone("idempotency", "TestHeldBack", "the client had its answer before the ledger had the record"),
	},
	{
		id: "request-outlives-client", holds: "I1", out: "a client that goes away does not end the work",
		edits:  []edit{{file: "idempotency/run.go", old: "c.operation.in(context.WithoutCancel(c.r.Context())), c.m.c.Timeout)", new: "c.operation.in(c.r.Context()), c.m.c.Timeout)"}},
		caught: alone("idempotency", "TestClientGone", "the work was ended"),
	},
	{
		id: "request-not-begun", holds: "I4", out: "a key under which nothing was begun stands for no request",
		edits:  []edit{{file: "ledger/rules.go", old: "\t\t\tc.WorkHash = nil // ", new: "\t\t\t// "}},
		caught: alone("idempotency", "TestNotBegun", `answered 409`),
	},
	{
		id: "request-tx-undone", holds: "I9", out: "work whose answer is not kept is undone",
		edits:  []edit{{file: "idempotency/tx.go", old: "\t\t\treturn errUndone\n", new: "\t\t\treturn nil\n"}},
		caught: alone("idempotency", "TestTxUndone", ": an effect, and"),
	},
}
