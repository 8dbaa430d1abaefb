package main

// ofGroups are the guards of turns and slots: a receiver costs only itself.
var ofGroups = []mutant{
	{
		id: "group-slots", holds: "I15", out: "a take has at most an endpoint's free slots",
		edits: []edit{
			{file: "store/sqlite/take.go", old: "most := min(share, v.free(), k.Each-v.InFlight, left)", new: "most := min(share, k.Each-v.InFlight, left)"},
			{file: "store/sqlite/sql/take_groups.sql", old: "in_flight < min(slots, ?)", new: "in_flight < ?"},
			{file: "store/postgres/sql/take_messages.sql", old: "least(slots, $4) - in_flight AS free", new: "$4 - in_flight AS free"},
			{file: "store/postgres/sql/take_messages.sql", old: "queue = 1 AND runnable AND in_flight < $4", new: "queue = 1 AND NOT disabled AND next_at IS NOT NULL AND in_flight < $4"},
		},
		caught: suite("endpoints", "I15: slots bound what is in flight", "taken: 5, want 2"),
	},
	{
		id: "group-share", holds: "I15", out: "a worker leaves an endpoint that has its share in flight",
		edits: []edit{
			{file: "store/sqlite/take.go", old: "most := min(share, v.free(), k.Each-v.InFlight, left)", new: "most := min(share, v.free(), left)"},
			{file: "store/sqlite/sql/take_groups.sql", old: "in_flight < min(slots, ?)", new: "in_flight < slots AND ? > 0"},
			{file: "store/postgres/sql/take_messages.sql", old: "least(slots, $4) - in_flight AS free", new: "slots - in_flight AS free"},
			{file: "store/postgres/sql/take_messages.sql", old: "queue = 1 AND runnable AND in_flight < $4", new: "queue = 1 AND runnable AND $4 > 0"},
		},
		caught: suite("endpoints", "I15: a take leaves an endpoint that has its share in flight", "of a, at most 2: "),
	},
	{
		id: "group-slot-back", holds: "I15, I16", out: "a message that is settled gives its slot back",
		edits:  []edit{{file: "queue/rules.go", old: "\tif r.Leased {\n\t\tc.Slot = -1\n\t}\n", new: ""}},
		caught: suite("settle", "grouped messages settle like others, and their slots come back", "in flight: 12, want 3"),
	},
	{
		id: "group-wakes", holds: "I16", out: "a publish wakes its group",
		edits: []edit{
			{file: "store/sqlite/publish.go", old: "Cost: p.Price}, t.wakeGroup(group, q.ID, m.VisibleAt)", new: "Cost: p.Price}, nil"},
			{file: "store/postgres/sql/publish.sql", old: "UPDATE groups g SET next_at = least(g.next_at, gl.vis), wake_xid", new: "UPDATE groups g SET wake_xid"},
		},
		caught: suite("receive", "groups take turns, the ungrouped being one of them", "want one of each group"),
	},
	{
		id: "settle-wakes", holds: "I16", out: "a nack or a release wakes its group",
		edits: []edit{
			{file: "store/sqlite/change.go", old: "\tif !c.Wake.IsZero() {\n", new: "\tif !c.Wake.IsZero() && m.GroupID == 0 {\n"},
			{file: "store/postgres/changes.go", old: "\t\tif r.GroupID != 0 { //", new: "\t\tif r.GroupID < 0 { //"},
		},
		caught: suite("settle", "I16: a nack or a release wakes a group that was at rest", "a message of jobs: not within"),
	},
	{
		id: "lapse-slot-back", holds: "I15, I16", out: "a lease that ran out gives its slot back",
		edits: []edit{
			{file: "queue/rules.go", old: "return Change{Slot: -1, Wake: now}, true", new: "return Change{Wake: now}, true"},
			{file: "store/postgres/sql/lapse.sql", old: "SET in_flight = g.in_flight - l.freed, wake_xid", new: "SET wake_xid"},
		},
		caught: suite("settle", "I2: a receipt whose lease is over still acts until another receive", "a group's count of what is in flight is not what is"),
	},
	{
		id: "lapse-wakes", holds: "I16", out: "a lease that ran out wakes its group",
		edits: []edit{
			{file: "queue/rules.go", old: "return Change{Slot: -1, Wake: now}, true", new: "return Change{Slot: -1}, true"},
			{file: "store/postgres/sql/lapse.sql", old: "next_at = CASE WHEN g.in_flight >= g.slots THEN now() ELSE least(g.next_at, now()) END, low", new: "low"},
		},
		caught: suite("settle", "I16: a lease that ran out wakes a group that was at rest", "a message of jobs"),
	},
	{
		id: "extend-slots", holds: "I15", out: "a lease that is over is revived into a free slot alone",
		edits:  []edit{{file: "queue/rules.go", old: "(g.Disabled || !r.Leased && !g.Free)", new: "g.Disabled"}},
		caught: suite("endpoints", "I15: a lease that is over is not revived past its endpoint's slots", "the heartbeat: {true started "),
	},
	{
		id: "receive-turns", holds: "I15", out: "a group that was received from goes to the tail",
		edits: []edit{
			{file: "store/sqlite/receive.go", old: "\tdue := turn\n", new: "\tdue := g.NextAt\n"},
			{file: "store/postgres/sql/receive_group.sql", old: "WHEN NOT v.sees OR NOT v.all_due THEN now()", new: "WHEN NOT v.sees OR NOT v.all_due THEN x.next_at"},
		},
		caught: suite("receive", "groups take turns, the ungrouped being one of them", "want one of each group"),
	},
	{
		id: "take-turns", holds: "I15, H-W08", out: "an endpoint that was taken from goes to the tail",
		edits: []edit{
			{file: "store/sqlite/take.go", old: "\tif !v.next.IsZero() && v.next.Before(turn) {\n\t\tv.next = turn\n\t}\n", new: ""},
			{file: "store/postgres/sql/take_groups.sql", old: "THEN greatest(h.vis, now()) END", new: "THEN h.vis END"},
		},
		caught: suite("endpoints", "I15: endpoints take turns, however much waits for one", "of the few, in two takes: 0, want 1"),
	},
	{
		id: "disabled-waits", holds: "I15, H-W07", out: "a disabled endpoint is not taken from",
		edits: []edit{
			{file: "store/sqlite/sql/take_groups.sql", old: "NOT disabled AND ", new: ""},
			{file: "store/postgres/sql/take_messages.sql", old: "queue = 1 AND runnable AND in_flight < $4", new: "queue = 1 AND next_at IS NOT NULL AND in_flight < least(slots, $4)"},
			{file: "store/postgres/sql/take_messages.sql", old: "queue = 1 AND runnable AND next_at <= now()", new: "queue = 1 AND next_at <= now()"},
		},
		caught: suite("endpoints", "I15, H-W07: a disabled endpoint keeps what waits, listed, and sends it when enabled", "took 4 deliveries, want none"),
	},
	{
		id: "disable-address", holds: "I15", out: "only the address that an endpoint has can disable it",
		edits: []edit{
			{file: "store/sqlite/sql/endpoint_disable.sql", old: "AND url = ?", new: "AND ? <> ''"},
			{file: "store/postgres/sql/endpoint_disable.sql", old: "e.disabled OR e.url <> u.url AS stays", new: "e.disabled AS stays"},
		},
		caught: suite("deaths", "a word of an address that the endpoint left disables nothing", "disabled: true, want false"),
	},
	{
		id: "ungrouped-turn-again", holds: "I15", out: "the turn of a queue's ungrouped messages is made again where a sweep raced with a new group (on SQLite there is one writer)",
		edits:  []edit{{file: "store/postgres/sweep_pages.go", old: "groupsAgainSQL: bereft}", new: "groupsAgainSQL: nil}"}},
		caught: []catch{{onPostgres, "store/postgres", "TestUngroupedHaveTheirTurnAgain", "have no turn"}},
	},
	{
		id: "sweep-goes-on", holds: "I16, H-Q17", out: "last tries that a sweep can do nothing about keep back none that come after them (on SQLite no caller has a transaction in the store)",
		edits:  []edit{{file: "store/postgres/sweep.go", old: "if n > 0 || len(ids) < limit || e != nil", new: "if n >= 0 || e != nil"}},
		caught: []catch{{onPostgres, "store/postgres", "TestSweepGoesOnAfterHeldOnes/last tries whose keys are held", "want the one that nobody holds"}},
	},
}
