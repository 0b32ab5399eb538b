package pane

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The table of a plan's layers, with the description of the selected one and what is said where there are none.

// layerTable lists the layers of the plan, the slowest first; one of them is selected.
type layerTable struct {
	widget.List
	host    Host
	of      []profiles.Layer // layers of the last snapshot followed
	changes int              // number of setting changes up to then
	means   []profiles.Layer // in the plan's order, with averaged times
	order   []profiles.Layer
	sum     float64 // total, ns
	schema  *profiles.Schema
}

// newestWeight is the weight of a new reading in the displayed mean, which averages about the
// last five seconds. Single readings vary so much that rows would swap every time.
const newestWeight = 0.2

// follow takes the layers of a snapshot and sorts them by the displayed values. Layers with
// equal values keep their order, and the selected layer stays selected.
func (t *layerTable) follow(s *profiles.Snapshot) {
	t.schema = &s.Run.Schema
	if len(s.Layers) == len(t.of) && (len(t.of) == 0 || &s.Layers[0] == &t.of[0]) {
		return
	}
	picked := ""
	if t.At > 0 && t.At < len(t.order) {
		picked = t.order[t.At].Name
	}
	t.average(s)
	next, same := t.renewed(t.means)
	if !same {
		next = slices.Clone(t.means)
	}
	t.of, t.sum = s.Layers, 0
	for _, l := range next {
		t.sum += l.Nanos
	}
	slices.SortStableFunc(next, func(a, b profiles.Layer) int {
		return cmp.Or(cmp.Compare(shownTime(b.Nanos), shownTime(a.Nanos)),
			cmp.Compare(t.shownShare(&b), t.shownShare(&a)))
	})
	t.order = next
	t.Select(0, len(next))
	for i, l := range next {
		if l.Name == picked && picked != "" {
			t.At = i
		}
	}
}

// average adds a snapshot's layers to the means, which restart when the plan or the settings
// change.
func (t *layerTable) average(s *profiles.Snapshot) {
	before := t.means
	t.means = slices.Clone(s.Layers)
	fresh := len(before) != len(t.means) || t.changes != len(s.Changes)
	t.changes = len(s.Changes)
	for i := range t.means {
		fresh = fresh || before[i].Name != t.means[i].Name
	}
	if fresh {
		return
	}
	for i := range t.means {
		l := &t.means[i]
		mean := before[i].Nanos + newestWeight*(l.Nanos-before[i].Nanos)
		if !(mean > 0) || math.IsInf(mean, 0) {
			continue
		}
		l.Compute, l.Memory = l.Compute*l.Nanos/mean, l.Memory*l.Nanos/mean // the roofs' shares at that time
		l.Nanos = mean
	}
}

// shownTime returns a time as displayed in the table, in ms.
func shownTime(ns float64) float64 {
	ms, err := strconv.ParseFloat(strings.TrimSpace(unit.Milliseconds(ns)), 64)
	if err != nil {
		return 0 // not a number
	}
	return ms
}

// shownShare returns a layer's share as displayed in the table, in percent.
func (t *layerTable) shownShare(l *profiles.Layer) float64 {
	if share := math.Round(100 * l.Nanos / t.sum); share >= 0 {
		return share
	}
	return 0
}

// renewed returns the current order with new times; same is false if the set of layers changed.
func (t *layerTable) renewed(layers []profiles.Layer) (next []profiles.Layer, same bool) {
	if len(layers) != len(t.order) {
		return nil, false
	}
	left := make(map[string][]profiles.Layer, len(layers)) // names need not be unique
	for _, l := range layers {
		left[l.Name] = append(left[l.Name], l)
	}
	next = make([]profiles.Layer, len(layers))
	for i, l := range t.order {
		named := left[l.Name]
		if len(named) == 0 {
			return nil, false
		}
		next[i], left[l.Name] = named[0], named[1:]
	}
	return next, true
}

// missing explains why there are no layers to show; empty if there are some.
func (t *layerTable) missing(s *profiles.Snapshot) []string {
	switch {
	case len(s.Layers) > 0:
		return nil
	case words.Ended(s.State):
		return []string{"layers were not timed at the end of the run"}
	case s.Settings.On(settings.LayerProfile):
		return []string{"timing the layers …"}
	case !s.Settings.Has(settings.LayerProfile):
		return []string{"the layers of this run are not timed"}
	}
	if !t.host.Tunable() {
		return []string{"layers are not timed: layer_profile is off"}
	}
	how := "--set layer_profile=true times them"
	if key := t.host.Keys().Changes(settings.LayerProfile); key != "" {
		how = key + " times them, at a small cost"
	}
	return []string{"layers are not timed: layer_profile is off", how}
}

// unjudgedIn says, in at most w cells where possible, that there are no roofs and how to measure
// them.
func unjudgedIn(w int) string {
	return words.FittingOrLast(w, "roofs never measured here: prismtop doctor --calibrate",
		"no roofs: prismtop doctor --calibrate", "no roofs")
}

// marker returns the character for a layer of that rank, in the roofline and before its row.
func marker(rank int) rune {
	switch {
	case rank < 9:
		return '1' + rune(rank)
	case rank < 9+26:
		return 'a' + rune(rank-9)
	}
	return noMarker
}

// noMarker marks layers beyond the available characters.
const noMarker = '·'

const markers = "123456789abcdefghijklmnopqrstuvwxyz"

