package main

// ofFIFO are the guards of order in fifo groups, and of payloads that are keys.
var ofFIFO = []mutant{
	{
		id: "fifo-head", holds: "H-Q26", out: "a fifo group's head holds it until it is due",
		edits: []edit{
			{file: "store/sqlite/sql/receive_fifo.sql", old: "WHERE gid = ?1 AND place IS NOT NULL ORDER", new: "WHERE gid = ?1 AND place IS NOT NULL AND vis <= ?2 ORDER"},
			{file: "store/postgres/sql/receive_fifo.sql", old: "m.place >= g.place ORDER", new: "m.place >= g.place AND m.vis <= now() ORDER"},
		},
		caught: suite("fifo", "a head that is delayed, nacked, released or leased holds its group, and no other", "received "),
	},
	{
		id: "fifo-next", holds: "I16, H-Q26", out: "a head that goes wakes its group, whatever it waited for",
		edits:  []edit{{file: "queue/rules.go", old: "c.Delete, c.Next = true, r.Place != 0 && r.GroupID != 0", new: "c.Delete = true"}},
		caught: suite("fifo", "a head that is dead-lettered, acked late, expired or purged frees its group", "a message of jobs: not within"),
	},
	{
		id: "fifo-end", holds: "H-Q26", out: "a redriven message goes to the end of its group",
		edits:  []edit{{file: "queue/rules.go", old: "ToEnd: r.Place != 0", new: "ToEnd: false"}},
		caught: suite("fifo", "a redriven message goes to the end", "received "),
	},
	{
		id: "fifo-order", holds: "H-Q26", out: "a fifo queue takes no message without a group, or with a priority",
		edits: []edit{
			{file: "store/sqlite/publish.go", old: "if q.FIFO {\n\t\tif err", new: "if q.FIFO && q.IsDLQ {\n\t\tif err"},
			{file: "store/postgres/sql/publish.sql", old: "WHEN q.fifo AND (gid = 0 OR prio <> 0) THEN", new: "WHEN q.fifo AND prio > 9 THEN"},
			{file: "store/postgres/sql/publish_one.sql", old: "WHEN q.fifo THEN", new: "WHEN q.fifo AND prio > 9 THEN"},
		},
		caught: suite("fifo", "a publish without a group or with a priority is refused, and nothing is stored", "stored: "),
	},
	{
		id: "fifo-mix", holds: "H-Q26", out: "a dead-letter queue is of its source's type",
		edits:  []edit{{file: "queue/refuse.go", old: "\tcase q.FIFO != fifo:\n", new: "\tcase q.FIFO != fifo && q.Name == \"\":\n"}},
		caught: suite("fifo", "the dead-letter queue of a fifo queue is fifo, and a mix is refused", "made all the same: true, want false"),
	},
	{
		id: "content-key", holds: "I4", out: "a payload's key is the hash of what it means",
		edits:  []edit{{file: "queue/content.go", old: "sum := sha256.Sum256(form)", new: "sum := sha256.Sum256(form[:min(2, len(form))])"}},
		caught: suite("content", "without a key the payload is the key, by its meaning", "want a message of its own"),
	},
	{
		id: "content-forged", holds: "I4, I13", out: "no key that somebody gives is a payload's",
		edits:  []edit{{file: "queue/message.go", old: "if strings.HasPrefix(p.Key, contentKey) {", new: "if strings.HasPrefix(p.Key, contentKey+\" \") {"}},
		caught: suite("content", "an explicit key decides, and no key is a payload's", "as an explicit one: "),
	},
}
