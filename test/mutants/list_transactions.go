package main

// ofTransactions are what commits together. The mutants do it in two transactions.
var ofTransactions = []mutant{
	{
		id: "outcome-with-message", holds: "I10", out: "an outcome and the settling of its message commit together",
		edits: []edit{
			{file: "store/sqlite/outcome.go", old: "\tif err := s.settledMessage(&c, j); err != nil {\n\t\treturn a, err\n\t}\n", new: ""},
			{
				file: "store/sqlite/outcome.go", old: "\t\treturn s.free()\n\t})\n",
				new: `		return s.free()
	})
	if err == nil {
		err = db.write(ctx, "settle_messages", 0, func(t *tx) error {
			s := settling{tx: t}
			for _, o := range outcomes {
				c, _, err := t.claimByID(o.Job.ClaimID)
				if err == nil {
					err = s.settledMessage(&c, o.Job)
				}
				if err != nil {
					return err
				}
			}
			return s.free()
		})
	}
`,
			},
			inTwo,
		},
		caught: suite("poison", "I10: an outcome whose message cannot be settled changes nothing", "state: delivered, want sending"),
	},
	{
		id: "granted-until-changed", holds: "I5, I7", out: "the writer knows a claim as it was granted only until it changes (on the other a claim is read each time)",
		edits:  []edit{{file: "store/sqlite/row_claim.go", old: "\tdelete(t.db.granted, c.ID)\n", new: ""}},
		caught: suiteOn(onSQLite, "deaths", "a late success of what was cancelled shows what happened", "state: cancelled, want delivered"),
	},
	{
		id: "bare-undone", holds: "I10", out: "a job that fails after it wrote, without a savepoint, is undone",
		edits:  []edit{{file: "store/sqlite/lane.go", old: "case t.wrote == wrote:", new: "case t.wrote >= wrote:"}},
		caught: alone("store/sqlite", "TestBareJobs", "bad stored true"),
	},
	{
		id: "unwritten-undone", holds: "I12", out: "what a job had counted before its first write, and never wrote, is not counted (on the other the statements count)",
		edits:  []edit{{file: "store/sqlite/lane.go", old: "\t\t\tt.putBack(was)", new: "\t\t\t_ = was"}},
		caught: alone("store/sqlite", "TestFailedBeforeItWrote", "in flight are counted"),
	},
	{
		id: "counts-undone", holds: "I12", out: "what was undone is not counted",
		edits:  []edit{{file: "store/sqlite/tx.go", old: "\tt.tallies, t.delays = m.tallies, m.delays\n", new: ""}},
		caught: alone("store/sqlite", "TestBareJobs", "counted, want 3"),
	},
	{
		id: "word-with-message", holds: "I10", out: "a word on a key and the settling of its message commit together",
		edits: []edit{
			{
				file: "store/sqlite/claim_settle.go", old: "\tif !w.Settle {\n\t\treturn a, nil\n\t}\n\tswitch c.State {\n",
				new: `	return a, nil
}

func (t *tx) settleWordsMessage(w *ledger.Word) (a ledger.Applied, err error) {
	c, ok, err := t.claimByHash(ledger.Hash(w.Project, w.Scope, w.Key), workerClaim)
	if err != nil || !ok || !w.Settle {
		return a, err
	}
	switch c.State {
`,
			},
			{
				file: "store/sqlite/claim_settle.go", old: "t.settleClaim(&words[i]); err != nil {\n\t\t\t\treturn err\n\t\t\t}\n\t\t}\n\t\treturn nil\n\t})\n",
				new: `t.settleClaim(&words[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = db.write(ctx, "settle_messages", 0, func(t *tx) error {
			for i := range words {
				if _, err := t.settleWordsMessage(&words[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
`,
			},
			inTwo,
		},
		caught: suite("poison", "I10: a word whose message cannot be settled changes nothing", "state: done, want started"),
	},
	{
		id: "event-with-deliveries", holds: "I9, H-W01", out: "an event and its deliveries commit together",
		edits: []edit{
			{
				file: "store/sqlite/send.go", old: "\t\tid, err := t.deliver(n, event, &targets[i])\n\t\tif err != nil {\n\t\t\treturn webhook.Sent{}, false, err\n\t\t}\n",
				new: "\t\tid, err := t.deliver(n, event, &targets[i])\n\t\tif err != nil {\n\t\t\tcontinue // as if the event were committed\n\t\t}\n",
			},
			{
				file: "store/postgres/send.go", old: "\ts.address(*s.found)\n",
				new: "\tfor _, sql := range []string{\"COMMIT\", \"BEGIN\"} {\n\t\ttx.Exec(ctx, sql)\n\t}\n\ts.address(*s.found)\n",
			},
		},
		caught: suite("poison", "H-W01, I9: an event that fails between its parts leaves no part", "events left: 1, want 0"),
	},
	{
		id: "attempt-is-told", holds: "I11, H-W03", out: "an attempt that cannot be written undoes no outcome",
		edits: []edit{
			{file: "store/sqlite/row_attempt.go", old: "if err == nil || undoes(err) {", new: "if err == nil || undoes(err) || delivery != 0 {"},
			{file: "store/postgres/outcome.go", old: "if len(outcomes) == 1 && badItem(err) {", new: "if len(outcomes) == 0 && badItem(err) {"},
		},
		caught: suite("poison", "H-W03, I11: an attempt that cannot be written changes nothing of the outcome", "poisoned"),
	},
}

// inTwo commits claims and attempts before their messages.
var inTwo = edit{
	file: "store/postgres/changes.go", old: "\tqueueDeleteMessages(b, slices.Sorted(maps.Keys(ch.gone)))\n",
	new: "\tb.Queue(\"COMMIT\")\n\tb.Queue(\"BEGIN\")\n\tqueueDeleteMessages(b, slices.Sorted(maps.Keys(ch.gone)))\n",
}
