package pane

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// This file draws the memory of the run's GPU as a ledger, whose rows add up to what the driver reports as used.

// ledgerGroups are the rows into which those of a ledger are summed up if there is no room for all.
var ledgerGroups = []struct {
	name string
	of   []string
}{
	{"parameters", []string{"weights", "gradients", "moments"}},
	{"buffers", []string{"activations", "inputs", "workspace", "other plans"}},
}

// ledgerRows returns the entries in at most rows rows: it first sums up parameters and buffers, then all that the run
// holds, then what it does not.
func ledgerRows(l *profiles.Ledger, rows int) []profiles.LedgerEntry {
	if rows >= len(l.Entries) {
		return l.Entries
	}
	var grouped []profiles.LedgerEntry
	for _, e := range l.Entries {
		name := e.Name
		for _, g := range ledgerGroups {
			if slices.Contains(g.of, name) {
				name = g.name
			}
		}
		if strings.HasSuffix(name, " cache") {
			name = "caches"
		}
		grouped = added(grouped, name, e)
	}
	if rows >= len(grouped) {
		return grouped
	}
	var least []profiles.LedgerEntry
	for _, e := range grouped {
		switch {
		case e.Run:
			e.Name = "this run"
		case rows < 4 && e.Name != profiles.Unexplained:
			e.Name = "others"
		}
		least = added(least, e.Name, e)
	}
	return least
}

// added adds an entry to the one of a name.
func added(to []profiles.LedgerEntry, name string, e profiles.LedgerEntry) []profiles.LedgerEntry {
	i := slices.IndexFunc(to, func(o profiles.LedgerEntry) bool { return o.Name == name })
	if i < 0 {
		e.Name = name
		return append(to, e)
	}
	sum := &to[i].Bytes
	sum.Value += e.Bytes.Value
	if sum.Known = sum.Known || e.Bytes.Known; sum.Known {
		sum.Reason = ""
	}
	return to
}

// ledgerName and ledgerNumber are the widths of the columns.
const (
	ledgerName   = 15
	ledgerNumber = 9
)

// ledger draws the ledger with the process below it, and reports whether there was room for the slope of that.
func (p *memory) ledger(c *chart.Canvas, s *profiles.Snapshot, l *profiles.Ledger) (told bool) {
	w, h := c.Size()
	foot := 2
	if h < 5 {
		foot = 1
	}
	rows := ledgerRows(l, h-foot)
	most := 0.0
	for _, r := range rows {
		most = max(most, math.Abs(r.Bytes.Value))
	}
	for y, r := range rows[:min(len(rows), max(h-foot, 0))] {
		c.Text(0, y, r.Name, theme.Plain)
		x := ledgerName + ledgerNumber + 1
		if !r.Bytes.Known {
			c.Text(ledgerName+1, y, chart.Cut("n/a: "+r.Bytes.Reason, w-ledgerName-1), theme.Faint)
			continue
		}
		style := theme.Strong
		if r.Name == profiles.Unexplained {
			style = unexplainedStyle(r.Bytes.Value, l.Used)
		}
		c.TextRight(x-1, y, signedSize(r.Bytes.Value), style)
		if room := w - x; room > 2 && most > 0 {
			c.Bar(x, y, room, max(r.Bytes.Value, 0)/most*float64(room), theme.Memory)
		}
	}
	y := min(max(h-foot, 0), len(rows))
	used, style := usedText(l), theme.Plain
	if !l.Used.Known {
		style = theme.Faint
	}
	c.Text(0, y, gpuName(l.GPU), theme.Plain)
	c.Text(ledgerName-8, y, chart.Cut(used, w-ledgerName+8), style)
	if foot < 2 {
		return false
	}
	return p.process(c, y+1, s)
}

// unexplainedStyle warns if more than a fiftieth of what is used is in no row.
func unexplainedStyle(bytes float64, used machine.Gauge) theme.Style {
	if used.Known && math.Abs(bytes) > used.Value/50 {
		return theme.Warn
	}
	return theme.Faint
}

// gpuName names a GPU by its number.
func gpuName(at int) string {
	if at < 0 {
		return "GPU"
	}
	return fmt.Sprintf("GPU %d", at)
}

// usedText describes what the driver reports as used.
func usedText(l *profiles.Ledger) string {
	switch {
	case !l.Used.Known:
		return "n/a: " + l.Used.Reason
	case l.Total.Known:
		return unit.Size(int64(l.Used.Value)) + " of " + unit.Size(int64(l.Total.Value)) + " used"
	}
	return unit.Size(int64(l.Used.Value)) + " used"
}

func signedSize(v float64) string {
	if v < 0 {
		return unit.SignedSize(int64(v))
	}
	return unit.Size(int64(v))
}

// process writes a row of the process' memory on the host with what of it is pinned, and reports whether there was room
// for the slope.
func (p *memory) process(c *chart.Canvas, y int, s *profiles.Snapshot) (told bool) {
	w, _ := c.Size()
	m := s.Memory
	c.Text(0, y, "host", theme.Plain)
	switch {
	case m.Reason != "":
		c.Text(ledgerName-8, y, chart.Cut("n/a: "+m.Reason, w-ledgerName+8), theme.Faint)
	case m.RSS > 0:
		text := unit.Size(m.RSS)
		if m.Device.Pinned > 0 {
			text += ", " + unit.Size(m.Device.Pinned) + " pinned"
		}
		x := c.Text(ledgerName-8, y, chart.Cut(text, w-ledgerName+8), theme.Strong)
		slope, style := slopeShort(s)
		if told = x+2+chart.Width(slope) <= w; told {
			c.Text(x+2, y, slope, style)
		}
	default:
		c.Text(ledgerName-8, y, "not read"+words.Yet(s), theme.Faint)
	}
	return told
}

// cardLines describes the memory of the machine's GPUs in a run on the processor, in w cells: a line for each, or the
// reason why there is none.
func cardLines(s *profiles.Snapshot, w int) []string {
	var lines []string
	for i := range s.Sensors.GPUs {
		name := gpuName(i) + "  "
		lines = append(lines, name+words.CardMemory(&s.Sensors.GPUs[i], 0, w-chart.Width(name)))
	}
	if lines == nil {
		return []string{"GPU  n/a: " + gpuReason(s)}
	}
	return lines
}
