package lines

import (
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/tui/tuitest"
)

// A fork's result is in the summary, also of a change without another result.
func TestASummaryHasTheResultOfAFork(t *testing.T) {
	s := *tuitest.Finished()
	s.Effects = append([]profiles.Effect{}, s.Effects...)
	s.Effects[0].Fork = &profiles.Fork{Arm: 50, Done: 8,
		Rows: []profiles.ForkRow{{Difference: 0.1, Low: 0.05, High: 0.15}}}
	if text := Summary(&s); !strings.Contains(text, "    Forked 8 times over 50 iterations: ") || !strings.Contains(text, "+0.10 [+0.05, +0.15]") {
		t.Errorf("the summary is\n%s", text)
	}
}
