package screen

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// paneScreen returns a screen with a focused, zoomed pane.
func paneScreen(t *testing.T, id layout.Pane, w, h int, o Options, p colorprofile.Profile, s *profiles.Snapshot) *Model {
	t.Helper()
	m, _ := screen(t, w, h, o, p, s)
	m.setFocus(id)
	press(m, "z")
	return m
}

func TestGoldenPicturesAndKspace(t *testing.T) {
	for _, depth := range []struct {
		name    string
		options Options
		profile colorprofile.Profile
	}{
		{"256", Options{}, colorprofile.ANSI256},
		{"none", Options{}, colorprofile.ASCII},
		{"ascii", Options{ASCII: true}, colorprofile.ANSI256},
	} {
		for _, pane := range []struct {
			name  string
			id    layout.Pane
			views int
		}{{"picture", idPicture, 4}, {"kspace", idKSpace, 3}} {
			for view := range pane.views {
				name := fmt.Sprintf("%s-%d-%s", pane.name, view, depth.name)
				t.Run(name, func(t *testing.T) {
					m := paneScreen(t, pane.id, 80, 24, depth.options, depth.profile, tuitest.Running())
					for range view {
						press(m, "v")
					}
					checkFrame(t, m, 80, 24)
					tuitest.Golden(t, name, tuitest.Shown(tuitest.Cells(m.View().Content, 80, 24)))
				})
			}
		}
	}
}

// Every view, drawing method and colour map keeps the frame valid at every size, even without a
// truth or with one of another size.
func TestEveryViewHoldsTheScreen(t *testing.T) {
	odd := tuitest.Running()
	odd.Pictures[prism.PictureTruth] = &profiles.Picture{Width: 5, Height: 3, Pixels: make([]float32, 15)}
	odd.Run.Sampling.PerSample = 7
	tuitest.Set(odd, "aperture", "hexagonal")
	blind := tuitest.Running()
	blind.Pictures[prism.PictureTruth], blind.Run.Sampling.Radius = nil, math.Inf(1)
	for i, s := range []*profiles.Snapshot{tuitest.Running(), odd, blind, tuitest.Preparing(), tuitest.Finished()} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {131, 37}, {240, 70}} {
			m := paneScreen(t, idPicture, size[0], size[1], Options{ASCII: i == 1}, colorprofile.Profile(1+(i+size[0])%5), s)
			for range 4 {
				for range 6 {
					press(m, "i")
					press(m, "x")
					checkFrame(t, m, size[0], size[1])
				}
				press(m, "v")
			}
			m.setFocus(idKSpace)
			m.resize(size[0], size[1])
			for range 3 {
				press(m, "v")
				press(m, "x")
				m.Update(snapshotMsg{s})
				checkFrame(t, m, size[0], size[1])
			}
		}
	}
}

func TestThePictureSaysItsScale(t *testing.T) {
	m := paneScreen(t, idPicture, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	at := func() string { return tuitest.Shown(tuitest.Cells(m.View().Content, 120, 40)) }
	for _, step := range []struct{ key, want string }{
		{"", "white 1.00"}, {"x", "violet 0, yellow 1.00"}, {"v", "yellow 1.00"}, {"v", "truth"},
		{"v", "orange +0.50"}, {"x", "yellow |0.50|"}, {"x", "blue −0.50"},
	} {
		if step.key != "" {
			press(m, step.key)
		}
		if !strings.Contains(at(), step.want) {
			t.Errorf("after %q the picture does not say %q:\n%s", step.key, step.want, at())
		}
	}
}
