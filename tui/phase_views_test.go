package tui

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/layout"
)

// layered is a run whose layers are timed, with trends and its newest iterations.
func layered() *profiles.Snapshot {
	s := running()
	set(s, "layer_profile", "true")
	s.Roofs = &profiles.Roofs{GFLOPS: 142, Levels: []profiles.RoofLevel{
		{Bytes: 256 << 10, GBs: 140}, {Bytes: 2 << 20, GBs: 96}, {Bytes: 16 << 20, GBs: 44}, {Bytes: 128 << 20, GBs: 13},
	}}
	layer := func(name string, p profiles.Phase, ms float64, flops, bytes int64) {
		gbs := float64(bytes) / (ms * 1e6)
		top := 0.0
		for _, l := range s.Roofs.Levels {
			top = l.GBs
			if l.Bytes >= bytes {
				break
			}
		}
		s.Layers = append(s.Layers, profiles.Layer{Name: name, Phase: p, Nanos: ms * 1e6, FLOPs: flops, Bytes: bytes,
			Compute: float64(flops) / (ms * 1e6) / 142, Memory: gbs / top, Judged: true})
	}
	for i := range 7 {
		n := int64(i + 1)
		layer(fmt.Sprintf("layer %d convT", n), prism.PhaseForward, 0.12+0.02*float64(i), 9_000_000+n*400_000, 600_000/n+200_000)
		layer(fmt.Sprintf("layer %d BN, ReLU", n), prism.PhaseForward, 0.011*float64(n), 40_000<<i, 32_000<<i)
	}
	layer("telescope, field", prism.PhaseTelescope, 0.3, 11_000_000, 3_000_000)
	layer("telescope, apertures", prism.PhaseTelescope, 0.31, 9_000_000, 4_000_000)
	layer("losses", prism.PhaseLoss, 0.17, 2_100_000, 2_100_000)
	for i := 6; i >= 0; i-- {
		n := int64(i + 1)
		layer(fmt.Sprintf("layer %d convT dx", n), prism.PhaseBackward, 0.11+0.01*float64(i), 9_000_000+n*400_000, 600_000/n+200_000)
		layer(fmt.Sprintf("layer %d convT dW", n), prism.PhaseBackward, 0.2/float64(n)+0.1, 9_000_000, 8_000_000/n)
	}
	layer("copy moments", prism.PhaseOptimizer, 0.04, 0, 900_000)
	layer("Adam", prism.PhaseOptimizer, 0.97, 28_000_000, 12_000_000)
	for i := range int64(200) {
		it := profiles.Timing{Index: 3920 + i, Start: i * 5e6, Total: 60_000}
		for p, ms := range []float64{1.21, 0.62, 0.18, 2.43, 0.98, 0} {
			it.Phases[p] = int64(ms * 1e6 * (1 + 0.05*noise(int(i)+p)))
			it.Total += it.Phases[p]
		}
		it.Total += int64(1e5 * noise(int(i)))
		s.Recent = append(s.Recent, it)
	}
	s.Trends = new(profiles.Trends)
	phases := len(s.Run.Schema.Phases)
	for p := range phases + 1 {
		base, trend := s.Total.Median, &s.Trends[profiles.WholeIteration]
		if p < phases {
			base, trend = s.Phases[p].Median, &s.Trends[p]
		}
		for i := range 21 {
			v := base * (1 + 0.05*noise(i+p))
			if i < 9 {
				v *= 1.3
			}
			trend.Bins = append(trend.Bins, v)
		}
		trend.HasChange, trend.Change = true, []float64{0.01, -0.08, 0.12, -0.2, 0, 0.5, -0.09}[p]
	}
	s.Clock = make(profiles.Curve, len(s.IterationTime))
	for i, p := range s.IterationTime {
		at := float64(p.First) * 0.0062
		if i > 150 {
			at += 9 // a pause
		}
		s.Clock[i] = profiles.Point{First: p.First, Last: p.Last, Min: at, Mean: at + 0.06, Max: at + 0.118}
	}
	return s
}

// The panes alone, so that a change elsewhere leaves their files as they are.
func TestPaneScreens(t *testing.T) {
	unjudged := layered()
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
		{"phases-bars", idPhases, false, layered(), nil},
		{"phases-bars-zoomed", idPhases, true, layered(), nil},
		{"phases-layers", idPhases, false, layered(), []string{"v", "down", "down"}},
		{"phases-layers-zoomed", idPhases, true, layered(), []string{"v", "down", "down"}},
		{"phases-layers-off", idPhases, false, running(), []string{"v"}},
		{"phases-layers-unjudged", idPhases, true, unjudged, []string{"v"}},
		{"phases-roofline", idPhases, false, layered(), []string{"v", "v"}},
		{"phases-roofline-zoomed", idPhases, true, layered(), []string{"v", "v", "down"}},
		{"phases-waterfall", idPhases, false, layered(), []string{"v", "v", "v"}},
		{"phases-waterfall-zoomed", idPhases, true, layered(), []string{"v", "v", "v", "left", "left"}},
		{"time-zoomed", idIterationTime, true, layered(), nil},
		{"time-wall-zoomed", idIterationTime, true, layered(), []string{"v", "left", "left", "left"}},
		{"time-back-zoomed", idIterationTime, true, layered(), []string{"up", "up", "pgup", "pgup", "left", "x"}},
		{"loss-zoomed", idLoss, true, layered(), []string{"left", "left"}},
		{"loss-linear", idLoss, false, layered(), []string{"x"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}} {
			w, h := size[0], size[1]
			name := fmt.Sprintf("%s-%dx%d", tt.name, w, h)
			t.Run(name, func(t *testing.T) {
				m, _ := screen(t, w, h, Options{}, colorprofile.ANSI256, tt.snap)
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
				golden(t, name, shown(cells(strings.Join(m.panes[tt.pane].Lines(), "\n"), r.W, r.H)))
			})
		}
	}
}

