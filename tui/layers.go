package tui

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// layerTable lists the layers of the plan, the longest first; one of them is picked.
type layerTable struct {
	picker
	of    []profiles.Layer // as last sorted, of this snapshot
	order []profiles.Layer
	sum   float64 // ns of all
}

// overtakes is how much longer a layer must take than the one above it to change
// places with it: rows that swap at every reading cannot be read.
const overtakes = 1.1

// follow sorts the layers of a snapshot. Rows keep their places as far as possible,
// and the picked one stays picked.
func (t *layerTable) follow(s *profiles.Snapshot) {
	if len(s.Layers) == len(t.of) && (len(t.of) == 0 || &s.Layers[0] == &t.of[0]) {
		return
	}
	picked := ""
	if t.at > 0 && t.at < len(t.order) {
		picked = t.order[t.at].Name
	}
	next, same := t.renewed(s.Layers)
	if !same {
		next = slices.Clone(s.Layers)
		slices.SortStableFunc(next, func(a, b profiles.Layer) int {
			switch {
			case a.Nanos > b.Nanos:
				return -1
			case a.Nanos < b.Nanos:
				return 1
			}
			return 0
		})
	}
	for i := range next {
		for k := i; k > 0 && next[k].Nanos > overtakes*next[k-1].Nanos; k-- {
			next[k], next[k-1] = next[k-1], next[k]
		}
	}
	t.of, t.order, t.sum = s.Layers, next, 0
	t.at, t.n = 0, len(next)
	for i, l := range next {
		t.sum += l.Nanos
		if l.Name == picked && picked != "" {
			t.at = i
		}
	}
}

// renewed is the present order with new times; same is false where the layers are
// others.
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

// missing says why there are no layers to show; empty where there are some.
func (t *layerTable) missing(s *profiles.Snapshot) []string {
	switch {
	case len(s.Layers) > 0:
		return nil
	case ended(s.State):
		return []string{"layers were not timed at the end of the run"}
	case s.Settings.LayerProfile:
		return []string{"timing the layers …"}
	}
	how := "--set layer_profile=true times them"
	if setting, ok := findSetting("layer_profile"); ok {
		how = string(setting.mark) + " times them, at a small cost"
	}
	return []string{"layers are not timed: layer_profile is off", how}
}

// unjudged says that there are no roofs, and how to get them.
const unjudged = "roofs never measured here: prismtop doctor --calibrate"

// marker is the character of a layer in the roofline and before its row: its rank.
func marker(rank int) rune {
	switch {
	case rank < 9:
		return '1' + rune(rank)
	case rank < 9+26:
		return 'a' + rune(rank-9)
	}
	return '·'
}

const markers = "123456789abcdefghijklmnopqrstuvwxyz"

// columns of the table: what ends how far from the right, and from which width on.
type layerColumns struct {
	name             int // width of the name
	phase            int // where the phase begins; 0 for none
	ms, share        int // where they end
	flops, bytes     int // where they end; 0 for none
	roof, bar, barAt int // where the share of the roof ends; width and place of its bar
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

func (t *layerTable) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	t.follow(s)
	w, h := c.Size()
	if why := t.missing(s); why != nil {
		for i, line := range why {
			part := c.Sub(0, h/2-len(why)/2+i, w, 1)
			message(&part, line)
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
	first, last := t.fit(len(t.order), h-1)
	for i := first; i < last; i++ {
		t.row(c, 1+i-first, i, col)
	}
	return t.describe()
}

func (t *layerTable) row(c *chart.Canvas, y, i int, col layerColumns) {
	l := &t.order[i]
	text, number := theme.Plain, theme.Strong
	if i == t.at {
		c.Set(1, y, '▸', theme.Key)
		text = theme.Strong
	}
	c.Set(0, y, marker(i), phaseStyle(l.Phase))
	c.Text(2, y, chart.Cut(l.Name, col.name), text)
	if col.phase > 0 {
		c.Text(2+col.phase, y, chart.Cut(l.Phase.String(), 9), phaseStyle(l.Phase))
	}
	c.TextRight(col.ms, y, milliseconds(l.Nanos), number)
	share := 0.0
	if t.sum > 0 {
		share = l.Nanos / t.sum
	}
	c.TextRight(col.share, y, percent(share), theme.Plain)
	if col.flops > 0 && l.FLOPs > 0 && l.Nanos > 0 {
		c.TextRight(col.flops, y, fixed(float64(l.FLOPs)/l.Nanos, 5), theme.Plain)
	}
	if col.bytes > 0 && l.Bytes > 0 && l.Nanos > 0 {
		c.TextRight(col.bytes, y, fixed(float64(l.Bytes)/l.Nanos, 5), theme.Plain)
	}
	if col.roof == 0 || !l.Judged {
		return
	}
	share, roof := nearestRoof(l)
	c.TextRight(col.roof, y, percent(share)+" "+roof, theme.Plain)
	if col.bar > 0 {
		c.Bar(col.barAt, y, col.bar, min(share, 1)*float64(col.bar), phaseStyle(l.Phase))
	}
}

// nearestRoof is the share of the roof that a layer comes nearer to, and its name.
func nearestRoof(l *profiles.Layer) (share float64, name string) {
	if l.Compute > l.Memory {
		return l.Compute, "FMA"
	}
	return l.Memory, "mem"
}

// describe tells the picked layer whole.
func (t *layerTable) describe() (string, theme.Style) {
	if t.at >= len(t.order) {
		return "", theme.Faint
	}
	l := &t.order[t.at]
	text := fmt.Sprintf("%s: %s", l.Name, strings.TrimSpace(seconds(l.Nanos)))
	if l.FLOPs > 0 && l.Bytes > 0 {
		text += fmt.Sprintf(", %s FLOP/byte", compact(float64(l.FLOPs)/float64(l.Bytes)))
	}
	if !l.Judged {
		return text + " · " + unjudged, phaseStyle(l.Phase)
	}
	return text + fmt.Sprintf(", FMA %.0f %%, bandwidth %.0f %%", 100*l.Compute, 100*l.Memory), phaseStyle(l.Phase)
}
