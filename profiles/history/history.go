// Package history keeps what benchmarks measured, one line of JSON for each, and judges a new measurement
// by those before it on the same machine.
package history

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// Schema is the version of an entry's form.
const Schema = 1

// Entry is one measurement of one piece of work.
type Entry struct {
	Schema   int               `json:"schema"`
	Time     string            `json:"time"` // RFC 3339, when it began
	Work     string            `json:"work"` // what was measured: the name of a benchmark
	Preset   string            `json:"preset"`
	Settings map[string]string `json:"settings"`
	Build    Build             `json:"build"`
	Machine  Machine           `json:"machine"`
	Kernels  string            `json:"kernels,omitempty"` // in use; empty in histories of earlier builds
	Threads  int               `json:"threads,omitempty"` // in use; 0 in histories of earlier builds
	By       string            `json:"by,omitempty"`      // user and host that stored it as a reference; empty in a history
	Foreign  *float64          `json:"foreign_cpu"`       // share of the processors that other programs took, 0 to 1; null if unknown
	Figures  []Figure          `json:"figures"`
	Note     string            `json:"note,omitempty"` // the user's
}

// Build identifies a program.
type Build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`   // empty if the build does not know it
	Modified bool   `json:"modified,omitempty"` // the commit with changes
	Program  string `json:"program"`            // start of the SHA-256 of the executable; empty if it cannot be read
	Go       string `json:"go"`
}

// Same reports whether two builds are the same program.
func (b Build) Same(other Build) bool {
	if b.Program != "" && other.Program != "" {
		return b.Program == other.Program
	}
	return b.Commit != "" && !b.Modified && b.Commit == other.Commit && !other.Modified && b.Version == other.Version
}

// String formats a build: "0.2.0 (3f6b27a, modified)", or "0.2.0 (program 91c2f04)" without a commit.
func (b Build) String() string {
	switch {
	case b.Commit == "" && b.Program == "":
		return b.Version
	case b.Commit == "":
		return fmt.Sprintf("%s (program %.7s)", b.Version, b.Program)
	}
	modified := ""
	if b.Modified {
		modified = ", modified"
	}
	return fmt.Sprintf("%s (%.7s%s)", b.Version, b.Commit, modified)
}

// Machine identifies a machine by what decides its speed and what does not change from day to day.
type Machine struct {
	CPU        string `json:"cpu"`
	Processors int    `json:"processors"` // available to the process
	System     string `json:"system"`
	Memory     int64  `json:"memory_bytes"`  // 0 if unknown
	GPU        string `json:"gpu,omitempty"` // model of the one that computed; empty for the processor
}

// MachineOf returns the machine of a processor's model.
func MachineOf(cpu string) Machine {
	return Machine{CPU: cpu, Processors: machine.Processors(), System: runtime.GOOS + "/" + runtime.GOARCH,
		Memory: machine.ReadMemory().Total}
}

// Same reports whether two machines are alike. Their memory may differ by a sixteenth, since kernels keep
// varying parts of it for themselves.
func (m Machine) Same(other Machine) bool {
	less, more := min(m.Memory, other.Memory), max(m.Memory, other.Memory)
	return m.CPU == other.CPU && m.GPU == other.GPU && m.Processors == other.Processors && m.System == other.System &&
		(less == 0 || more-less <= more/16)
}

// Host returns the machine without the GPU that computed.
func (m Machine) Host() Machine {
	m.GPU = ""
	return m
}

// String formats a machine.
func (m Machine) String() string {
	text := fmt.Sprintf("%s, %s, %s", m.CPU, unit.Plural(m.Processors, "processor", "processors"), m.System)
	if m.Memory > 0 {
		text += ", " + unit.Size(m.Memory)
	}
	if m.GPU != "" {
		text += "; " + m.GPU
	}
	return text
}

// ID returns a short name of a machine.
func (m Machine) ID() string {
	id := fmt.Appendf(nil, "%s\x00%d\x00%s", m.CPU, m.Processors, m.System)
	if m.GPU != "" {
		id = fmt.Appendf(id, "\x00%s", m.GPU)
	}
	sum := sha256.Sum256(id)
	return hex.EncodeToString(sum[:3])
}

// Figure is a measured number. Its range is the 10th and 90th percentile, or the interval of a ratio;
// null where there is neither.
type Figure struct {
	Name  string   `json:"name"`
	Unit  string   `json:"unit"`
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	N     int      `json:"n"` // measurements that it is the median of
}

// The names of figures. The first four are the columns of PRISM's table.
const (
	Forward    = "forward pass"
	Memory     = "memory"
	Iteration  = "training iteration"
	Experiment = "experiment of ten samples"
	Total      = "whole run"
	Speedup    = "speed-up"
	PSNR       = "PSNR"
)

// SettingsOf returns the settings of a measurement, without those that only end it.
func SettingsOf(v settings.Values) map[string]string {
	all := map[string]string{}
	for _, k := range v.Keys() {
		all[k.Name] = v.Get(k.Name)
	}
	delete(all, settings.MaxIterations)
	delete(all, settings.MaxSeconds)
	return all
}

// Find returns an entry's figure of a name; nil if it has none.
func (e *Entry) Find(name string) *Figure {
	for i := range e.Figures {
		if e.Figures[i].Name == name {
			return &e.Figures[i]
		}
	}
	return nil
}

// Began returns when the entry was measured.
func (e *Entry) Began() time.Time {
	t, _ := time.Parse(time.RFC3339, e.Time) // checked when it was read
	return t
}

// SameWork reports whether two entries measured the same work: their settings are equal, those that only
// one of the two builds has aside.
func (e *Entry) SameWork(other *Entry) bool {
	if e.Work != other.Work || e.Preset != other.Preset {
		return false
	}
	for key, value := range e.Settings {
		if v, has := other.Settings[key]; has && v != value {
			return false
		}
	}
	return true
}
