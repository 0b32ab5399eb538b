package screen

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// The panes alone, so that their files are unaffected by changes elsewhere.
func TestPaneScreens(t *testing.T) {
	unjudged := tuitest.Layered()
	unjudged.Roofs = nil
	for i := range unjudged.Layers {
		unjudged.Layers[i].Judged = false
	}
	for _, tt := range []struct {
		name string
		pane layout.Pane
		zoom bool
		snap *profiles.Snapshot
		keys []string
	}{
		{"phases-bars", idPhases, false, tuitest.Layered(), nil},
		{"phases-bars-zoomed", idPhases, true, tuitest.Layered(), nil},
		{"phases-layers", idPhases, false, tuitest.Layered(), []string{"v", "down", "down"}},
		{"phases-layers-zoomed", idPhases, true, tuitest.Layered(), []string{"v", "down", "down"}},
		{"phases-layers-off", idPhases, false, tuitest.Running(), []string{"v"}},
		{"phases-layers-unjudged", idPhases, true, unjudged, []string{"v"}},
		{"phases-roofline", idPhases, false, tuitest.Layered(), []string{"v", "v"}},
		{"phases-roofline-zoomed", idPhases, true, tuitest.Layered(), []string{"v", "v", "down"}},
		{"phases-waterfall", idPhases, false, tuitest.Layered(), []string{"v", "v", "v"}},
		{"phases-waterfall-zoomed", idPhases, true, tuitest.Layered(), []string{"v", "v", "v", "left", "left"}},
		{"time-zoomed", idIterationTime, true, tuitest.Layered(), nil},
		{"time-wall-zoomed", idIterationTime, true, tuitest.Layered(), []string{"v", "left", "left", "left"}},
		{"time-back-zoomed", idIterationTime, true, tuitest.Layered(), []string{"up", "up", "pgup", "pgup", "left", "x"}},
		{"loss-zoomed", idLoss, true, tuitest.Layered(), []string{"left", "left"}},
		{"loss-linear", idLoss, false, tuitest.Layered(), []string{"x"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			w, h := size[0], size[1]
			name := fmt.Sprintf("%s-%dx%d", tt.name, w, h)
			t.Run(name, func(t *testing.T) {
				m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, tt.snap)
				arrange(m, "everything")
				m.setFocus(tt.pane)
				if tt.zoom {
					m.toggleZoom()
				}
				for _, k := range append([]string{""}, tt.keys...) {
					m.panes[tt.pane].Press(k)
					m.stale = true
					m.Update(snapshotMsg{tt.snap})
					checkFrame(t, m, w, h)
				}
				r := m.layout.Panes[tt.pane]
				tuitest.Golden(t, name, tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(m.panes[tt.pane]), "\n"), r.W, r.H)))
			})
		}
	}
}

func TestTheViewOfLayersSwitchesNothingOn(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, tuitest.Running())
	m.setFocus(idPhases)
	for range 4 {
		press(m, "v")
	}
	if calls := r.Called(); len(calls) != 0 {
		t.Errorf("looking at the views asked for %v", calls)
	}
}

// No number reported by a broken run breaks the screen or a line of it.
func TestPhasesAndChartsSurviveEveryNumber(t *testing.T) {
	profilestest.OneGoroutine(t)
	hostile := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324}
	for i, a := range hostile {
		b := hostile[(i+3)%len(hostile)]
		s := tuitest.Layered()
		for k := range s.Layers {
			l := &s.Layers[k]
			switch k % 5 {
			case 0:
				l.Nanos = a
			case 1:
				l.Compute, l.Memory = a, b
			case 2:
				l.FLOPs, l.Bytes = math.MinInt64, int64(k)
			case 3:
				l.FLOPs, l.Bytes, l.Nanos = math.MaxInt64, math.MaxInt64, b
			}
		}
		s.Roofs.GFLOPS, s.Roofs.Levels[1].GBs = a, b
		for p := range s.Trends {
			if t := &s.Trends[p]; len(t.Bins) > 3 {
				t.Bins[3], t.Change = a, b
			}
		}
		last := &s.Recent[len(s.Recent)-1]
		last.Total, last.Phases[2] = math.MaxInt64, math.MinInt64
		s.Clock[5].Min, s.Clock[6].Max = a, b
		s.IterationTime[7].Mean = a
		for _, size := range [][2]int{{60, 15}, {80, 24}, {120, 40}, {200, 60}} {
			w, h := size[0], size[1]
			m, _ := screen(t, w, h, Options{ASCII: i%2 == 0}, colorprofile.ANSI256, s)
			for _, id := range []layout.Pane{idPhases, idIterationTime, idLoss} {
				m.setFocus(id)
				m.toggleZoom()
				for _, k := range []string{"", "v", "left", "up", "v", "x", "down", "v", "pgup", "left", "right", "v"} {
					m.panes[id].Press(k)
					m.stale = true
					m.Update(snapshotMsg{s})
					checkFrame(t, m, w, h)
				}
				m.toggleZoom()
			}
		}
	}
}

// BenchmarkViewsOfAPane measures a snapshot with one zoomed pane and the maximum number of points
// and layers.
func BenchmarkViewsOfAPane(b *testing.B) {
	long := func() *profiles.Snapshot {
		s := tuitest.Layered()
		s.IterationTime = tuitest.Curve(2000, 50, func(i int) (float64, float64, float64) { return 5, 5 + tuitest.Noise(i), 7 + tuitest.Noise(i+1) })
		s.Series[prism.SeriesLossNew].Curve, s.Series[prism.SeriesLossOld].Curve = s.IterationTime, s.IterationTime
		s.Clock = tuitest.Curve(2000, 50, func(i int) (float64, float64, float64) {
			return float64(i) / 4, float64(i)/4 + 0.12, float64(i)/4 + 0.24
		})
		return s
	}
	for _, bb := range []struct {
		name string
		pane layout.Pane
		keys []string
	}{
		{"phases", idPhases, nil}, {"time", idIterationTime, nil}, {"wall time", idIterationTime, []string{"v"}}, {"loss", idLoss, nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			snaps := []*profiles.Snapshot{long(), long()}
			m, _ := screen(b, 120, 40, Options{}, colorprofile.ANSI256, snaps[0])
			m.setFocus(bb.pane)
			m.toggleZoom()
			for _, k := range bb.keys {
				m.panes[bb.pane].Press(k)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Update(snapshotMsg{snaps[i%2]})
			}
		})
	}
}

// The phases pane names the key that enables its views of layers.
func TestThePhasesNameTheKeyThatTimesLayers(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for does, s := range map[string]*profiles.Snapshot{"y time layers": tuitest.Running(), "y stop timing": tuitest.Layered()} {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
			m.setFocus(idPhases)
			m.Update(snapshotMsg{s})
			m.stale = true
			m.Update(secondMsg{})
			if footer := footerOf(m); !strings.Contains(footer, does) {
				t.Errorf("%v: the footer lacks %q: %s", size, does, footer)
			}
		}
	}
}