// layerColumns holds the positions of the table's columns.
type layerColumns struct {
	name             int // width of the name
	phase            int // start of the phase; 0 for none
	ms, share        int // right ends
	flops, bytes     int // right ends; 0 for none
	roof, bar, barAt int // right end of the roof's share; width and position of its bar
}

func layerColumnsOf(w int) layerColumns {
	var c layerColumns
	right := w
	if w >= 44 {
		if w >= 88 {
			c.bar = max(min((w-74)/2, 20), w-82)
			c.barAt = right - c.bar
			right = c.barAt - 1
		}
		c.roof = right
		right -= 10
	}
	if w >= 64 {
		c.bytes = right
		right -= 7
	}
	if w >= 56 {
		c.flops = right
		right -= 9
	}
	c.share = right
	c.ms = right - 6
	c.name = c.ms - 6 - 2
	if c.name >= 36 {
		c.phase = c.name - 10
		c.name = c.phase - 1
	}
	return c
}

// draw draws the table, and returns a description of the selected layer in room cells.
func (t *layerTable) draw(c *chart.Canvas, s *profiles.Snapshot, room int) (string, theme.Style) {
	t.follow(s)
	w, h := c.Size()
	if why := t.missing(s); why != nil {
		for i, line := range why {
			part := c.Sub(0, h/2-len(why)/2+i, w, 1)
			Message(&part, line)
		}
		return "", theme.Faint
	}
	col := layerColumnsOf(w)
	c.Text(2, 0, "layer", theme.Faint)
	if col.phase > 0 {
		c.Text(2+col.phase, 0, "phase", theme.Faint)
	}
	c.TextRight(col.ms, 0, "ms", theme.Faint)
	c.TextRight(col.share, 0, "share", theme.Faint)
	if col.flops > 0 {
		c.TextRight(col.flops, 0, "GFLOP/s", theme.Faint)
	}
	if col.bytes > 0 {
		c.TextRight(col.bytes, 0, "GB/s", theme.Faint)
	}
	if col.roof > 0 {
		c.TextRight(col.roof, 0, "of roof", theme.Faint)
	}
	first, last := t.Fit(len(t.order), h-1)
	for i := first; i < last; i++ {
		t.row(c, s, 1+i-first, i, col)
	}
	return t.describe(room)
}

func (t *layerTable) row(c *chart.Canvas, s *profiles.Snapshot, y, i int, col layerColumns) {
	l := &t.order[i]
	text, number := theme.Plain, theme.Strong
	if i == t.At {
		c.Set(1, y, '▸', theme.Key)
		text = theme.Strong
	}
	c.Set(0, y, marker(i), phaseStyle(t.schema, l.Phase))
	c.Text(2, y, chart.Cut(l.Name, col.name), text)
	if col.phase > 0 {
		c.Text(2+col.phase, y, chart.Cut(words.PhaseName(s, l.Phase), 9), phaseStyle(t.schema, l.Phase))
	}
	c.TextRight(col.ms, y, unit.Milliseconds(l.Nanos), number)
	share := 0.0
	if t.sum > 0 {
		share = l.Nanos / t.sum
	}
	c.TextRight(col.share, y, unit.Percent(share), theme.Plain)
	if col.flops > 0 && l.FLOPs > 0 && l.Nanos > 0 {
		c.TextRight(col.flops, y, unit.Fixed(float64(l.FLOPs)/l.Nanos, 5), theme.Plain)
	}
	if col.bytes > 0 && l.Bytes > 0 && l.Nanos > 0 {
		c.TextRight(col.bytes, y, unit.Fixed(float64(l.Bytes)/l.Nanos, 5), theme.Plain)
	}
	if col.roof == 0 || !l.Judged {
		return
	}
	share, roof := nearestRoof(l)
	c.TextRight(col.roof, y, unit.Percent(share)+" "+roof, theme.Plain)
	if col.bar > 0 {
		c.Bar(col.barAt, y, col.bar, min(share, 1)*float64(col.bar), phaseStyle(t.schema, l.Phase))
	}
}

// nearestRoof returns the larger of a layer's roof shares, and the name of that roof.
func nearestRoof(l *profiles.Layer) (share float64, name string) {
	if l.Compute > l.Memory {
		return l.Compute, "FMA"
	}
	return l.Memory, "mem"
}

// describe describes the selected layer in at most w cells where possible.
func (t *layerTable) describe(w int) (string, theme.Style) {
	if t.At >= len(t.order) {
		return "", theme.Faint
	}
	l := &t.order[t.At]
	head := fmt.Sprintf("%s: %s", l.Name, strings.TrimSpace(unit.Seconds(l.Nanos)))
	intense := head
	if l.FLOPs > 0 && l.Bytes > 0 {
		intense += fmt.Sprintf(", %s FLOP/byte", compact(float64(l.FLOPs)/float64(l.Bytes)))
	}
	if !l.Judged {
		why := unjudgedIn(max(w-chart.Width(intense)-3, 0))
		return words.FittingOrLast(w, intense+" · "+why, intense, head), phaseStyle(t.schema, l.Phase)
	}
	share, roof := nearestRoof(l)
	name := map[string]string{"FMA": "FMA roof", "mem": "bandwidth"}[roof]
	return words.FittingOrLast(w,
		intense+fmt.Sprintf(", FMA %.0f %%, bandwidth %.0f %%", 100*l.Compute, 100*l.Memory),
		intense+fmt.Sprintf(", %.0f %% of %s", 100*share, name),
		head+fmt.Sprintf(", %.0f %% of %s", 100*share, name), head), phaseStyle(t.schema, l.Phase)
}
