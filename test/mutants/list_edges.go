package main

// ofEdges are the guards against what comes from outside: bodies, names, headers, answers, and handles that somebody made up.
var ofEdges = []mutant{
	{
		id: "headers-reserved", holds: "I13", out: "an endpoint sets no header that frames, signs or names the request",
		edits:  []edit{{file: "webhook/headers.go", old: "\t\tcase isReserved(lower):\n", new: "\t\tcase isReserved(lower) && name == \"\":\n"}},
		caught: alone("webhook", "TestEndpointChecks/webhook-id", "want a fault of /headers/Webhook-Id"),
	},
	{
		id: "headers-control", holds: "I13", out: "a header's value ends no line",
		edits:  []edit{{file: "webhook/headers.go", old: "return c < ' ' && c != '\\t' || c == 0x7f }", new: "return c == 0x7f }"}},
		caught: alone("webhook", "TestEndpointChecks/a header's second line", "want a fault of /headers/X-A"),
	},
	{
		id: "event-id", holds: "H-L11", out: "an event's id has no colon, so that two ids make no one key",
		edits:  []edit{{file: "webhook/check.go", old: "len(s) <= maxEventID && only(s, idChars) }", new: "len(s) <= maxEventID }"}},
		caught: alone("webhook", "TestNewEventCheck/a colon", "want a fault of /event_id"),
	},
	{
		id: "answer-not-unpacked", holds: "I15, H-W12", out: "a receiver's answer is not unpacked",
		edits:  []edit{{file: "webhook/transport.go", old: "DisableCompression:     true,", new: "DisableCompression:     false,"}},
		caught: alone("webhook", "TestHostileReceivers/gzip that unpacks to much", "what is kept of the answer is not what was on the wire"),
	},
	{
		id: "answer-bound", holds: "I15, H-W12", out: "no more of an answer is read than its bound",
		edits:  []edit{{file: "webhook/send.go", old: "_, err = io.CopyN(io.Discard, body, readResponse-keepResponse)", new: "_, err = io.Copy(io.Discard, body)"}},
		caught: alone("webhook", "TestHostileReceivers", "bytes were taken from a receiver that pours"),
	},
	{
		id: "retry-after-most", holds: "H-L10", out: "no Retry-After asks for more than a day",
		edits: []edit{
			{file: "internal/retryafter/retryafter.go", old: "if err != nil || n > uint64(Max/time.Second) {", new: "if err != nil {"},
			{file: "internal/retryafter/retryafter.go", old: "return min(Max, max(0, at.Sub(now)))", new: "return max(0, at.Sub(now))"},
		},
		caught: alone("internal/retryafter", "TestRetryAfter", `"86401" (date "")`),
	},
	{
		id: "body-unpacked", holds: "I15", out: "a body that is compressed is refused",
		edits:  []edit{{file: "api/decode.go", old: "e != \"\" && !strings.EqualFold(e, \"identity\") {", new: "e != \"\" && strings.EqualFold(e, \"identity\") {"}},
		caught: alone("api", "TestBodies", "want 415 UNSUPPORTED_MEDIA_TYPE"),
	},
	{
		id: "body-size", holds: "I15", out: "a body has at most 16 MiB, whether it says so or not",
		edits: []edit{{
			file: "api/room.go", old: "http.MaxBytesReader(c.w, c.r.Body, maxBody), c.r.ContentLength\n\tif size > maxBody {",
			new: "http.MaxBytesReader(c.w, c.r.Body, 4*maxBody), c.r.ContentLength\n\tif size > 4*maxBody {",
		}},
		caught: alone("api", "TestBodies", "want 413 PAYLOAD_TOO_LARGE"),
	},
	{
		id: "body-depth", holds: "I15", out: "a payload has no more levels than its readers can read",
		edits:  []edit{{file: "internal/canon/depth.go", old: "dec.StackDepth() > MaxDepth {", new: "dec.StackDepth() > 10*MaxDepth {"}},
		caught: alone("api", "TestDepth", "want 400 INVALID_ARGUMENT"),
	},
	{
		id: "sealed-for-project", holds: "I13", out: "a sealed secret opens for its own project alone",
		edits:  []edit{{file: "webhook/seal.go", old: "uint64(project))", new: "0)"}},
		caught: alone("webhook", "TestSealer", "it opens for another project"),
	},
	{
		id: "route-scopes", holds: "I13", out: "a key calls what its scopes allow, and no more",
		edits:  []edit{{file: "api/auth.go", old: "\t\tif c.key.May(s) {\n", new: "\t\tif c.key.May(s) || s != access.Root {\n"}},
		caught: alone("api", "TestScopes", "want 403 FORBIDDEN"),
	},
	{
		id: "receipts-are-ours", holds: "I2, I13", out: "a receipt is one that was made, for its project and queue",
		edits:  []edit{{file: "internal/ids/ids.go", old: "return id, lease, hmac.Equal(b[12:], c.mac(string(receipt), queue, project, id, lease))", new: "return id, lease, len(b) > 12"}},
		caught: alone("internal/ids", "TestReceipt", "it is a receipt of another queue"),
	},
	{
		id: "cursors-are-ours", holds: "I13", out: "a cursor goes on in its own list alone",
		edits:  []edit{{file: "internal/ids/ids.go", old: "return id, hmac.Equal(b[8:], c.mac(string(k), name, project, id, 0))", new: "return id, name != \"\" || hmac.Equal(b[8:], c.mac(string(k), name, project, id, 0))"}},
		caught: alone("internal/ids", "TestCursor", "a cursor of queues goes on in events"),
	},
}
