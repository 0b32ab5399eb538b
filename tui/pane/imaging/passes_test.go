package imaging

import (
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// A sample of a further pass keeps its place in the pattern.
func TestKSpaceFollowsPasses(t *testing.T) {
	s := tuitest.Running()
	s.Run.Passes, s.Unit = 3, s.Run.Units+4
	p := newKspace()
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	p.SetSize(80, 30)
	p.Update(s)
	view := tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(p), "\n"), 80, 30))
	for _, want := range []string{"sample 5/100 · pass 2/3"} {
		if !strings.Contains(view, want) {
			t.Errorf("%q is missing:\n%s", want, view)
		}
	}
}
