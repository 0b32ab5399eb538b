package imaging

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi/kitty"

	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

func TestPicturesNeedNoColorsToBeRefused(t *testing.T) {
	for _, tt := range []struct {
		ascii   bool
		profile colorprofile.Profile
		want    drawing
	}{
		{false, colorprofile.TrueColor, kittyDrawing},
		{false, colorprofile.ANSI256, kittyDrawing},
		{false, colorprofile.ANSI, brailleDrawing},
		{false, colorprofile.ASCII, brailleDrawing},
		{true, colorprofile.ANSI256, asciiDrawing},
	} {
		host := tuitest.Host{Drawing: terminal.NewGraphics()}
		host.Drawing.Hear(tea.TerminalVersionMsg{Name: "kitty"}, 0, 0)
		host.Drawing.Hear(uv.PrimaryDeviceAttributesEvent{62, 22}, 0, 0)
		host.Drawing.Hear(uv.KittyGraphicsEvent{Options: kitty.Options{ID: host.Drawing.ID(0)}, Payload: []byte("OK")}, 0, 0)
		p := newPicture(host.Now, host.Graphics(), amplitudeSubject)
		p.SetTheme(theme.New(tt.profile, true, tt.ascii))
		p.SetSize(34, 17)
		p.Update(tuitest.Running())
		for range numDrawings + 1 {
			way, refused := p.drawing()
			if p.wanted == autoDrawing && way != tt.want {
				t.Errorf("%v %v: auto is %s", tt.ascii, tt.profile, drawingNames[way])
			}
			if p.wanted == kittyDrawing && (refused == "") != (tt.want == kittyDrawing) {
				t.Errorf("%v %v: Kitty is refused by %q", tt.ascii, tt.profile, refused)
			}
			if way == halfDrawing && p.Theme.Depth < theme.Colors256 {
				t.Errorf("%v %v: half blocks without colours", tt.ascii, tt.profile)
			}
			p.Press("i")
			if text := p.Tell(); text == "" || len(text) > 160 {
				t.Errorf("i says %q", text)
			}
		}
	}
}
