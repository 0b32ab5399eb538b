package profiles

import "testing"

func TestWhyWindowsAreNotComparable(t *testing.T) {
	for _, c := range []struct {
		e           Effect
		full, brief string
	}{
		{Effect{Enough: true}, "", ""},
		{Effect{Needed: 5}, "", ""},
		{Effect{Enough: true, Confounded: "a; b", Briefly: "a"}, "a; b", "a"},
		{Effect{Confounded: "only 9 comparable iterations before it", Briefly: "too few before"}, "only 9 comparable iterations before it", "too few before"},
		{Effect{Needed: 19, NAfter: 1, Closed: true}, "only 1 comparable iteration after it", "too few after"},
		{Effect{Needed: 12, NAfter: 8, Closed: true}, "only 8 comparable iterations after it", "too few after"},
		{Effect{Needed: 20, Closed: true}, "no comparable iteration after it", "too few after"},
		{Effect{Needed: 12, Closed: true, Ended: true}, "the run ended first", "the run ended first"},
	} {
		if full, brief := c.e.Incomparable(); full != c.full || brief != c.brief {
			t.Errorf("%+v: %q, %q", c.e, full, brief)
		}
	}
}
