package bench

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/compare"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/history"
	"prismtop/tui/command/cli"
)

// byTurns returns a comparison of two builds whose iteration times differ by an interval.
func byTurns(low, high float64) *compare.Comparison {
	verdict := compare.Equal
	switch {
	case math.IsNaN(low):
		verdict = compare.NotComparable
	case low > 0:
		verdict = compare.Slower
	case high < 0:
		verdict = compare.Faster
	}
	return &compare.Comparison{
		Design: compare.Alternating, Sides: []compare.Side{{Name: "old"}, {Name: "new"}},
		Rows: []compare.Row{{Group: compare.Speed, Name: "iteration_ms", Title: "iteration", Unit: "ms", Better: profiles.LessIsBetter,
			Values:  []compare.Value{{Value: 4, Floor: math.NaN()}, {Value: 4 * (1 + (low+high)/2), Floor: math.NaN()}},
			Against: []compare.Difference{{Raw: (low + high) / 2, Value: (low + high) / 2, Low: low, High: high, Verdict: verdict, Reason: "too short"}}}},
	}
}

// Two builds by turns pass if the whole interval is within the limit, and are worse if it is beyond.
func TestBuildsByTurnsAreJudged(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      history.Verdict
		reason    string
		status    int
	}{
		{-0.01, 0.01, history.Pass, "nothing is worse by more than 5.0 %", cli.StatusDone}, {-0.2, -0.1, history.Pass, "nothing", cli.StatusDone},
		{0.06, 0.08, history.Worse, "iteration", cli.StatusFailed}, {0.02, 0.07, history.Undecided, "contains +5.0 %", cli.StatusUndecided},
		{math.NaN(), math.NaN(), history.Undecided, "too short", cli.StatusUndecided},
	} {
		got := judgeTurns(byTurns(c.low, c.high), 0.05)
		if got.Verdict != c.want || !strings.Contains(got.Reason, c.reason) || got.Comparison == nil {
			t.Errorf("[%g, %g]: %s, %s", c.low, c.high, got.Verdict, got.Reason)
		}
		document, err := json.Marshal(got)
		if err == nil {
			err = schematest.Validate("check-old", document)
		}
		if err != nil {
			t.Errorf("[%g, %g]: %v", c.low, c.high, err)
		}
		if status := cli.ExitStatus(failure(&history.Check{Verdict: got.Verdict, Reason: got.Reason})); status != c.status {
			t.Errorf("%s ends with status %d, want %d", got.Verdict, status, c.status)
		}
	}
	if status := cli.ExitStatus(failure(&history.Check{Verdict: history.Elsewhere})); status != cli.StatusElsewhere {
		t.Errorf("another machine ends with status %d", status)
	}
}

// The plot has the times of the work that was measured most, on one machine.
func TestThePlotIsOfOneWork(t *testing.T) {
	entry := func(work, cpu string, ms float64) history.Entry {
		return history.Entry{Time: "2026-11-01T00:00:00Z", Work: work, Preset: "standard", Machine: history.Machine{CPU: cpu}, Figures: []history.Figure{{Name: history.Iteration, Unit: "ms", Value: ms}}}
	}
	entries := []history.Entry{entry("model", "a", 9), entry("performance", "a", 4), entry("performance", "b", 7), entry("performance", "a", 5), entry("performance", "a", 4.5)}
	if got := mostMeasured(entries); len(got) != 3 || got[0].Find(history.Iteration).Value != 4 || got[2].Find(history.Iteration).Value != 4.5 {
		t.Errorf("%d entries", len(got))
	}
	for _, columns := range []int{0, 20, 80, 300} {
		text := plotted(entries, columns)
		if !strings.Contains(text, "3 measurements of performance, preset standard") || strings.Count(text, "\n") != plotRows+2 || !strings.Contains(text, "2026-1") {
			t.Errorf("%d columns: %s", columns, text)
		}
	}
	if text := plotted(entries[:2], 80); text != "" {
		t.Errorf("one measurement of each work: %s", text)
	}
	var b bytes.Buffer
	if err := writePast(&b, nil, 2, false, "x"); err != nil || !strings.Contains(b.String(), "leave out 2 entries.\n") {
		t.Errorf("%v, %s", err, b.String())
	}
}
