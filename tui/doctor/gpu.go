package doctor

import (
	"fmt"
	"strings"

	"prismtop/profiles/unit"
)

// GPUCheck is what doctor --gpu found: whether a GPU computes what the processor computes, and how fast it is.
type GPUCheck struct {
	OK     bool   `json:"ok"`
	Reason string `json:"reason,omitempty"` // why it is not OK, or could not be checked

	Device       string       `json:"device,omitempty"`     // its name
	Capability   string       `json:"capability,omitempty"` // compute capability, "9.0"
	Kernels      string       `json:"kernels,omitempty"`    // set of PTX in use
	Multi        int          `json:"multiprocessors,omitempty"`
	Context      float64      `json:"context_ms,omitempty"` // to make the context
	Modules      []GPUModule  `json:"modules"`
	EagerLaunch  float64      `json:"eager_launch_us,omitempty"` // of a kernel enqueued by itself
	GraphLaunch  float64      `json:"graph_launch_us,omitempty"` // of one in a graph; left out without graphs
	Roofs        []GPURoof    `json:"roofs"`
	TotalBytes   int64        `json:"total_bytes,omitempty"` // without the memory that the driver reserves
	FreeBytes    int64        `json:"free_bytes,omitempty"`  // beside the context and the kernels
	L2Bytes      int64        `json:"l2_bytes,omitempty"`
	Operators    []GPUCompare `json:"operators"`
	Trainings    []GPUCompare `json:"trainings"`
	Remarks      []string     `json:"remarks,omitempty"` // such as why no graphs are used
	NotMeasured  string       `json:"not_measured_reason,omitempty"`
	NotCompared  string       `json:"not_compared_reason,omitempty"`
	ComparedWith string       `json:"compared_with,omitempty"` // the processor's kernels
}

// GPUModule is a file of kernels.
type GPUModule struct {
	Name    string  `json:"name"`
	Kernels int     `json:"kernels"`
	Compile float64 `json:"compile_ms"` // by the driver, without its cache
}

// GPURoof is the most that the device does of something.
type GPURoof struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// GPUCompare is an operator, or a whole training, in a mode of mixed precision, compared with the processor's.
type GPUCompare struct {
	Name  string  `json:"name"`
	Mode  string  `json:"mode"`
	Count int     `json:"count"` // steps of different shapes; iterations
	Worst float64 `json:"worst"` // largest relative difference; -1 if something failed
	Limit float64 `json:"limit"`
	At    string  `json:"at,omitempty"` // the step of Worst
	OK    bool    `json:"ok"`
	Error string  `json:"error,omitempty"`
}

// gpuCheck writes what was found.
func (p *page) gpuCheck(c *GPUCheck) {
	if c == nil {
		return
	}
	if c.Device == "" {
		p.line("gpu check", "not done: %s", c.Reason)
		return
	}
	p.line("gpu check", "%s · compute capability %s · kernels %s · %d multiprocessors", c.Device, c.Capability,
		c.Kernels, c.Multi)
	if c.NotMeasured != "" {
		p.line("", "not measured: %s", c.NotMeasured)
	} else {
		p.gpuMeasured(c)
	}
	for _, r := range c.Remarks {
		p.line("", "%s", r)
	}
	if c.NotCompared != "" {
		p.line("", "not compared: %s", c.NotCompared)
	}
	if len(c.Operators) > 0 {
		p.line("", "operators, compared with %s:", c.ComparedWith)
	}
	for i := range c.Operators {
		p.compared(&c.Operators[i], "shape", "shapes")
	}
	if len(c.Trainings) > 0 {
		p.line("", "losses of trainings:")
	}
	for i := range c.Trainings {
		p.compared(&c.Trainings[i], "iteration", "iterations")
	}
	if c.OK {
		p.line("", "all is well")
	} else {
		p.line("", "NOT well: %s", c.Reason)
	}
}

// gpuMeasured writes the measurements.
func (p *page) gpuMeasured(c *GPUCheck) {
	total := 0.0
	parts := make([]string, len(c.Modules))
	for i, m := range c.Modules {
		total += m.Compile
		parts[i] = fmt.Sprintf("%s %.0f", m.Name, m.Compile)
	}
	p.line("", "context %.0f ms · kernels compiled in %.0f ms, kept by the driver from then on: %s", c.Context, total,
		strings.Join(parts, ", "))
	launch := fmt.Sprintf("a launch takes %.2f µs", c.EagerLaunch)
	if c.GraphLaunch > 0 {
		launch += fmt.Sprintf(", %.2f µs in a graph", c.GraphLaunch)
	}
	p.line("", "%s", launch)
	for i, r := range c.Roofs {
		parts := fmt.Sprintf("%s %.0f %s", r.Name, r.Value, r.Unit)
		if r.Value < 100 {
			parts = fmt.Sprintf("%s %.1f %s", r.Name, r.Value, r.Unit)
		}
		if i == 0 {
			p.line("", "roofs: %s", parts)
		} else {
			p.line("", "       %s", parts)
		}
	}
	p.line("", "memory: %s for programs, %s free beside the kernels, L2 cache %s", unit.Size(c.TotalBytes),
		unit.Size(c.FreeBytes), unit.Limit(c.L2Bytes))
}

// compared writes one comparison.
func (p *page) compared(c *GPUCompare, one, many string) {
	verdict := "ok"
	if !c.OK {
		verdict = "WRONG"
	}
	if c.Error != "" {
		p.line("", "  %-26s %-7s FAILED: %s", c.Name, c.Mode, c.Error)
		return
	}
	at := ""
	if c.At != "" {
		at = ", " + c.At
	}
	p.line("", "  %-26s %-7s %s, off by %.1e of at most %.0e%s: %s", c.Name, c.Mode, unit.Plural(c.Count, one, many),
		c.Worst, c.Limit, at, verdict)
}
