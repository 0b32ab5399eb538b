package pane

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/theme"
	"prismtop/tui/widget"
	"prismtop/tui/words"
)

// The pane of the GPUs' sensors: a table of several, and the lines about one.

// GPU specifies the pane of the sensors of the machine's GPUs and of the energy of an iteration.
var GPU = Spec{
	Name:   "gpu",
	Shape:  layout.Shape{Width: layout.Extent{Least: 36, Good: 44, Most: 64, Weight: 1}, Height: layout.Extent{Least: 6, Good: 12, Most: 15, Weight: 2}},
	Called: func(*profiles.RunInfo) string { return "GPU" },
	Lacks: func(s *profiles.Snapshot) (lacks bool, why string) {
		switch {
		case len(s.Sensors.GPUs) > 0:
			return false, ""
		case s.Sensors.Reason != "":
			return true, "none: " + s.Sensors.Reason
		}
		return true, ""
	},
	New: func(Host) Pane { return &gpus{Box: Box{Title: "GPU"}} },
}

// gpus shows the sensors of one GPU, above which those of all are listed if there are several.
type gpus struct {
	Box
	widget.List
	placed bool // the run's GPU was selected
}

// Cells returns the pane as it is on the screen.
func (p *gpus) Cells() *chart.Canvas { return p.Render(p.draw) }

// Update selects the run's GPU once it is known.
func (p *gpus) Update(s *profiles.Snapshot) {
	if at := s.Sensors.GPUOf(s.Memory.Device.Device); !p.placed && at >= 0 {
		p.placed = true
		p.Select(at, len(s.Sensors.GPUs))
	}
	p.Box.Update(s)
}

// Press selects a GPU.
func (p *gpus) Press(key string) bool {
	if p.Snap == nil || len(p.Snap.Sensors.GPUs) < 2 || !p.List.Move(key) {
		return false
	}
	p.Stale = true
	return true
}

// Hints returns the keys that select a GPU.
func (p *gpus) Hints() []Hint {
	if p.Snap == nil || len(p.Snap.Sensors.GPUs) < 2 {
		return nil
	}
	return []Hint{{"↑↓", "pick"}}
}

// Explain describes the sensors.
func (p *gpus) Explain() []string { return explanations.Of("gpu") }

// gpuIndex is the width of a GPU's number in the table with the mark before it, gpuLabel that of the names of the
// sensors, and gpuNumber that of the numbers of those with a bar.
const (
	gpuIndex  = 3
	gpuLabel  = 8
	gpuNumber = 8
)

func (p *gpus) draw(c *chart.Canvas, s *profiles.Snapshot) (string, theme.Style) {
	_, h := c.Size()
	n := len(s.Sensors.GPUs)
	if n == 0 {
		why := s.Sensors.Reason
		if why == "" {
			why = "not read" + words.Yet(s)
		}
		Message(c, why)
		return "", theme.Faint
	}
	y := 0
	if n > 1 {
		y = p.table(c, s, min(n, max(1, h-6)))
	} else {
		p.Fit(1, 1)
	}
	p.one(c, y, s, p.At)
	p.Aside(p.heading(s, p.At), theme.Faint)
	return p.Note("above", "below"), theme.Faint
}

// heading names a GPU and reports whether the run computes on it.
func (p *gpus) heading(s *profiles.Snapshot, at int) string {
	w, _ := p.Canvas.Size()
	name := strings.TrimPrefix(s.Sensors.GPUs[at].Name, "NVIDIA ")
	if s.Sensors.GPUOf(s.Memory.Device.Device) == at {
		return words.Fitting(w-14, fmt.Sprintf("%d · %s · of this run", at, name), fmt.Sprintf("%d · %s", at, name))
	}
	return words.Fitting(w-14, fmt.Sprintf("%d · %s · not used by this run", at, name),
		fmt.Sprintf("%d · %s", at, name))
}

// table writes a table of several GPUs with a number of rows, and returns the row after it.
func (p *gpus) table(c *chart.Canvas, s *profiles.Snapshot, rows int) int {
	x := gpuIndex
	for _, col := range gpuColumns {
		x += col.width + 1
		c.TextRight(x, 0, col.title, theme.Faint)
	}
	first, last := p.Fit(len(s.Sensors.GPUs), rows)
	for i := first; i < last; i++ {
		p.row(c, 1+i-first, i, s)
	}
	return rows + 1
}

