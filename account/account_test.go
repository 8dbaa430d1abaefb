package account

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestUSD(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"0": "0", "0.0": "0", "00": "0", "1": "1", "10": "10", "0.00002": "0.00002", "0.000000001": "0.000000001", "1.50": "1.5", "0.1000000000000": "0.1",
		"1000000000": "1000000000", "999999999.999999999": "999999999.999999999", "0000000000001": "1",
	} {
		u, err := ParseUSD(s)
		if err != nil || u.String() != want {
			t.Errorf("%q: %s, %v; want %s", s, u, err, want)
		}
	}
	for _, s := range []string{
		"", ".", "1.", ".5", "-1", "+1", "1e3", "0.0000000001", "1000000000.000000001", "1000000001", "99999999999999999999", " 1", "1 ", "0x1", "NaN", "1,5", "١",
	} {
		if u, err := ParseUSD(s); err == nil {
			t.Errorf("%q is taken as %s", s, u)
		}
	}
	if s := USD(-1_500_000_000).String(); s != "-1.5" {
		t.Error(s)
	}
}

func TestUSDComesBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		u := USD(rapid.Int64Range(0, int64(MaxUSD)).Draw(t, "amount"))
		if v, err := ParseUSD(u.String()); err != nil || v != u {
			t.Fatalf("%d is written %s and read %d, %v", u, u, v, err)
		}
	})
}

func TestAffords(t *testing.T) {
	t.Parallel()
	limit := USD(10)
	for _, c := range []struct {
		b    Balance
		cost USD
		may  bool
	}{
		{Balance{Spent: 1 << 60}, 1, true},
		{Balance{0, &limit}, 10, true},
		{Balance{0, &limit}, 11, false},
		{Balance{9, &limit}, 1, true},
		{Balance{10, &limit}, 1, false},
		{Balance{10, &limit}, 0, true},
		{Balance{20, &limit}, 1, false},
		{Balance{20, &limit}, 0, true},
		{Balance{0, new(USD)}, 1, false},
	} {
		if c.b.Affords(c.cost) != c.may {
			t.Errorf("%+v affords %d: %v", c.b, c.cost, !c.may)
		}
	}
	if e := Explain(3, Balance{8, &limit}); !strings.Contains(e.Message, "0.000000002 is left") || e.Hint == "" {
		t.Error(e.Message)
	}
}
