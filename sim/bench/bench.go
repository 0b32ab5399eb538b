// Package bench measures without a screen: iterations of the trainer's own loop on
// the real object, or the decoder's forward pass alone, with the share of the
// processor that other programs used meanwhile, so that a reader can judge the
// numbers.
package bench

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// Options configures the measurement.
type Options struct {
	Maker    prism.Maker
	Settings prism.Settings

	// Forward measures the decoder's forward pass with running statistics and
	// without training, instead of iterations.
	Forward bool

	// Warmup is the number of iterations of the measured sample, or of forward
	// passes, that are run before the measurement.
	Warmup int

	// Iterations and Time bound the measurement, whichever is reached first. 0
	// means no bound; one of the two is required.
	Iterations int
	Time       time.Duration

	// MaxForeign is the share of the machine's processors, 0 to 1, that other
	// programs may use during a batch (half a second) before it is measured again.
	// The bounds are then extended, up to four times. 0 keeps every batch.
	MaxForeign float64
}

// batch is the time between two readings of the machine's times: at the usual 100
// ticks per second it resolves a share of about a hundredth per processor.
const batch = 500 * time.Millisecond

// patience is how many times the bounds are extended to wait for quiet batches.
const patience = 4

// Report is the result of a measurement.
type Report struct {
	Options Options
	Run     profiles.RunInfo
	Threads int
	Memory  profiles.Memory

	// PeakRSS is the process's largest resident memory in bytes; 0 if unknown,
	// for the reason in RSSReason.
	PeakRSS   int64
	RSSReason string

	// Total and Phases are nanoseconds of each iteration, in the order in which they
	// ran; quiet batches only, if Clean. A phase that did not run has none.
	Total  []int64
	Phases [profiles.MaxPhases][]int64
	Steps  []StepTimes

	// Sample is the trained sample, 0-based, after one iteration on each earlier
	// one; −1 for the forward pass.
	Sample int
	Warmup int // iterations of the sample that were not measured

	Kind   profiles.Kind
	Series profiles.Values // of the last iteration; NaN for the forward pass
	Caches [profiles.MaxCaches]profiles.CacheCounters

	Started time.Time
	Elapsed time.Duration // of the measurement, including dropped batches

	// Foreign is the share of the machine's processors that other programs used
	// during the reported iterations; ForeignReason is the reason if it is
	// unknown.
	Foreign       float64
	ForeignReason string
	Dropped       int  // batches disturbed by other programs
	Clean         bool // the numbers are from undisturbed batches only
}

// StepTimes is one step of the plan and its times.
type StepTimes struct {
	Name   string
	Kernel string
	Phase  profiles.Phase
	FLOPs  int64   // additions and multiplications
	Bytes  int64   // read and written at least once
	Nanos  []int64 // of each iteration
}

// Run runs the measurement. It returns an error if the settings are invalid or if
// ctx ends first.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Iterations <= 0 && o.Time <= 0 {
		return nil, fmt.Errorf("bench: neither a number of iterations nor a time bounds the measurement")
	}
	if err := o.Settings.Validate(); err != nil {
		return nil, err
	}
	if err := o.Maker.Check(o.Settings.Values(), settings.Device); err != nil {
		return nil, err
	}
	m := &measurement{ctx: ctx, report: &Report{Options: o, Sample: -1, Series: profiles.NoValues()}}
	measure := m.train
	if o.Forward {
		measure = m.forward
	}
	if err := measure(o.Maker); err != nil {
		return nil, err
	}
	r := m.report
	r.PeakRSS, r.RSSReason = peakResident()
	return r, nil
}

// measurement collects iterations batch by batch.
type measurement struct {
	ctx    context.Context
	report *Report
	kept   rows // of quiet batches
	noisy  rows
	steps  int // of the plan
}

// row is one iteration.
type row struct {
	total  int64
	phases [profiles.MaxPhases]int64
	steps  []int64
}

// rows are iterations with the load of the machine meanwhile.
type rows struct {
	list []row
	load machine.Load
}

// run calls once, which fills in a row, until the bounds are reached.
func (m *measurement) run(once func(*row) error) error {
	runtime.GC() // discard garbage left by the preparation
	start := time.Now()
	m.report.Started = start
	for !m.enough(time.Since(start)) {
		var current rows
		before := machine.ReadLoad()
		for began := time.Now(); time.Since(began) < batch && !m.full(len(current.list)); {
			r := row{steps: make([]int64, m.steps)}
			if err := once(&r); err != nil {
				return err
			}
			current.list = append(current.list, r)
			if m.ctx.Err() != nil {
				return m.ctx.Err()
			}
		}
		current.load = machine.ReadLoad().Since(before)
		m.report.ForeignReason = current.load.Reason
		m.sort(current)
	}
	m.report.Elapsed = time.Since(start)
	m.finish()
	return nil
}

// sort adds a batch to the quiet or the noisy ones.
func (m *measurement) sort(b rows) {
	to := &m.kept
	if limit := m.report.Options.MaxForeign; b.load.Reason == "" && limit > 0 && b.load.Foreign() > limit {
		to = &m.noisy
		m.report.Dropped++
	}
	to.list = append(to.list, b.list...)
	to.load.Add(b.load)
}

// full reports whether the kept iterations plus the given number reach the
// requested number.
func (m *measurement) full(more int) bool {
	n := m.report.Options.Iterations
	return n > 0 && len(m.kept.list)+more >= n
}

// enough reports whether the measurement is over.
func (m *measurement) enough(spent time.Duration) bool {
	o := &m.report.Options
	tried := len(m.kept.list) + len(m.noisy.list)
	if m.full(0) || o.Iterations > 0 && tried >= patience*o.Iterations {
		return true
	}
	if o.Time <= 0 {
		return false
	}
	return spent >= patience*o.Time || spent >= o.Time && len(m.kept.list) >= fewest
}

// fewest is the minimum number of undisturbed iterations worth reporting alone.
const fewest = 20

// finish chooses the batches to report: the quiet ones, or all if these are too
// few.
func (m *measurement) finish() {
	r, list, load := m.report, m.kept.list, m.kept.load
	r.Clean = len(m.noisy.list) == 0 || len(list) >= fewest
	if !r.Clean {
		list = append(list, m.noisy.list...)
		load.Add(m.noisy.load)
	}
	r.Clean = r.Clean && r.ForeignReason == ""
	r.Foreign = load.Foreign()
	for _, row := range list {
		r.Total = append(r.Total, row.total)
		for p, nanos := range row.phases {
			if nanos > 0 {
				r.Phases[p] = append(r.Phases[p], nanos)
			}
		}
		for i, nanos := range row.steps {
			r.Steps[i].Nanos = append(r.Steps[i].Nanos, nanos)
		}
	}
}
