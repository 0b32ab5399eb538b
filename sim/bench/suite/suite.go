// Package suite runs the benchmark that PRISM's documents describe: a model's baseline, whole
// workloads without and with their optimisations by turns, the documents' acceptance list, and each
// figure that the documents claim beside what was measured here.
package suite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/history"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/prism"
)

// Options configure the suite.
type Options struct {
	Maker prism.Maker

	// Settings returns the settings of a preset with the user's on top, and sets over both.
	Settings func(preset string, sets []settings.Assignment) (settings.Values, error)

	Build     history.Build
	Processor machine.CPU
	GPU       string   // model of the GPU that is used; empty for none
	GPUAbout  string   // its compute capability, driver and CUDA version
	NoBF16    bool     // the GPU has no matrix instructions for bf16
	GPUReason string   // why no GPU is used
	Changed   []string // settings of the user that differ from those of the presets, as key=value

	Rounds int           // of each comparison: one run of either side in each
	Time   time.Duration // of each measurement of iterations

	// Progress is told what is measured, the share done, 0 to 1, and the time left at the pace so
	// far, 0 while that is unknown. It may be nil.
	Progress func(what string, done float64, left time.Duration)
}

// Schema is the version of the report's form.
const Schema = 1

// Report is what was measured. A part that was not is null.
type Report struct {
	Schema   int           `json:"schema"`
	Version  string        `json:"version"`
	Build    history.Build `json:"build"`
	Started  string        `json:"started"` // RFC 3339
	Seconds  float64       `json:"seconds"` // of the whole measurement
	Complete bool          `json:"complete"`
	Ended    string        `json:"ended,omitempty"`  // why it is not complete
	Failures []Failure     `json:"failures"`         // of parts; the others were measured all the same
	Changed  []string      `json:"changed_settings"` // from those of the presets, as key=value; with any, the workloads are not the documents'
	Machine  Machine       `json:"machine"`

	Model       *Model       `json:"model"`
	Baseline    *Result      `json:"baseline"`  // of the standard workload
	Optimized   *Result      `json:"optimized"` // of the same
	Comparisons []Comparison `json:"comparisons"`
	Measurement *Measurement `json:"measurement"`
	Effects     []Effect     `json:"effects"`
	Profile     *Profile     `json:"profile"`
	Inference   *Inference   `json:"inference"`
	AMP         *AMP         `json:"amp"`
	Checklist   []Criterion  `json:"checklist"`
	Claims      []Claim      `json:"claims"`
}

// Failure is a part that could not be measured, and why.
type Failure struct {
	Part  string `json:"part"`
	Error string `json:"error"`
}

// Machine is where it was measured.
type Machine struct {
	CPU              string   `json:"cpu"`
	Processors       int      `json:"processors"`
	Device           string   `json:"device"`
	Kernels          string   `json:"kernels"`
	Threads          int      `json:"threads"`
	GPU              *string  `json:"gpu"`
	GPUAbout         string   `json:"gpu_about,omitempty"` // its compute capability, driver and CUDA version
	GPUReason        string   `json:"gpu_reason,omitempty"`
	System           string   `json:"system"`
	Go               string   `json:"go"`
	ForeignCPU       *float64 `json:"foreign_cpu"` // share of the processors that other programs took meanwhile, 0 to 1
	ForeignCPUReason string   `json:"foreign_cpu_reason,omitempty"`
}

// Suite measures the parts of a report, one after the other.
type Suite struct {
	options Options
	report  *Report
	load    machine.Load
	began   time.Time
	plan    []step
	done    float64 // weight of the steps that are over
}

// step is one part of the suite. Its weight is its share of the whole, roughly its seconds on the
// machine of docs/benchmarks.md.
type step struct {
	name   string
	weight float64
	run    func(ctx context.Context, progress func(done float64)) error
}

// New returns a suite without measurements.
func New(o Options) *Suite {
	if o.Rounds <= 0 {
		o.Rounds = Rounds
	}
	if o.Time <= 0 {
		o.Time = 5 * time.Second
	}
	s := &Suite{options: o, began: time.Now(), load: machine.ReadLoad()}
	model := o.Processor.Model
	if model == "" {
		model = o.Processor.Reason
	}
	var gpu *string
	if o.GPU != "" {
		gpu = &o.GPU
	}
	s.report = &Report{
		Schema: Schema, Changed: append([]string{}, o.Changed...), Version: o.Build.Version, Build: o.Build,
		Started: s.began.UTC().Format(time.RFC3339), Failures: []Failure{}, Comparisons: []Comparison{},
		Effects: []Effect{}, Checklist: []Criterion{}, Claims: []Claim{},
		Machine: Machine{CPU: model, Processors: machine.Processors(), GPU: gpu, GPUAbout: o.GPUAbout,
			GPUReason: o.GPUReason, System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()},
	}
	return s
}

// Run measures the steps that were added. A step that fails does not end the others; when ctx ends, all end. What was
// measured is in the report, which comes with the errors.
func (s *Suite) Run(ctx context.Context) (*Report, error) {
	whole := 0.0
	for _, p := range s.plan {
		whole += p.weight
	}
	r := s.report
	var failed []error
	for _, p := range s.plan {
		if ctx.Err() != nil {
			break
		}
		progress := func(part float64) {
			if s.options.Progress == nil {
				return
			}
			share := (s.done + p.weight*part) / whole
			left := time.Duration(0)
			if spent := time.Since(s.began); share > 0.01 && spent > time.Second {
				left = time.Duration(float64(spent) * (1 - share) / share)
			}
			s.options.Progress(p.name, share, left)
		}
		progress(0)
		if err := p.run(ctx, progress); err != nil && ctx.Err() == nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
			r.Failures = append(r.Failures, Failure{p.name, err.Error()})
		}
		s.done += p.weight
	}
	err := errors.Join(failed...)
	if ctx.Err() != nil {
		err = errors.Join(append(failed, ctx.Err())...)
	}
	r.Seconds = time.Since(s.began).Seconds()
	load := machine.ReadLoad().Since(s.load)
	if len(s.plan) == 0 {
		load.Reason = nothingMeasured
	}
	if r.Machine.ForeignCPUReason = load.Reason; load.Reason == "" {
		share := load.Foreign()
		r.Machine.ForeignCPU = &share
	}
	switch {
	case err == nil:
		r.Complete = true
	case errors.Is(err, context.Canceled):
		r.Ended = "interrupted"
	default:
		r.Ended = fmt.Sprintf("%d of %s failed", len(failed), unit.Plural(len(s.plan), "part", "parts"))
	}
	r.judge()
	return r, err
}

// nothingMeasured is why the load of other programs is not known for a list of claims alone.
const nothingMeasured = "nothing was measured"

// judge derives the verdicts from the measurements.
func (r *Report) judge() {
	r.Checklist = []Criterion{}
	for i := range r.Comparisons {
		r.Checklist = append(r.Checklist, r.Comparisons[i].checklist()...)
	}
	r.judgeAMP()
	r.Claims = claimsOf(r)
}

// on notes the device of a run.
func (m *Machine) on(run *profiles.RunInfo, threads int) {
	m.Device, m.Kernels, m.Threads = run.Device, run.Kernels, threads
	if run.Card != "" && m.GPU == nil {
		m.GPU, m.GPUReason = &run.Card, ""
	}
}
