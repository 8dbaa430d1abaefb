package main

// ofHistory are the rules of the checker of histories: a checker that refuses nothing is worth nothing.
var ofHistory = []mutant{
	{
		id: "checker-stored", holds: "I1", out: "the checker of histories asks whether what was answered is there",
		edits:  []edit{{file: "internal/history/calls.go", old: "\tcase !ok:\n\t\tc.say(\"I1\",", new: "\tcase !ok && false:\n\t\tc.say(\"I1\","}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/answered and not there", "is not among"),
	},
	{
		id: "checker-acked", holds: "I1", out: "the checker asks who acked what is gone",
		edits:  []edit{{file: "internal/history/check.go", old: "\tif published && !slices", new: "\tif published && false && !slices"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/gone and acked by nobody", "is not among"),
	},
	{
		id: "checker-lease", holds: "I2", out: "the checker asks whether a lease was over",
		edits:  []edit{{file: "internal/history/check.go", old: "if received && early > clockGrain && old.Leased != 0 {", new: "if received && early > clockGrain && old.Leased > 1 {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/leased twice at a time", "is not among"),
	},
	{
		id: "checker-receives", holds: "I3", out: "the checker counts receives",
		edits:  []edit{{file: "internal/history/check.go", old: "old.Receives >= old.Max {", new: "old.Receives > old.Max {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/received too often", "is not among"),
	},
	{
		id: "checker-ids", holds: "I4", out: "the checker compares the ids of a key",
		edits:  []edit{{file: "internal/history/linear.go", old: "return id == unheard || id == e.Message, e.Message", new: "return true, e.Message"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/one key, two ids", "is not among"),
	},
	{
		id: "checker-grants", holds: "I5", out: "the checker asks whether the holder's lease was over",
		edits:  []edit{{file: "internal/history/check.go", old: "held(old.State) && early > clockGrain {", new: "held(old.State) && early > 1000*clockGrain*clockGrain {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/granted while held", "is not among"),
	},
	{
		id: "checker-fences", holds: "I5", out: "the checker asks for the next fence of a grant",
		edits:  []edit{{file: "internal/history/linear.go", old: "return k.state == \"\" && e.Fence == k.fence+1, workKey", new: "return k.state == \"\", workKey"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/granted twice under a fence", "is not among"),
	},
	{
		id: "checker-open", holds: "I6", out: "the checker asks whether the key of a message that is gone was done",
		edits:  []edit{{file: "internal/history/check.go", old: "if old.Claim != 0 && !c.becomes(r.Tx, old.Claim, \"done\") {", new: "if old.Claim != 0 && !c.becomes(r.Tx, old.Claim, \"done\", \"started\") {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/acked while it is open", "is not among"),
	},
	{
		id: "checker-fenced", holds: "I7", out: "the checker counts the fenced words that are recorded",
		edits:  []edit{{file: "internal/history/late.go", old: "missing -= some; missing > 0 {", new: "missing -= some; missing > 9 {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/a fenced word is not recorded", "is not among"),
	},
	{
		id: "checker-fenced-key", holds: "I7", out: "the checker takes no other key's record for a fenced word's",
		edits:  []edit{{file: "internal/history/late.go", old: "\t\tcase !c.delivery[r.New.Claim]:", new: "\t\tcase true:"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/a delivery's record for a worker's", "is not among"),
	},
	{
		id: "checker-receipts", holds: "I2", out: "the checker asks whether a receipt was the newest",
		edits:  []edit{{file: "internal/history/late.go", old: "newer > n && r.Answered < e.Called {", new: "newer > n+1 && r.Answered < e.Called {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/an older receipt acks", "is not among"),
	},
	{
		id: "checker-receipts-known", holds: "I2", out: "the checker knows that a call which began before another received may have acted before",
		edits:  []edit{{file: "internal/history/late.go", old: "newer > n && r.Answered < e.Called {", new: "newer > n && r.Answered < e.Answered {"}},
		caught: alone("internal/history", "TestLateIsNotWrong", "the older acks before it is known: refused"),
	},
	{
		id: "checker-origin", holds: "I8", out: "the checker compares origins",
		edits:  []edit{{file: "internal/history/check.go", old: "if now.Origin != old.Origin {", new: "if now.Origin < old.Origin {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/an origin that moves", "is not among"),
	},
	{
		id: "checker-whole", holds: "I9", out: "the checker asks for a delivery's message in the event's transaction",
		edits:  []edit{{file: "internal/history/check.go", old: "o.Table == \"messages\" && o.Old == nil && o.New.Claim == d.New.Claim })", new: "o.Table != \"messages\" || o.Old == nil })"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/an event without its message", "is not among"),
	},
	{
		id: "checker-outcome", holds: "I10", out: "the checker asks for the attempt in the outcome's transaction",
		edits:  []edit{{file: "internal/history/check.go", old: "o.Table == \"attempts\" && o.New.Claim == r.ID && o.New.Fence == now.Fence })", new: "o.Table != \"attempts\" || o.New.Claim == r.ID })"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/done without its attempt", "is not among"),
	},
	{
		id: "checker-attempts", holds: "I11", out: "the checker counts attempts",
		edits:  []edit{{file: "internal/history/calls.go", old: "if c.Ended && n > attempts[thing] {", new: "if c.Ended && n > attempts[thing]+1 {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/a request without an attempt", "is not among"),
	},
	{
		id: "checker-redrive", holds: "I12", out: "the checker adds up a redrive",
		edits:  []edit{{file: "internal/history/check.go", old: "r.Total != r.Moved+r.Left {", new: "r.Total < r.Moved+r.Left {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/a redrive that loses", "is not among"),
	},
	{
		id: "checker-foreign", holds: "I13", out: "the checker asks what another project was told",
		edits:  []edit{{file: "internal/history/calls.go", old: "e.Do == Foreign && e.Answer != \"\"", new: "e.Do == Foreign && e.Answer == \"\""}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/another project hears", "is not among"),
	},
	{
		id: "checker-due", holds: "I14", out: "the checker asks whether a message was due",
		edits:  []edit{{file: "internal/history/check.go", old: "if received && early > clockGrain && old.Leased == 0 {", new: "if received && early > clockGrain && old.Leased < 0 {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/received before its time", "is not among"),
	},
	{
		id: "checker-slots", holds: "I15", out: "the checker counts slots",
		edits:  []edit{{file: "internal/history/check.go", old: "now.InFlight > now.Slots {", new: "now.InFlight > now.Slots+9 {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/more than its slots", "is not among"),
	},
	{
		id: "long-wrong-round", holds: "I16", out: "a round that could not come to its end is written down",
		edits:  []edit{{file: "internal/verify/long.go", old: "if r == nil || err != nil && stopped {", new: "if r == nil || err != nil {"}},
		caught: alone("internal/verify", "TestRoundsThatGoWrongAreWritten", "wrong: written false"),
	},
	{
		id: "checker-rest", holds: "I16", out: "the checker asks whether all keys are closed",
		edits:  []edit{{file: "internal/history/check.go", old: "\t\tif !closed(k.State) {", new: "\t\tif held(k.State) {"}},
		caught: alone("internal/history", "TestHistoriesThatBreakAnInvariantAreRefused/a key that is open", "is not among"),
	},
}
