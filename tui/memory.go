package tui

import (
	"prismtop/profiles"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
)

// memory shows the run's memory by category, the process' and the GPU's.
type memory struct{ box }

func newMemory() *memory { return &memory{box{title: "Memory"}} }

func (p *memory) View() string    { return join(p.lines()) }
func (p *memory) lines() []string { return p.render(p.draw) }

type memoryRow struct {
	name  string
	bytes int64
}

func memoryRows(m profiles.MemoryView, rows int) []memoryRow {
	all := []memoryRow{
		{"weights", m.Weights}, {"gradients", m.Gradients}, {"moments", m.Moments},
		{"activations", m.Activations}, {"inputs", m.Inputs}, {"scratch", m.Scratch}, {"caches", m.Caches},
	}
	if rows >= len(all) {
		return all
	}
	sum := func(name string, part []memoryRow) memoryRow {
		r := memoryRow{name: name}
		for _, v := range part {
			r.bytes += v.bytes
		}
		return r
	}
	switch {
	case rows == 6:
		return []memoryRow{all[0], all[1], all[2], all[3], sum("buffers", all[4:6]), all[6]}
	case rows == 5:
		return []memoryRow{all[0], all[1], all[2], sum("buffers", all[3:6]), all[6]}
	case rows >= 3:
		return []memoryRow{sum("parameters", all[:3]), sum("buffers", all[3:6]), all[6]}
	}
	return []memoryRow{sum("run", all)}
}

func (p *memory) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	w, h := c.Size()
	m := s.Memory
	gpu := "n/a: " + gpuReason(s)
	foot := 2
	if chart.Width(gpu) > w-gpuColumn && h >= 6 {
		foot = 3
	}
	rows := memoryRows(m, h-foot)
	most := int64(0)
	for _, r := range rows {
		most = max(most, r.bytes)
	}
	if most == 0 {
		rows = nil
		c.Text(0, 0, "no plan yet", theme.Faint)
	}
	const name, number = 11, 8
	for y, r := range rows {
		c.Text(0, y, r.name, theme.Plain)
		c.TextRight(name+number, y, byteSize(r.bytes), theme.Strong)
		if room := w - name - number - 1; room > 2 && most > 0 {
			c.Bar(name+number+1, y, room, float64(r.bytes)/float64(most)*float64(room), theme.Memory)
		}
	}
	y := max(1, h-foot)
	c.Text(0, y, "host", theme.Plain)
	switch {
	case m.Reason != "":
		c.Text(gpuColumn, y, chart.Cut("n/a: "+m.Reason, w-gpuColumn), theme.Faint)
	case m.RSS > 0:
		c.TextRight(name+number, y, byteSize(m.RSS), theme.Strong)
		if peak := "peak " + trim(byteSize(m.PeakRSS)); chart.Width(peak) <= w-name-number-1 {
			c.Text(name+number+1, y, peak, theme.Faint)
		}
	default:
		c.Text(gpuColumn, y, "not read yet", theme.Faint)
	}
	c.Text(0, y+1, "GPU", theme.Plain)
	wrapped(c, gpuColumn, y+1, h-y-1, gpu, theme.Faint)
	return "", theme.Faint
}

// gpuColumn is where the reasons begin that something cannot be read.
const gpuColumn = 5

// gpuReason is why no GPU memory is shown.
func gpuReason(s *profiles.Snapshot) string {
	switch {
	case s.Memory.GPUReason != "":
		return s.Memory.GPUReason
	case s.Run.GPUReason != "":
		return s.Run.GPUReason
	}
	return "not read yet"
}
