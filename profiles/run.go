package profiles

import (
	"strings"
	"time"

	"prismtop/profiles/settings"
)

// What does not change during a run: its description, cautions about settings, its sampling, and its units.

// RunInfo holds everything that does not change during a run.
type RunInfo struct {
	Schema      Schema
	Object      string // its input: "moon", or a file's name
	Device      string // "cpu", "cuda": that of the start, or to which the run moved since (Moved)
	Kernels     string // "go", "avx2", "avx512", "avx512-bf16", "amx"
	Card        string // model of the GPU in use; empty for none
	GPUReason   string // why no GPU can be used, or why auto did not use one; empty without a reason
	Failed      string // the failure of a device after which the run moved to this one; empty for none
	Parameters  int    // trainable numbers of the model
	Seed        uint64
	Units       int // units of work in one pass
	Passes      int // number of passes over the units; 0 counts as 1
	Notes       []string
	Caveat      Caution // why what it draws is no result; zero if it is one
	Cautions    []Caution
	PriorStarts int   // restarts of this run so far
	Ranks       int   // processes that train together; 0 or 1 for one alone
	Traced      bool  // it was read from a profiler's trace, which is short
	Prints      bool  // it is that of another program, which prints: see Output
	GoesOn      bool  // it is that of another program, which goes on without it
	Able        Kinds // the commands that it carries out
	Resumed     int64 // iterations before the checkpoint from which it goes on; 0 for a new run
	Needs       int64 // bytes that it comes to hold, by its plans with full caches; 0 if that is not known
	Most        int64 // iterations at most under the settings of its start; 0 if that is not known
	Available   int64 // bytes of memory that were available at its start; 0 if that is not known

	Ran time.Duration // running time of the parts before the checkpoint from which it goes on; 0 if it is not known

	Checkpoint     string // file to which it writes its checkpoints; empty for none
	NextCheckpoint string // file to which a restart writes them

	Sampling *Sampling // of k-space; nil if the workload does not sample it
}

// Move takes over the device of a run that moved.
func (r *RunInfo) Move(m *Moved) {
	r.Device, r.Kernels, r.Card, r.Cautions, r.Failed = m.Device, m.Kernels, m.Card, m.Cautions, m.Failed
}

// Caution says what limits a value of a setting on this machine or under other settings, or the result of a run.
type Caution struct {
	When        // this value of this setting; any value if Value is empty
	Under  When // and another setting has this value, or any if its Value is empty; always if zero
	Text   string
	Remedy string // what ends it, if anything does

	// Unavailable is true of a value that the run refuses for this reason.
	Unavailable bool
}

// CautionsAbout returns what limits a value of a setting under the others.
func (r *RunInfo) CautionsAbout(key, value string, v settings.Values) (all []string) {
	for i := range r.Cautions {
		if c := &r.Cautions[i]; c.about(key, value, v) {
			all = append(all, c.Text)
		}
	}
	return all
}

// Unavailable returns why the run refuses a value of a setting under the others; "" if it is not known to.
func (r *RunInfo) Unavailable(key, value string, v settings.Values) string {
	if key == settings.Device && strings.HasPrefix(value, "cuda") {
		return r.GPUReason
	}
	for i := range r.Cautions {
		if c := &r.Cautions[i]; c.Unavailable && c.about(key, value, v) {
			return c.Text
		}
	}
	return ""
}

// about reports whether a caution holds for a value of a setting under the others.
func (c *Caution) about(key, value string, v settings.Values) bool {
	under := c.Under.Holds(v)
	if c.Under.Setting != "" && c.Under.Value == "" {
		under = v.Get(c.Under.Setting) != ""
	}
	return c.Setting == key && (c.Value == "" || c.Value == value) && under
}

// Sampling is the pattern in which a telescope samples k-space, a sample for each unit
// of work.
type Sampling struct {
	Size       int          // N: side of the field, pixels
	ObjectSize int          // S: side of the object's window, pixels
	Centres    [][2]float64 // of apertures [y, x], pixels from DC; PerSample of them each
	PerSample  int
	Radius     float64 // of an aperture, pixels
}

// KSpace returns how the run samples k-space; the zero value if it does not.
func (r *RunInfo) KSpace() Sampling {
	if r.Sampling == nil {
		return Sampling{}
	}
	return *r.Sampling
}

// AllUnits returns the number of units of all passes, as counted by
// Iteration.Unit.
func (r *RunInfo) AllUnits() int { return r.Units * max(r.Passes, 1) }

// Place returns the position of a unit within its pass, and the pass, both from
// 0. A negative unit, before the first, has place −1.
func (r *RunInfo) Place(unit int) (place, pass int) {
	if unit < 0 || r.Units <= 0 {
		return unit, 0
	}
	return unit % r.Units, unit / r.Units
}