// gpuColumns are the columns of the table of several GPUs.
var gpuColumns = []struct {
	title string
	width int
	cell  func(g *machine.GPUSensors) string
}{
	{"util", 5, func(g *machine.GPUSensors) string { return gpuShare(g.Utilisation) }},
	{"memory", 8, func(g *machine.GPUSensors) string { return gpuBytes(g.InUse()) }},
	{"W", 4, func(g *machine.GPUSensors) string { return gpuWhole(g.Power) }},
	{"°C", 3, func(g *machine.GPUSensors) string { return gpuWhole(g.Temperature) }},
	{"MHz", 4, func(g *machine.GPUSensors) string { return gpuWhole(g.SMClock) }},
}

func (p *gpus) row(c *chart.Canvas, y, at int, s *profiles.Snapshot) {
	if at == p.At {
		c.Set(0, y, '▸', theme.Focus)
	}
	c.TextRight(gpuIndex, y, strconv.Itoa(at), theme.Strong)
	x := gpuIndex
	for _, col := range gpuColumns {
		x += col.width + 1
		c.TextRight(x, y, col.cell(&s.Sensors.GPUs[at]), theme.Plain)
	}
}

func gpuShare(g machine.Gauge) string { return numberOr(g, "%.0f %%", 100) }
func gpuWhole(g machine.Gauge) string { return numberOr(g, "%.0f", 1) }

func gpuBytes(g machine.Gauge) string {
	if !g.Known {
		return "–"
	}
	return unit.Size(int64(g.Value))
}

// numberOr formats a scaled number; a dash if it is missing.
func numberOr(g machine.Gauge, format string, scale float64) string {
	if !g.Known {
		return "–"
	}
	return fmt.Sprintf(format, g.Value*scale)
}

// gpuLine is a line about a GPU.
type gpuLine struct {
	name   string
	number string        // of a line with a bar
	share  machine.Gauge // of the bar
	text   string
	style  theme.Style
}

// one writes the sensors of a GPU from row y on, as many as there is room for.
func (p *gpus) one(c *chart.Canvas, y int, s *profiles.Snapshot, at int) {
	w, h := c.Size()
	lines := gpuLines(s, at, w-gpuLabel-1)
	for _, l := range lines[:max(0, min(len(lines), h-y))] {
		c.Text(0, y, l.name, theme.Plain)
		x := gpuLabel + 1
		switch {
		case l.number != "":
			c.TextRight(x+gpuNumber, y, l.number, theme.Strong)
			x += gpuNumber + 1
			room := w - x - chart.Width(l.text) - 1
			if l.share.Known && room >= 4 {
				c.Bar(x, y, room, min(max(l.share.Value, 0), 1)*float64(room), theme.Memory)
			}
			if x+chart.Width(l.text) <= w {
				c.TextRight(w, y, l.text, theme.Faint)
			}
		default:
			c.Text(x, y, chart.Cut(l.text, w-x), l.style)
		}
		y++
	}
}

// gpuLines returns the lines about a GPU, the most important first, with texts of at most w cells where that can be.
func gpuLines(s *profiles.Snapshot, at, w int) []gpuLine {
	g := &s.Sensors.GPUs[at]
	mine := s.Sensors.GPUOf(s.Memory.Device.Device) == at
	energy, processors := gpuEnergy(s, at, mine, w), energyLine("CPU", "RAPL", s.Sensors.EnergyOf(-1), w)
	if !mine {
		energy, processors = processors, energy
	}
	held := gpuLine{name: "held by", text: words.Throttle(g)}
	switch {
	case g.ThrottleReason != "":
		held.text, held.style = "n/a: "+g.ThrottleReason, theme.Faint
	case gpuSlowed(g):
		held.style = theme.Warn
	}
	used := g.InUse()
	return []gpuLine{
		barLine("util", gpuShare(g.Utilisation), g.Utilisation, "", g.Utilisation),
		barLine("memory", gpuBytes(used), used, " of "+gpuBytes(g.MemoryTotal), ratio(used, g.MemoryTotal)),
		barLine("power", gpuWhole(g.Power)+" W", g.Power, " of "+gpuWhole(g.PowerLimit)+" W", ratio(g.Power, g.PowerLimit)),
		energy, gpuClocks(g, w), held, textLine("heat", heat(g), g.Temperature), gpuTraffic(g, w),
		barLine("traffic", gpuShare(g.MemoryUtilisation), g.MemoryUtilisation, "", g.MemoryUtilisation),
		processors,
	}
}

