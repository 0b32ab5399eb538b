package compare

import (
	"errors"
	"strings"
	"testing"
)

// A difference that is not 0 does not look like it.
func TestSmallDifferencesAreVisible(t *testing.T) {
	for raw, want := range map[float64]string{0: "+0.0 %", 4e-5: "+0.004 %", -0.00049: "−0.05 %", 0.0031: "+0.3 %", 0.31: "+31 %"} {
		r := Row{Against: []Difference{{Raw: raw}}}
		if got := r.Change(0); got != want {
			t.Errorf("%g is %q, want %q", raw, got, want)
		}
	}
}

// Where no time could be compared, the intervals of other numbers are not denied. A line of any length has whole titles.
func TestNumbersWithoutASampleAndLongTitles(t *testing.T) {
	row := Row{Group: Memory, Name: "rss_peak_bytes", Title: "a title of more than eighteen cells", Unit: "B",
		Values:  []Value{{Value: 1e6}, {Value: 2e6}},
		Against: []Difference{{Raw: 1, Value: 1, Low: 0.9, High: 1.1, Verdict: More}}}
	c := &Comparison{Rows: []Row{row}, Sides: make([]Side, 2)}
	var wide, narrow strings.Builder
	if err := errors.Join(WriteText(&wide, c, 0), WriteText(&narrow, c, 80)); err != nil {
		t.Fatal(err)
	}
	if text := wide.String(); !strings.Contains(text, row.Title) || !strings.Contains(text, "The intervals of memory and results are as wide") {
		t.Error(text)
	}
	if text := narrow.String(); !strings.Contains(text, "a title of more …") {
		t.Error(text)
	}
	c.Rows[0].Against[0].Low = 1.1
	if text := c.Footnote(); text != "No number has an interval." {
		t.Error(text)
	}
}
