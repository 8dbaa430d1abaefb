package api

import (
	"encoding/json/jsontext"
	"errors"
	"strings"

	"github.com/onceward/onceward/account"
	"github.com/onceward/onceward/internal/fault"
)

// dollars is money in an answer: a number, exact to its last digit.
type dollars account.USD

// MarshalJSONTo writes it.
func (d dollars) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(account.USD(d).String()))
}

func dollarsOf(u *account.USD) *dollars { return (*dollars)(u) }

// optionalDollars is money in a request; null is none.
type optionalDollars struct {
	given, null bool
	u           account.USD
}

const wantDollars = "an amount of dollars, 0 to 1000000000, with at most 9 digits after the point"

// UnmarshalJSONFrom reads a number or null.
func (o *optionalDollars) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n':
		*o = optionalDollars{null: true}
		return nil
	case '0':
		if u, err := account.ParseUSD(written(v)); err == nil {
			*o = optionalDollars{given: true, u: u}
			return nil
		}
	}
	return valueError(v, wantDollars)
}

// written gives a number without the exponent that many a client writes of a small amount: 6e-05. What is out of any range stays as it is.
func written(v jsontext.Value) string {
	digits, power, ok := decimal(v)
	switch {
	case !ok || digits[0] == '-':
		return string(v)
	case power >= 0:
		return digits + strings.Repeat("0", power)
	}
	digits = strings.Repeat("0", max(0, 1-power-len(digits))) + digits
	return digits[:len(digits)+power] + "." + digits[len(digits)+power:]
}

func (o optionalDollars) ptr() *account.USD {
	if !o.given {
		return nil
	}
	return &o.u
}

type balanceView struct {
	Left  *dollars `json:"balance_usd"`
	Spent dollars  `json:"spent_usd"`
	Limit *dollars `json:"credit_limit_usd"`
}

func (c *call) balance() (any, error) {
	b, err := c.Store.Balance(c.ctx, c.project)
	if err != nil {
		return nil, err
	}
	v := balanceView{Spent: dollars(b.Spent), Limit: dollarsOf(b.Limit)}
	if left, limited := b.Left(); limited {
		v.Left = dollarsOf(&left)
	}
	return v, nil
}

type usageView struct {
	Day      string  `json:"day"`
	Messages int64   `json:"messages"`
	Cost     dollars `json:"cost_usd"`
}

func (c *call) usage() (any, error) {
	p, err := c.query.page()
	if err != nil {
		return nil, err
	}
	rows, err := c.Store.Usage(c.ctx, c.project, p.After, p.Limit+1)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, p.Limit, account.Day.Number)
	return list[usageView]{views(rows, func(d account.Day) usageView {
		return usageView{d.Date.Format("2006-01-02"), d.Messages, dollars(d.Cost)}
	}), c.query.next(next)}, nil
}

// explainCredit says of a publish that could not be paid how much is left: of all of a batch the same, by one look.
func (c *call) explainCredit(err error) error {
	if !errors.Is(err, account.ErrInsufficient) {
		return err
	}
	if c.poor == nil {
		c.poor = err // which says enough
		if b, failed := c.Store.Balance(c.ctx, c.project); failed == nil {
			c.poor = account.Explain(c.PublishPrice, b)
		}
	}
	return c.poor
}

// limitProject gives a project another credit limit.
func (c *call) limitProject() (any, error) {
	var r limitRequest
	if err := c.decode(&r); err != nil {
		return nil, err
	}
	if !r.Limit.given && !r.Limit.null {
		return nil, fault.Invalid("/credit_limit_usd", "credit_limit_usd is required: %s, or null for no limit", wantDollars)
	}
	id, err := c.projectNamed("", c.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	p, err := c.Store.LimitCredit(c.ctx, id, r.Limit.ptr())
	return c.viewProject(p), err
}

type limitRequest struct {
	keyed
	Limit optionalDollars `json:"credit_limit_usd"`
}
