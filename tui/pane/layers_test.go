package pane

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// The rows of the table are always in the order of the displayed times and shares; few rows swap
// when readings differ slightly, and the selection stays with its layer.
func TestRowsOfLayersAreInTheOrderThatTheyShow(t *testing.T) {
	s := tuitest.Layered()
	p := newPhases(tuitest.Host{Values: s.Settings})
	p.SetTheme(theme.New(colorprofile.ANSI256, true, false))
	p.Update(s)
	p.Press("v")
	p.SetSize(120, 50)
	p.Cells()
	for range 5 {
		p.Press("down")
	}
	selected, swaps := p.layers.order[5].Name, 0
	for k := range 40 {
		before := names(p.layers.order)
		next := tuitest.Layered()
		for i := range next.Layers {
			next.Layers[i].Nanos *= 1 + 0.08*tuitest.Noise(i+31*k)
		}
		p.Update(next)
		ms, share := 1e9, 1e9
		for _, line := range strings.Split(ansi.Strip(strings.Join(tuitest.Lines(p), "\n")), "\n")[2:] {
			f := strings.Fields(line[strings.IndexAny(line, " "):])
			at := slices.Index(f, "%")
			if at < 2 || !strings.HasPrefix(line, "│") {
				continue
			}
			nowMS, _ := strconv.ParseFloat(f[at-2], 64)
			nowShare, _ := strconv.ParseFloat(f[at-1], 64)
			if nowMS > ms || nowShare > share {
				t.Fatalf("reading %d: %v ms, %v %% below %v ms, %v %%:\n%s", k, nowMS, nowShare, ms, share, ansi.Strip(strings.Join(tuitest.Lines(p), "\n")))
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
		next := tuitest.Layered()
		for i := range next.Layers {
			if next.Layers[i].Name == selected {
				next.Layers[i].Nanos *= 50
			}
		}
		table.follow(next)
	}
	if table.order[0].Name != selected || table.At != 0 {
		t.Errorf("%q is first and row %d is selected, want %q and 0", table.order[0].Name, table.At, selected)
	}
	other := tuitest.Layered()
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
	s := tuitest.Layered()
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
	f.recent = s.Recent[100:] // time has passed
	if got := f.recent[f.find()].Index; got != f.picked {
		t.Errorf("iteration %d is shown", got)
	}
	f.press("end")
	if f.find() != len(f.recent)-1 {
		t.Error("not the newest again")
	}
}
