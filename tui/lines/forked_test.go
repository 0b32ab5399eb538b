package lines

import (
	"math"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

// A fork's result is in the summary, also of a change without another result, and of a loss with three digits.
func TestASummaryHasTheResultOfAFork(t *testing.T) {
	s := *tuitest.Finished()
	s.Effects = append([]profiles.Effect{}, s.Effects...)
	s.Effects[0].Fork = &profiles.Fork{Arm: 50, Done: 8,
		Rows: []profiles.ForkRow{{Difference: -0.0012345, Low: -0.002, High: 0.00045678}}}
	if text := SummaryWithin(&s, 0); !strings.Contains(text, "    Forked 8 times over 50 iterations: old −0.00123 [−0.00200, +4.57e-04]\n") {
		t.Errorf("the summary is\n%s", text)
	}
}

// A replication that ended before it decided is in the summary, beside what the iterations before and after say.
func TestASummaryHasAReplicationThatWasCutOff(t *testing.T) {
	s := *tuitest.Finished()
	s.Effects = append([]profiles.Effect{}, s.Effects...)
	s.Effects[0].Replica = &profiles.AblationRow{Key: "amp", Sequential: true, Groups: 3, Effect: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	if text := SummaryWithin(&s, 0); !strings.Contains(text, "    switched back and forth in 3 groups of four blocks, not decided: the run ended first") {
		t.Errorf("the summary is\n%s", text)
	}
	s.Effects[0].Replica.OffNS, s.Effects[0].Replica.OnNS, s.Effects[0].Replica.Effect = 31.6e6, 94.5e6, 2
	if text := SummaryWithin(&s, 0); !strings.Contains(text, "    an iteration took 94.50 ms instead of 31.60, from too few groups to judge\n") {
		t.Errorf("the summary is\n%s", text)
	}
}