// gpuEnergy is the line of a GPU's energy: of an iteration, if the run computes on it.
func gpuEnergy(s *profiles.Snapshot, at int, mine bool, w int) gpuLine {
	e := s.Sensors.EnergyOf(at)
	if !mine && e.Run.Known {
		during := words.Joules(e.Run.Value) + " during this run"
		return gpuLine{name: "energy", text: words.FittingOrLast(w, during+", which does not use it", during)}
	}
	return energyLine("energy", "NVML", e, w)
}

func gpuClocks(g *machine.GPUSensors, w int) gpuLine {
	var parts []string
	if g.SMClock.Known {
		sm := "SM " + gpuWhole(g.SMClock)
		if g.MaxSMClock.Known {
			sm += "/" + gpuWhole(g.MaxSMClock)
		}
		parts = append(parts, sm)
	}
	if g.MemoryClock.Known {
		parts = append(parts, "memory "+gpuWhole(g.MemoryClock))
	}
	if g.GraphicsClock.Known && g.GraphicsClock != g.SMClock {
		parts = append(parts, "graphics "+gpuWhole(g.GraphicsClock))
	}
	for len(parts) > 1 && chart.Width(strings.Join(parts, ", "))+4 > w {
		parts = parts[:len(parts)-1]
	}
	return textLine("clocks", strings.Join(parts, ", ")+" MHz", firstKnown(g.SMClock, g.MemoryClock, g.GraphicsClock))
}

func gpuTraffic(g *machine.GPUSensors, w int) gpuLine {
	in, out := words.Gauge(g.Received, words.Traffic), words.Gauge(g.Sent, words.Traffic)
	text := fmt.Sprintf("in %s, out %s", in, out)
	link := fmt.Sprintf("gen %s x%s", gpuWhole(g.LinkGeneration), gpuWhole(g.LinkWidth))
	switch {
	case chart.Width(text) > w:
		text = "↓ " + in + " ↑ " + out
	case chart.Width(text)+3+chart.Width(link) <= w && g.LinkGeneration.Known && g.LinkWidth.Known:
		text += " · " + link
	}
	return textLine("PCIe", text, firstKnown(g.Received, g.Sent))
}

// firstKnown returns the first number that is known, else the first.
func firstKnown(all ...machine.Gauge) machine.Gauge {
	for _, g := range all {
		if g.Known {
			return g
		}
	}
	return all[0]
}

// textLine is a line of text about a number, or the reason why there is none.
func textLine(name, text string, g machine.Gauge) gpuLine {
	if !g.Known {
		return gpuLine{name: name, text: "n/a: " + g.Reason, style: theme.Faint}
	}
	return gpuLine{name: name, text: text}
}

// gpuSlowed reports whether a GPU is slower than it could be with work to do.
func gpuSlowed(g *machine.GPUSensors) bool {
	for _, reason := range g.Throttle {
		if reason != "idle" && reason != "application clocks" && reason != "display clocks" {
			return true
		}
	}
	return false
}

func heat(g *machine.GPUSensors) string {
	text := fmt.Sprintf("%.0f °C", g.Temperature.Value)
	if g.Fan.Known {
		text += fmt.Sprintf(", fan %.0f %%", 100*g.Fan.Value)
	}
	return text
}

// barLine is a line of a number with a bar, or the reason why there is none.
func barLine(name, number string, g machine.Gauge, text string, share machine.Gauge) gpuLine {
	if !g.Known {
		return gpuLine{name: name, text: "n/a: " + g.Reason, style: theme.Faint}
	}
	if !share.Known {
		text = ""
	}
	return gpuLine{name: name, number: number, share: share, text: text}
}

// energyLine is a line of the energy of an iteration.
func energyLine(name, source string, e profiles.EnergyView, w int) gpuLine {
	text, reason := words.PerIteration(&e)
	if text == "" {
		return gpuLine{name: name, text: "n/a: " + reason, style: theme.Faint}
	}
	text += " (" + source + ")"
	short := words.Joules(e.PerIteration.Value) + "/it (" + source + ")"
	return gpuLine{name: name, text: words.FittingOrLast(w, text+", "+words.Joules(e.Run.Value)+" in all", text, short)}
}

// ratio returns one number over another.
func ratio(a, b machine.Gauge) machine.Gauge {
	if !a.Known || !b.Known || !(b.Value > 0) || math.IsNaN(a.Value) {
		return machine.Gauge{}
	}
	return machine.Reading(a.Value / b.Value)
}
