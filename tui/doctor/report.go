package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
)

// WriteJSON writes the facts as one JSON object.
func (f Facts) WriteJSON(w io.Writer) error {
	document, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(visible.JSON(document), '\n'))
	return err
}

// WriteText writes the facts as text, one per line.
func (f Facts) WriteText(w io.Writer) error {
	var p page
	p.line("prismtop", "%s · %s · %s", f.Program.Version, f.Program.Go, f.Program.System)
	p.cpu(f.CPU)
	p.engine(f.Engine)
	p.memory(f.Memory)
	p.gpu(f.GPU)
	p.generations(f.Engine.Models)
	p.setup(f.Engine.Setup)
	p.gpuCheck(f.GPUCheck)
	p.sensors(f.Sensors)
	p.terminal(f.Terminal)
	_, err := io.WriteString(w, p.String())
	return err
}

// page is a list of labelled lines.
type page struct{ strings.Builder }

// line adds a line; an empty label continues the one above.
func (p *page) line(label, format string, args ...any) {
	fmt.Fprintf(p, "%-10s %s\n", label, visible.Text(fmt.Sprintf(format, args...)))
}

func (p *page) cpu(c machine.CPU) {
	model := c.Model
	if model == "" {
		model = "model unknown: " + c.Reason
	}
	p.line("cpu", "%s · %s · %d logical", model, c.Arch, c.Logical)
	if len(c.Features) > 0 {
		p.line("", "%s", strings.Join(c.Features, " "))
	}
}

func (p *page) engine(e Engine) {
	p.line("kernels", "%s on %s", e.Kernels, unit.Plural(e.Threads, "thread", "threads"))
	for _, s := range e.Faster {
		switch {
		case s.Name == e.Kernels:
		case s.Available:
			p.line("", "%s: available, not in use; kernels = %s takes it at the start of a run", s.Name, s.Name)
		default:
			p.line("", "%s: no, %s", s.Name, s.Reason)
		}
	}
	for i, l := range e.Roofs.Levels {
		if i == 0 {
			p.line("roofs", "%.0f GFLOP/s on registers, measured %s", e.Roofs.GFLOPS,
				e.Roofs.Measured.Format("2006-01-02"))
		}
		p.line("", "%s: %.0f GB/s read, %.0f GB/s updated", unit.Limit(l.Bytes), l.Read, l.Update)
	}
	if e.Roofs.BF16 > 0 {
		ratio := e.Roofs.BF16 / e.Roofs.GFLOPS
		says := gain(ratio)
		if e.Roofs.Note != "" { // it may say that this is doubtful
			says = fmt.Sprintf("%.2f of float32's", ratio)
		}
		p.line("", "%.0f GFLOP/s of bf16 dot products on registers: %s", e.Roofs.BF16, says)
	}
	if e.Roofs.Note != "" {
		p.line("", "%s", e.Roofs.Note)
	}
	for i, m := range e.AMP {
		label := ""
		if i == 0 {
			label = "amp"
		}
		p.line(label, "%s: %s", m.Name, m.Note)
	}
	p.advice(e.Advice)
}

// setup writes what to set on this machine.
func (p *page) setup(advice []string) {
	for i, text := range advice {
		label := ""
		if i == 0 {
			label = "setup"
		}
		p.line(label, "%s", text)
	}
}

// gain says what kernels with dot products of bfloat16 could gain over those of float32.
func gain(ratio float64) string {
	switch {
	case ratio < 1.2:
		return fmt.Sprintf("%.2f of float32's, so avx512-bf16 gains nothing", ratio)
	case ratio < 1.5: // less than what auto asks for
		return fmt.Sprintf("%.2f times float32's, too little for auto to take avx512-bf16", ratio)
	}
	return fmt.Sprintf("%.2f times float32's, for which auto takes avx512-bf16", ratio)
}

// advice quotes the benchmark of mixed precision, by the day of the measurement.
func (p *page) advice(found Advice) {
	heading := ""
	for _, a := range found.Found {
		if h := fmt.Sprintf("measured on this machine on %s by prismtop %s:",
			a.Measured.Local().Format(time.DateOnly), a.Version); h != heading {
			heading = h
			p.line("", "%s", h)
		}
		p.line("", "  %s", a.Sentence)
	}
	if found.Reason != "" {
		p.line("", "%s", found.Reason)
	}
}

