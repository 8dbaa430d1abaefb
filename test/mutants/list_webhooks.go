package main

// ofWebhooks are the guards of sending.
var ofWebhooks = []mutant{
	{
		id: "dial-guard", holds: "H-W12", out: "an address is looked at when it is dialled",
		edits:  []edit{{file: "webhook/transport.go", old: "if guard := w.guard; guard != nil {", new: "if guard := w.guard; guard != nil && w.dial != nil {"}},
		caught: alone("webhook", "TestNotSent/loopback by name", "sent:true"),
	},
	{
		id: "private-by-default", holds: "H-W12", out: "without being told, a worker sends to public addresses alone",
		edits:  []edit{{file: "webhook/worker.go", old: "if c.Guard == nil && !c.Rules.AllowPrivate {", new: "if c.Guard == nil && c.Owner == \"\" {"}},
		caught: alone("webhook", "TestWorkerRefusesPrivateAddresses/https", "a connection to a private address"),
	},
	{
		id: "push-private-by-default", holds: "H-W12", out: "without being told, a pusher sends to public addresses alone",
		edits:  []edit{{file: "webhook/push.go", old: "if c.Guard == nil && !c.Rules.AllowPrivate {", new: "if c.Guard == nil && c.Owner == \"\" {"}},
		caught: alone("webhook", "TestPusherRefusesPrivateAddresses/https", "a connection to a private address"),
	},
	{
		id: "https-at-each-attempt", holds: "H-W12", out: "what was taken with http:// while private networks were allowed is not sent to without them",
		edits: []edit{{file: "webhook/check.go", old: "!r.AllowPrivate && !strings.EqualFold(scheme, \"https\")", new: "!r.AllowPrivate && scheme == \"\""}},
		caught: append(alone("webhook", "TestWorkerRefusesPrivateAddresses/http", "http: {Job"),
			alone("webhook", "TestPusherRefusesPrivateAddresses/http", "http: [{Row")...),
	},
	{
		id: "answer-to-its-end", holds: "H-L04, H-W12", out: "a 5xx is a refusal only if its end came",
		edits:  []edit{{file: "webhook/send.go", old: "err != nil && !errors.Is(err, io.EOF)\n", new: "err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled)\n"}},
		caught: alone("webhook", "TestHostileReceivers/a 503 that drips", "cut:false"),
	},
	{
		id: "long-ladder", holds: "I1", out: "a delivery that waits for its rung is not past its retention, however long that is",
		edits: []edit{
			{file: "store/sqlite/sql/message_expired.sql", old: "(queue <> 1 OR max(", new: "(queue > 0 OR max("},
			{file: "store/postgres/sql/sweep_expired.sql", old: "(queue <> 1 OR greatest(", new: "(queue > 0 OR greatest("},
			{file: "store/postgres/sweep_pages.go", old: "if r.QueueID == deliveriesQueue && (r.VisibleAt", new: "if r.QueueID == 0 && (r.VisibleAt"},
		},
		caught: suite("deaths", "a ladder may be longer than deliveries are kept waiting", "what waits for its rung: "),
	},
	{
		id: "dead-goes-first", holds: "I16, H-Q03", out: "what a dead sender held goes before what waits for its endpoint",
		edits: []edit{
			{file: "store/sqlite/sweep.go", old: "m.VisibleAt = m.PublishedAt", new: "m.VisibleAt = was.VisibleAt"},
			{file: "store/postgres/sql/lapse.sql", old: "CASE WHEN queue = 1 THEN published_at ELSE vis END AS due", new: "vis AS due"},
		},
		caught: suite("deaths", "what a dead sender held goes before what waits for its endpoint", "the next to go: "),
	},
	{
		id: "signed-bytes", holds: "H-W10", out: "the bytes signed are the bytes sent",
		edits:  []edit{{file: "webhook/request.go", old: "Sign(s, m.id, now, m.body)", new: "Sign(s, m.id, now, []byte(strings.ReplaceAll(string(m.body), \" \", \"\")))"}},
		caught: alone("webhook", "TestOnTheWire", "signature"),
	},
	{
		id: "timeout-before-lease", holds: "I14, H-W04", out: "an attempt ends before its lease",
		edits: []edit{
			{file: "webhook/attempt.go", old: "return min(j.Endpoint.Timeout, j.LeaseFor-minSlack/2)", new: "return j.Endpoint.Timeout"},
			{file: "webhook/attempt.go", old: "return min(j.Endpoint.Timeout, j.LeaseFor/2)", new: "return j.Endpoint.Timeout"},
		},
		caught: alone("webhook", "TestWorkerOutcomes/a lease shorter than the time-out", " times, observed 1"),
	},
	{
		id: "databases-clock", holds: "I14", out: "a request is dated by the database's clock",
		edits:  []edit{{file: "webhook/attempt.go", old: "\tif j.TakenAt.IsZero() {\n", new: "\tif !j.received.IsZero() {\n"}},
		caught: alone("webhook", "TestSignedByTheDatabasesClock", "verify webhook"),
	},
	{
		id: "secret-ends", holds: "H-W10", out: "a secret that was replaced signs no longer than it was said to",
		edits:  []edit{{file: "webhook/request.go", old: "if !sealed.ExpiresAt.IsZero() && !sealed.ExpiresAt.After(now) {", new: "if !sealed.ExpiresAt.IsZero() && sealed.ExpiresAt.IsZero() {"}},
		caught: alone("webhook", "TestOnTheWire", "3 signatures for two valid secrets"),
	},
	{
		id: "begin-before-effect", holds: "H-L04", out: "a worker begins a once before its effect",
		edits:  []edit{{file: "worker/job.go", old: "\tif terms.Begin {\n", new: "\tif terms.Begin && h == nil {\n"}},
		caught: alone("worker", "TestBeginsBeforeTheEffect", "before its begin"),
	},
	{
		id: "one-post", holds: "H-W05, I11", out: "the transport sends no POST again by itself",
		edits: []edit{{
			file: "webhook/send.go", old: "int64(len(body)), h\n",
			new: "int64(len(body)), h\n\tq.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }\n\tq.Header.Set(\"Idempotency-Key\", \"k\")\n",
		}},
		caught: alone("webhook", "TestOnePostForEachAttempt", "POSTs on the wire after"),
	},
	{
		id: "unknown-outcome", holds: "H-L04", out: "no answer after the first byte is an unknown outcome",
		edits:  []edit{{file: "webhook/answer.go", old: "return following{kind: ledger.Ambiguous, result: Unknown, why: reason(a)}", new: "return following{kind: ledger.Definite, result: Unknown, why: reason(a)}"}},
		caught: alone("webhook", "TestJudge/left, no answer", "idempotent: got"),
	},
	{
		id: "list-looks", holds: "H-W13", out: "a list of deliveries looks at no more than it shows, if it shows all (on SQLite rows are read one by one, as they are asked for)",
		edits:  []edit{{file: "store/postgres/delivery.go", old: "n := min(limit+1, lookRows)", new: "n := lookRows"}},
		caught: []catch{{onPostgres, "store/postgres", "TestListLooksAtWhatItShows", "looked at; want 10 shown"}},
	},
	{
		id: "given-up-is-aborted", holds: "H-W17", out: "a POST that was given up is not handed over later",
		edits:  []edit{{file: "webhook/transport.go", old: "if t, ok := c.under.(*net.TCPConn); ok && c.waits.Load() {", new: "if t, ok := c.under.(*net.TCPConn); ok && c == nil {"}},
		caught: alone("webhook", "TestGivenUpIsNotHandedOverLater", "it was given up, so it is to be aborted"),
	},
	{
		id: "close-sends-nothing", holds: "H-W05", out: "what is said at a connection's close is no byte of a request",
		edits:  []edit{{file: "webhook/transport.go", old: "c.closed.Store(true)\n", new: "c.closed.Store(true)\n\tc.written.Add(1)\n"}},
		caught: alone("webhook", "TestClosedAsItWasTaken", "nothing of it was sent"),
	},
	{
		id: "too-old-waits", holds: "I8, I15", out: "a dead letter that may not be pushed is not asked for again at once",
		edits:  []edit{{file: "webhook/push_job.go", old: "\ts.Delay, s.HasDelay = queue.MaxDelay, true", new: "\ts.Delay = queue.MaxDelay"}},
		caught: alone("webhook", "TestPushOfWhatIsTooOld", "times within a minute"),
	},
	{
		id: "large-as-it-comes", holds: "I13", out: "a body takes room as it comes, not as it is announced",
		edits:  []edit{{file: "api/room.go", old: "if n = min(n, rest); c", new: "if n = rest; c"}},
		caught: alone("api", "TestIdleBodiesTakeNoRoom", "POST /v1/queue/publish: 503"),
	},
	{
		id: "half-bodies-end", holds: "I16", out: "bodies that have come half do not wait for each other",
		edits:  []edit{{file: "api/room.go", old: "return c.enter(c.rooms.rest, &c.rest, rest)", new: "return c.enter(c.rooms.large, &c.large, n)"}},
		caught: alone("api", "TestHalfBodiesComeToTheirEnds", "POST /v1/queue/publish: 503"),
	},
	{
		id: "odd-address", holds: "I13", out: "a host that is a number in another writing is no name",
		edits:  []edit{{file: "webhook/check.go", old: "if err != nil && isNumber(host) {", new: "if err != nil && isNumber(host) && r.AllowPrivate {"}},
		caught: alone("webhook", "TestEndpointChecks/hexadecimal", "want a fault of /url"),
	},
}