// The rows of the table are in the order of the times and shares that they show, at
// every reading; few of them swap when readings differ a little, and the selection
// stays with its layer.
func TestRowsOfLayersAreInTheOrderThatTheyShow(t *testing.T) {
	m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, layered())
	p := m.panes[idPhases].(*phases)
	p.Press("v")
	p.SetSize(120, 50)
	strings.Join(p.Lines(), "\n")
	for range 5 {
		p.Press("down")
	}
	selected, swaps := p.layers.order[5].Name, 0
	for k := range 40 {
		before := names(p.layers.order)
		next := layered()
		for i := range next.Layers {
			next.Layers[i].Nanos *= 1 + 0.08*noise(i+31*k)
		}
		p.Update(next)
		ms, share := 1e9, 1e9
		for _, line := range strings.Split(ansi.Strip(strings.Join(p.Lines(), "\n")), "\n")[2:] {
			f := strings.Fields(line[strings.IndexAny(line, " "):])
			at := slices.Index(f, "%")
			if at < 2 || !strings.HasPrefix(line, "│") {
				continue
			}
			nowMS, _ := strconv.ParseFloat(f[at-2], 64)
			nowShare, _ := strconv.ParseFloat(f[at-1], 64)
			if nowMS > ms || nowShare > share {
				t.Fatalf("reading %d: %v ms, %v %% below %v ms, %v %%:\n%s", k, nowMS, nowShare, ms, share, ansi.Strip(strings.Join(p.Lines(), "\n")))
			}
			ms, share = nowMS, nowShare
		}
		if names(p.layers.order) != before {
			swaps++
		}
	}
	if ms := p.layers.order[0].Nanos; !(ms > 0) || swaps > 20 {
		t.Errorf("rows swapped at %d of 40 readings", swaps)
	}
	table := &p.layers
	for range 12 {
		next := layered()
		for i := range next.Layers {
			if next.Layers[i].Name == selected {
				next.Layers[i].Nanos *= 50
			}
		}
		table.follow(next)
	}
	if table.order[0].Name != selected || table.at != 0 {
		t.Errorf("%q is first and row %d is selected, want %q and 0", table.order[0].Name, table.at, selected)
	}
	other := layered()
	other.Layers = other.Layers[3:]
	table.follow(other)
	if len(table.order) != len(other.Layers) {
		t.Errorf("%d rows of %d layers", len(table.order), len(other.Layers))
	}
}

func names(layers []profiles.Layer) (s string) {
	for _, l := range layers {
		s += l.Name + "\n"
	}
	return s
}

func TestTheWaterfallAddsUpToTheIteration(t *testing.T) {
	s := layered()
	it := &s.Recent[7]
	spans := phaseSpans(s, it)
	last := spans[len(spans)-1]
	if last.name != "rest" || math.Abs(last.start+last.len-float64(it.Total)) > 1 {
		t.Errorf("the last bar is %+v of an iteration of %d ns", last, it.Total)
	}
	for i := 1; i < len(spans); i++ {
		if spans[i].start != spans[i-1].start+spans[i-1].len {
			t.Errorf("bar %d begins at %v", i, spans[i].start)
		}
	}
	var f waterfall
	f.recent = s.Recent
	f.press("left")
	f.press("left")
	if want := s.Recent[len(s.Recent)-2].Index; f.picked != want {
		t.Errorf("iteration %d is picked, want %d", f.picked, want)
	}
	f.recent = s.Recent[100:] // time went on
	if got := f.recent[f.find()].Index; got != f.picked {
		t.Errorf("iteration %d is shown", got)
	}
	f.press("end")
	if f.find() != len(f.recent)-1 {
		t.Error("not the newest again")
	}
}

func TestTheViewOfLayersSwitchesNothingOn(t *testing.T) {
	m, r := screen(t, 120, 40, Options{}, colorprofile.ANSI256, running())
	m.setFocus(idPhases)
	for range numPhaseViews {
		press(m, "v")
	}
	if calls := r.called(); len(calls) != 0 {
		t.Errorf("looking at the views asked for %v", calls)
	}
}

// No number that a broken run may report ends the screen or a line of it.
func TestPhasesAndChartsSurviveEveryNumber(t *testing.T) {
	hostile := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, 1e300, 5e-324}
	for i, a := range hostile {
		b := hostile[(i+3)%len(hostile)]
		s := layered()
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

// BenchmarkViewsOfAPane is what a snapshot costs while one pane has the whole
// screen, with as many points and layers as there can be.
func BenchmarkViewsOfAPane(b *testing.B) {
	long := func() *profiles.Snapshot {
		s := layered()
		s.IterationTime = curve(2000, 50, func(i int) (float64, float64, float64) { return 5, 5 + noise(i), 7 + noise(i+1) })
		s.Series[prism.SeriesLossNew].Curve, s.Series[prism.SeriesLossOld].Curve = s.IterationTime, s.IterationTime
		s.Clock = curve(2000, 50, func(i int) (float64, float64, float64) {
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

// The pane of phases names the key that its views of layers need.
func TestThePhasesNameTheKeyThatTimesLayers(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		for does, s := range map[string]*profiles.Snapshot{"y time layers": running(), "y stop timing": layered()} {
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
