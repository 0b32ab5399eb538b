package imaging

import (
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// A picture without a truth has no views to switch, and says on what scale it is drawn.
func TestDiffractionHasOneView(t *testing.T) {
	p := newPicture(func() time.Time { return time.Unix(1e9, 0) }, terminal.GraphicsFrom(20), diffractionSubject)
	p.SetSize(32, 12)
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	s := &profiles.Snapshot{State: profiles.Running, Run: profiles.RunInfo{Schema: profiles.Schema{Pictures: []profiles.PictureInfo{{Name: "diffraction"}}}}}
	pixels := make([]float32, 16)
	pixels[5] = 3.25
	s.Pictures[0] = &profiles.Picture{Width: 4, Height: 4, Pixels: pixels}
	p.Update(s)
	text := ansi.Strip(strings.Join(tuitest.Lines(p), "\n"))
	for _, want := range []string{"Diffraction", "ln(1 + amplitude)", "white 3.25"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if p.Press("v") || len(p.Hints()) != 3 || strings.Contains(strings.Join(p.Explain(), " "), explanations["views"][0]) {
		t.Error("v switches views that there are not")
	}
	if !p.Press("x") || !p.Press("i") {
		t.Error("colours and ways of drawing cannot be switched")
	}
}
