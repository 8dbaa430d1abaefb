package main

import (
	"context"
	"encoding/json/jsontext"

	"github.com/onceward/onceward/account"
)

type accountCmd struct {
	Balance accountBalanceCmd `cmd:"" help:"Show what your key's project has spent, and what it may still."`
	Usage   accountUsageCmd   `cmd:"" help:"List the days on which it was charged, the newest first."`
}

type accountBalanceCmd struct{ remote }

func (accountBalanceCmd) Help() string { return examples("account balance", "account balance --json") }

func (c *accountBalanceCmd) Run(ctx context.Context, out output) error {
	var o object
	if _, err := c.call(ctx, "GET", "/v1/account/balance", nil, &o); err != nil {
		return err
	}
	return c.fields(out, o, "balance_usd", "spent_usd", "credit_limit_usd")
}

type accountUsageCmd struct{ lister }

func (accountUsageCmd) Help() string {
	return examples("account usage", "account usage --limit 31 --json")
}

func (c *accountUsageCmd) Run(ctx context.Context, out output) error {
	return c.show(ctx, out, "/v1/account/usage", "day", "messages", "cost_usd")
}

// dollars is an amount of money as a flag, or none.
type dollars struct{ jsontext.Value }

// UnmarshalText reads a decimal number, or the word none.
func (d *dollars) UnmarshalText(b []byte) error {
	if string(b) == "none" {
		d.Value = jsontext.Value("null")
		return nil
	}
	u, err := account.ParseUSD(string(b))
	if err != nil {
		return usage("%w, or none", err)
	}
	d.Value = jsontext.Value(u.String())
	return nil
}
