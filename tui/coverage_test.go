package tui

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
)

// covered is the share of the grid under an aperture.
func covered(v *coverage) float64 {
	n := 0
	for _, c := range v.counts {
		if c > 0 {
			n++
		}
	}
	return float64(n) / float64(len(v.counts))
}

func TestCoverageIsTheAreaOfTheApertures(t *testing.T) {
	s := running()
	s.Run.Radius, s.Run.Centres = 40, [][2]float64{{0, 0}, {100, 0}, {100, 20}}
	s.Run.Units = 3
	var v coverage
	v.count(s, 512, 1)
	if got, want := covered(&v), math.Pi*40*40/(512*512); math.Abs(got-want) > 0.02*want {
		t.Errorf("one aperture covers %.5f, want %.5f", got, want)
	}
	if share := v.rings(); share[2] != 1 || share[15] != 0 {
		t.Errorf("rings %v", share)
	}
	v.count(s, 512, 3) // the others come on top, and overlap
	if v.most != 2 {
		t.Errorf("measured at most %.0f times, want 2", v.most)
	}
	both := covered(&v)
	if lens := 3 * math.Pi * 40 * 40 / (512 * 512); both >= lens*0.99 {
		t.Errorf("overlapping apertures cover %.5f, as much as apart", both)
	}
	if y, x := gridSide/2+25, gridSide/2; v.counts[y*gridSide+x] == 0 || v.counts[x*gridSide+y] != 0 {
		t.Error("the first coordinate does not grow downwards")
	}
	v.count(s, 512, 1) // a restart
	if v.most != 1 {
		t.Error("a run that went back keeps its counts")
	}
	s.Run.PerSample = 3 // a line: several centres make one sample
	v.count(s, 512, 1)
	if got := covered(&v); got != both {
		t.Errorf("a sample of three centres covers %.5f, want %.5f", got, both)
	}
}

// The run's own figure is near what the map shows.
func TestTheMapAgreesWithTheRunsCoverage(t *testing.T) {
	s := finished()
	var v coverage
	v.count(s, 512, 100)
	want := math.Min(1, 100*math.Pi*20*20/(512*512)) // few of europa's overlap
	if got := covered(&v); got > want*1.02 || got < want*0.6 {
		t.Errorf("the map covers %.3f of k-space, the apertures' areas sum up to %.3f", got, want)
	}
}

// paneScreen is a screen with the keys in a pane, which has the whole of it.
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
		}{{"picture", idPicture, int(numPictureViews)}, {"kspace", idKSpace, int(numKspaceViews)}} {
			for view := range pane.views {
				name := fmt.Sprintf("%s-%d-%s", pane.name, view, depth.name)
				t.Run(name, func(t *testing.T) {
					m := paneScreen(t, pane.id, 80, 24, depth.options, depth.profile, running())
					for range view {
						press(m, "v")
					}
					checkFrame(t, m, 80, 24)
					golden(t, name, shown(cells(m.View().Content, 80, 24)))
				})
			}
		}
	}
}

// Every view, way of drawing and colour map holds the screen at every size, also
// without a truth and with one of another size.
func TestEveryViewHoldsTheScreen(t *testing.T) {
	odd := running()
	odd.Pictures[prism.PictureTruth] = &profiles.Picture{Width: 5, Height: 3, Pixels: make([]float32, 15)}
	odd.Run.PerSample = 7
	set(odd, "aperture", "hexagonal")
	blind := running()
	blind.Pictures[prism.PictureTruth], blind.Run.Radius = nil, math.Inf(1)
	for i, s := range []*profiles.Snapshot{running(), odd, blind, preparing(), finished()} {
		for _, size := range [][2]int{{60, 15}, {80, 24}, {131, 37}, {240, 70}} {
			m := paneScreen(t, idPicture, size[0], size[1], Options{ASCII: i == 1}, colorprofile.Profile(1+(i+size[0])%5), s)
			for range numPictureViews {
				for range numDrawings {
					press(m, "i")
					press(m, "x")
					checkFrame(t, m, size[0], size[1])
				}
				press(m, "v")
			}
			m.setFocus(idKSpace)
			m.resize(size[0], size[1])
			for range numKspaceViews {
				press(m, "v")
				press(m, "x")
				m.Update(snapshotMsg{s})
				checkFrame(t, m, size[0], size[1])
			}
		}
	}
}

func TestThePictureSaysItsScale(t *testing.T) {
	m := paneScreen(t, idPicture, 120, 40, Options{}, colorprofile.ANSI256, running())
	at := func() string { return shown(cells(m.View().Content, 120, 40)) }
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

func TestScalesAreRound(t *testing.T) {
	for v, want := range map[float64]float64{0.011: 0.02, 0.02: 0.02, 0.3: 0.5, 0.7: 1, 1: 1, 4: 5, 0: 1e-12} {
		if got := roundUp(v); math.Abs(got-want) > 1e-9*want {
			t.Errorf("%g becomes %g, want %g", v, got, want)
		}
	}
}
