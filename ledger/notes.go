package ledger

// GrantNotes gives the lines that a ruling adds to a key's history. was is the claim before it.
func (c *Claim) GrantNotes(was *Claim, r Ruling) []Note {
	if !r.Changed {
		return nil
	}
	var out []Note
	if r.Lapsed {
		out = append(out, was.lapseNote())
	}
	n := Note{What: string(c.State), Fence: c.Fence, Who: c.Owner, Detail: c.LastError}
	if r.Verdict == Granted {
		n.What, n.Detail = "granted", ""
	}
	return append(out, n)
}

// ReapNotes gives the lines that Reap adds to a key's history. was is the claim before it.
func (c *Claim) ReapNotes(was *Claim) []Note {
	var out []Note
	if was.State.Held() {
		out = append(out, was.lapseNote())
	}
	if c.State.Terminal() {
		out = append(out, Note{What: string(c.State), Fence: c.Fence, Detail: c.LastError})
	}
	return out
}

// lapseNote says that a holder was found dead.
func (c *Claim) lapseNote() Note {
	n := Note{What: "lapsed", Fence: c.Fence, Who: c.Owner, Detail: "its lease ran out, the outcome unknown"}
	if c.State == Claimed {
		n.Detail = "its lease ran out before it began"
	}
	return n
}