func (p *page) memory(m machine.Memory) {
	var parts []string
	if m.Total > 0 {
		parts = append(parts, unit.Size(m.Total)+" in all")
	}
	if m.Available > 0 {
		parts = append(parts, unit.Size(m.Available)+" available")
	}
	if m.Limit > 0 {
		parts = append(parts, strings.TrimSpace("control group "+visible.Text(m.Group))+" allows "+unit.Size(m.Limit))
	}
	if m.Reason != "" {
		parts = append(parts, m.Reason)
	}
	p.line("memory", "%s", strings.Join(parts, " · "))
}

func (p *page) gpu(g machine.GPU) {
	if g.Usable {
		p.line("gpu", "usable by device = auto and cuda")
	} else {
		p.line("gpu", "not used: %s", g.Reason)
	}
	if g.CUDA != "" {
		driver := g.Driver
		if driver == "" {
			driver = "of unknown version"
		}
		p.line("", "driver %s, CUDA %s", driver, g.CUDA)
	}
	for _, d := range g.Devices {
		free := unit.Size(d.FreeBytes) + " free"
		if d.FreeReason != "" {
			free = "free memory unknown: " + d.FreeReason
		}
		p.line("", "%s · compute capability %s · %s for programs · %s", d.Name, d.Capability, unit.Size(d.TotalBytes),
			free)
		if g.Usable && d.Reason != "" {
			p.line("", "  not used: %s", d.Reason)
		}
	}
}

// sensors writes a line for each sensor, or for the reason why there are none.
func (p *page) sensors(s Sensors) {
	if len(s.GPUs) == 0 {
		p.line("sensors", "of GPUs: none, %s", s.Reason)
	}
	for i, g := range s.GPUs {
		label := ""
		if i == 0 {
			label = "sensors"
		}
		p.line(label, "GPU %d, %s", i, g.Name)
		for _, sensor := range g.Sensors {
			switch {
			case sensor.Value == "":
				p.line("", "  %s: n/a, %s", sensor.Name, sensor.Reason)
			case sensor.Reason != "":
				p.line("", "  %s: %s (the rest n/a, %s)", sensor.Name, sensor.Value, sensor.Reason)
			default:
				p.line("", "  %s: %s", sensor.Name, sensor.Value)
			}
		}
	}
	if s.EnergyReason != "" {
		p.line("", "energy of the processors: n/a, %s", s.EnergyReason)
	} else {
		p.line("", "energy of the processors: counted by RAPL")
	}
}

func (p *page) terminal(t Terminal) {
	if t.Interactive {
		p.line("terminal", "%s · %dx%d", orNone(t.Term), t.Width, t.Height)
	} else {
		p.line("terminal", "%s", t.Reason)
	}
	p.line("", "TERM %s · COLORTERM %s · NO_COLOR %s", orNone(t.Term), orNone(t.ColorTerm), yes(t.NoColor))
	p.line("", "colours: %s · UTF-8: %s (%s)", t.Colors, yes(t.UTF8), t.Locale)
	if t.Interactive {
		p.line("", "pictures: %s%s", t.Pictures, t.better())
	}
	p.line("", "over SSH: %s · multiplexer: %s · program: %s", yes(t.SSH), orNone(t.Multiplexer), orNone(t.Program))
	if t.Synchronized == nil {
		p.line("", "synchronized output: unknown, %s", t.SynchronizedReason)
	} else {
		p.line("", "synchronized output: %s", yes(*t.Synchronized))
	}
	for _, a := range t.Advice {
		p.line("", "advice: %s", a)
	}
}

// better describes how pictures may be drawn once the terminal has answered.
func (t Terminal) better() string {
	switch t.Colors {
	case "truecolor":
		return "; Kitty's graphics where the terminal answers that it has them"
	case "256":
		return "; 24-bit colours or Kitty's graphics where the terminal answers that it has them"
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "not set"
	}
	return s
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
