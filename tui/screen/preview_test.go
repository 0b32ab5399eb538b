package screen

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/tui/screenshot"
	"prismtop/tui/terminal"
	"prismtop/tui/tuitest"
)

func TestPreview(t *testing.T) {
	dir := os.Getenv("PRISMTOP_PREVIEW")
	if dir == "" {
		t.Skip("PRISMTOP_PREVIEW names no folder for pictures of the screen")
	}
	draw := func(name string, w, h int, o Options, profile colorprofile.Profile, ground screenshot.Ground, s *profiles.Snapshot, keys ...string) {
		m, _ := screen(t, w, h, o, profile, s)
		for _, k := range keys {
			m.Update(pressed(k))
		}
		f, err := os.Create(filepath.Join(dir, name+".png"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := screenshot.PNG(f, tuitest.Cells(m.View().Content, w, h), ground); err != nil {
			t.Fatal(err)
		}
	}
	for _, size := range [][2]int{{60, 15}, {80, 24}, {80, 50}, {104, 30}, {120, 40}, {200, 60}} {
		draw(fmt.Sprintf("%dx%d", size[0], size[1]), size[0], size[1], Options{}, colorprofile.ANSI256, screenshot.Dark, tuitest.Running())
	}
	for _, size := range [][2]int{{120, 40}, {200, 60}} {
		for name, keys := range map[string][]string{"grey": nil, "viridis": {"x"}} {
			draw(fmt.Sprintf("true-%s-%dx%d", name, size[0], size[1]), size[0], size[1], Options{}, colorprofile.TrueColor, screenshot.Dark, tuitest.Finished(), append([]string{"tab", "tab"}, keys...)...)
		}
	}
	draw("light", 120, 40, Options{Colours: terminal.LightColours}, colorprofile.ANSI256, screenshot.Light, tuitest.Trainer())
	draw("ansi16", 120, 40, Options{}, colorprofile.ANSI, screenshot.Dark, tuitest.Running())
	draw("none", 120, 40, Options{}, colorprofile.ASCII, screenshot.Dark, tuitest.Paused())
	draw("ascii", 120, 40, Options{ASCII: true}, colorprofile.ANSI256, screenshot.Dark, tuitest.Finished())
	draw("failed", 120, 40, Options{}, colorprofile.ANSI256, screenshot.Dark, tuitest.Failed())
	draw("preparing", 120, 40, Options{}, colorprofile.ANSI256, screenshot.Dark, tuitest.Preparing())
	draw("help", 120, 40, Options{}, colorprofile.ANSI256, screenshot.Dark, tuitest.Running(), "?")
	draw("help80", 80, 24, Options{}, colorprofile.ANSI256, screenshot.Dark, tuitest.Running(), "?")
	draw("quit", 80, 24, Options{}, colorprofile.ANSI256, screenshot.Dark, tuitest.Running(), "q")
}
