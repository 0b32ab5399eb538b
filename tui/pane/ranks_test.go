package pane

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// drawRanks returns the pane at a size.
func drawRanks(r *profiles.Ranks, w, h int) string {
	s := tuitest.Running()
	s.Ranks = r
	p := Ranks.New(nil)
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	p.SetSize(w, h)
	p.Update(s)
	return ansi.Strip(strings.Join(tuitest.Lines(p), "\n"))
}

// The rank that others wait for is named, those that wait are not, and a lost one says how it ended.
func TestRanksAreListed(t *testing.T) {
	r := &profiles.Ranks{World: 2, Slow: 1, Phase: "backward", Excess: 6.2e6, Low: 5e6, High: 7e6, Steps: 320, List: []profiles.Rank{
		{State: "training", Time: 30e6, Local: 20e6, Exchange: 10e6, Wait: 6e6}, {Rank: 1, State: "training", Behind: 1, Time: 30e6, Local: 26.2e6, Exchange: 3.8e6}}}
	text := drawRanks(r, 90, 8)
	if strings.Count(text, "waited for") != 2 || !strings.Contains(text, "rank 1 is waited for: 6.20 ms more a step in backward [5.00, 7.00]") || !strings.Contains(text, "26.20") {
		t.Errorf("\n%s", text)
	}
	r.Slow, r.Locked, r.List[1].Gone, r.List[1].State = -1, "rank 1 was killed (process 42)", true, "was killed (process 42)"
	if text := drawRanks(r, 90, 8); strings.Count(text, "was killed") != 2 || !strings.Contains(text, "settings are locked") {
		t.Errorf("\n%s", text)
	}
	for _, size := range [][2]int{{36, 4}, {20, 3}, {140, 30}} {
		for _, line := range strings.Split(drawRanks(r, size[0], size[1]), "\n") {
			if ansi.StringWidth(line) != size[0] {
				t.Errorf("%v: %q", size, line)
			}
		}
	}
	if text := drawRanks(nil, 60, 6); !strings.Contains(text, "no rank has reported") {
		t.Errorf("\n%s", text)
	}
}
