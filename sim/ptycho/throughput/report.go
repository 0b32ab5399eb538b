package throughput

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"strconv"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/sweep"
	"prismtop/sim/ptycho"
)

// Schema is the version of the report's form.
const Schema = 1

// Report is what a sweep measured. What was not is null.
type Report struct {
	Schema   int     `json:"schema"`
	Version  string  `json:"version"`
	Started  string  `json:"started"` // RFC 3339
	Seconds  float64 `json:"seconds"` // of the whole sweep
	Complete bool    `json:"complete"`
	Ended    string  `json:"ended,omitempty"` // why it is not complete

	Machine       Machine       `json:"machine"`
	Parameters    int           `json:"parameters"` // of the network; 0 if no trial succeeded
	Model         Model         `json:"model"`
	Data          Data          `json:"data"`
	Configuration Configuration `json:"configuration"`

	Batches map[string]*Batch `json:"batches"` // by batch size, in groups
	Outputs Outputs           `json:"outputs"`

	Optimum       *Optimum `json:"optimum"`
	OptimumReason string   `json:"optimum_reason,omitempty"`
	Stages        []Stage  `json:"stages"` // the batch size of each stage by itself
	Curve         *Curve   `json:"curve"`
	CurveReason   string   `json:"curve_reason,omitempty"`

	Memory       *MemoryFit  `json:"memory"` // of the process over batch size
	MemoryReason string      `json:"memory_reason,omitempty"`
	Edge         *sweep.Edge `json:"edge"`
	EdgeReason   string      `json:"edge_reason,omitempty"`

	Bottlenecks     []Bottleneck     `json:"bottlenecks"`
	Recommendations []Recommendation `json:"recommendations"`
	Claims          []Claim          `json:"claims"`
	Alerts          []Alert          `json:"alerts"`
	Trials          []TrialRecord    `json:"trials"`
}

// Machine is where it was measured.
type Machine struct {
	CPU              string   `json:"cpu"`
	Processors       int      `json:"processors"`
	Device           string   `json:"device"` // that the trials used; empty if none succeeded
	Kernels          string   `json:"kernels"`
	Threads          int      `json:"threads"`
	MemoryBytes      int64    `json:"memory_bytes"` // of the machine; 0 if unknown
	GPU              *string  `json:"gpu"`
	GPUs             int      `json:"gpus,omitempty"`      // that divided each batch, if more than one
	GPUAbout         string   `json:"gpu_about,omitempty"` // its compute capability, driver and CUDA version
	GPUReason        string   `json:"gpu_reason,omitempty"`
	System           string   `json:"system"`
	Go               string   `json:"go"`
	EnergyReason     string   `json:"energy_reason,omitempty"` // why no energy was read
	ForeignCPU       *float64 `json:"foreign_cpu"`             // share of the processors that other programs took meanwhile, 0 to 1
	ForeignCPUReason string   `json:"foreign_cpu_reason,omitempty"`
}

// Model is the network.
type Model struct {
	Size         int    `json:"size"`
	GridSize     int    `json:"gridsize"`
	Channels     int    `json:"channels"` // patterns of a group
	FiltersScale int    `json:"filters_scale"`
	ProbeBig     bool   `json:"probe_big"`
	Activation   string `json:"amp_activation"` // of the amplitude's centre
	Heads        string `json:"heads"`          // keras or ptycho_torch
	Weights      string `json:"weights"`        // path, or "seeded"
}

// Data are the patterns.
type Data struct {
	Source string `json:"source"` // path, or "simulated"
	Images int    `json:"images"` // patterns of a run
	Groups int    `json:"groups"` // of a run

	Factor float64 `json:"factor"` // of the amplitudes; 0 for PtychoPINN's rule
}

// Configuration is how it was measured.
type Configuration struct {
	BatchSizes  []int   `json:"batch_sizes"` // asked for
	AMP         string  `json:"amp"`         // mixed precision: off, bf16 or bf16x3
	Winograd    bool    `json:"winograd"`    // convolutions by Winograd's method
	Microbatch  int     `json:"microbatch"`  // most groups computed at a time; 0 for the network's choice
	Runs        int     `json:"runs"`
	Warmup      int     `json:"warmup"` // batches before each run
	Seed        uint64  `json:"seed"`
	Adaptive    bool    `json:"adaptive"`
	MemoryLimit *int64  `json:"memory_limit"` // bytes that a trial may use
	LimitSource string  `json:"memory_limit_source"`
	Margin      float64 `json:"margin"`
	Tolerance   float64 `json:"tolerance"`
}

// Spread summarises a few values.
type Spread struct {
	report.Spread
	Std float64 `json:"std"` // of all values, not an estimate from a sample
	Min float64 `json:"min"`
	Max float64 `json:"max"`
	Q1  float64 `json:"q1"`
	Q3  float64 `json:"q3"`
}

// spreadOf summarises values; nil for none.
func spreadOf(values []float64) *Spread {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	s := &Spread{Spread: report.SpreadOf(values), Min: sorted[0], Max: sorted[len(sorted)-1],
		Q1: stats.Quantile(sorted, 0.25), Q3: stats.Quantile(sorted, 0.75)}
	for _, v := range sorted {
		s.Std += (v - s.Mean) * (v - s.Mean) / float64(len(sorted))
	}
	s.Std = math.Sqrt(s.Std)
	return s
}

// Batch is what was measured at a batch size.
type Batch struct {
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // why it failed

	Images  int `json:"images"`  // predicted in all runs
	Batches int `json:"batches"` // of a run

	ImagesPerS         *Spread           `json:"images_per_s"`          // of prediction, over runs
	PipelineImagesPerS *Spread           `json:"pipeline_images_per_s"` // from file to reconstruction, over runs
	LatencyMS          *Spread           `json:"latency_ms"`            // an image, over batches
	BatchMS            *Spread           `json:"batch_ms"`              // a batch, over batches
	StagesMS           map[string]Spread `json:"stages_ms"`             // a run, by stage

	Microbatch      int              `json:"microbatch"` // groups whose activations are in memory at a time; 0 if no trial succeeded
	PlanBytes       map[string]int64 `json:"plan_bytes"` // by the plan's categories
	PeakBytes       *int64           `json:"peak_bytes"` // of the process, by the system
	PeakBytesReason string           `json:"peak_bytes_reason,omitempty"`
	GPUBytes        *int64           `json:"gpu_bytes"`      // held on the GPU, as its backend counts them; null without a GPU
	GPUPeakBytes    *int64           `json:"gpu_peak_bytes"` // the most that was held

	Efficiency      *float64 `json:"efficiency"`       // images/s and MB, 10⁶ bytes, of the process, or on a GPU of its memory
	Overhead        *float64 `json:"overhead"`         // of measuring: time of prediction with it over that without; null without a run
	Scaling         *float64 `json:"scaling"`          // throughput over that of the smallest size; null if it failed
	ImagesPerJoule  *float64 `json:"images_per_joule"` // images/s and watt, of all processor packages or of the GPUs
	ImagesJouleNote string   `json:"images_per_joule_reason,omitempty"`
}

// MemoryFit is a line through the peak memory of processes, or on a GPU of its memory, over batch sizes. Activations
// grow with the batch up to a microbatch and not beyond, so it runs through the sizes on one side of that where there
// are two of them: the side on which the memory limit lies.
type MemoryFit struct {
	FixedBytes float64 `json:"fixed_bytes"`     // of a process without a batch
	BytesEach  float64 `json:"bytes_per_group"` // of the batch
	R2         float64 `json:"r2"`              // share of the variance that the line explains
	Sizes      int     `json:"sizes"`           // batch sizes that it runs through
	Smallest   int     `json:"smallest"`        // of these
	Largest    int     `json:"largest"`
}

// memory fits the line.
func (s *Sweep) memory() *MemoryFit {
	all := map[int]*sweep.Tried{}
	for b, v := range s.sizes {
		all[b] = &v.tried
	}
	return (*MemoryFit)(sweep.MemoryLine(all, s.o.Limit))
}

// Outputs says whether all runs computed the same.
type Outputs struct {
	Runs      int     `json:"runs"`
	Identical bool    `json:"identical"` // bit for bit
	Largest   float64 `json:"largest_difference"`
	Allowed   float64 `json:"allowed_difference"` // both relative to the largest output
}

// TrialRecord is a trial in the order in which they ran.
type TrialRecord struct {
	Began      string   `json:"began"` // RFC 3339
	Purpose    string   `json:"purpose"`
	Round      int      `json:"round"`
	BatchSize  int      `json:"batch_size"`
	Status     Status   `json:"status"`
	Reason     string   `json:"reason,omitempty"`
	Images     int      `json:"images"`
	ElapsedS   float64  `json:"elapsed_s"` // of prediction
	ImagesPerS *float64 `json:"images_per_s"`
	PeakBytes  int64    `json:"peak_bytes"`     // 0 if unknown
	GPUBytes   int64    `json:"gpu_peak_bytes"` // 0 without a GPU
}

// Report derives the report of what was measured so far; err is why the sweep ended early, nil if it did not.
func (s *Sweep) Report(err error) *Report {
	j := &s.o.Job
	channels := j.Config().Channels()
	r := &Report{
		Schema: Schema, Started: s.began.UTC().Format(time.RFC3339), Seconds: time.Since(s.began).Seconds(),
		Complete: err == nil,
		Machine:  Machine{Processors: machine.Processors(), System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), MemoryBytes: machine.ReadMemory().Total},
		Model: Model{j.Size, j.GridSize, channels, j.FiltersScale, j.ProbeBig,
			cmp.Or(j.AmpActivation, ptycho.AmpActivations()[0]), cmp.Or(j.Heads, ptycho.HeadKinds()[0]),
			cmp.Or(j.Weights, "seeded")},
		Data: Data{j.Data, j.Images / channels * channels, j.Images / channels, j.Factor},
		Configuration: Configuration{BatchSizes: slices.Clone(s.o.Sizes), AMP: cmp.Or(j.AMP, string(ptycho.Float32)),
			Winograd: j.Winograd, Microbatch: j.Microbatch, Runs: s.o.Runs, Warmup: j.Warmup, Seed: j.Seed,
			Adaptive: s.o.Adaptive, Margin: s.o.Margin, Tolerance: s.o.Tolerance},
		Batches: map[string]*Batch{}, Bottlenecks: []Bottleneck{}, Recommendations: []Recommendation{},
		Alerts: []Alert{}, Trials: []TrialRecord{},
		Outputs: Outputs{s.same.runs, s.same.runs > 0 && s.same.identical, s.same.largest, s.allowed()},
	}
	switch {
	case errors.Is(err, context.Canceled):
		r.Ended = "interrupted"
	case err != nil:
		r.Ended = err.Error()
	}
	if s.o.Limit > 0 {
		r.Configuration.MemoryLimit = &s.o.Limit
	}
	if v := s.first; v != nil {
		r.Parameters = v.Parameters
		if v.Card != "" {
			r.Machine.GPU = &v.Card
			if v.Cards > 1 {
				r.Machine.GPUs = v.Cards
			}
		}
		r.Machine.Device, r.Machine.Kernels, r.Machine.Threads, r.Machine.EnergyReason = v.Device, v.Kernels, v.Threads,
			v.EnergyReason
	}
	load := machine.ReadLoad().Since(s.load)
	if r.Machine.ForeignCPUReason = load.Reason; load.Reason == "" {
		load.Own += s.Own
		share := load.Foreign()
		r.Machine.ForeignCPU = &share
	}
	for _, t := range s.trials {
		r.Trials = append(r.Trials, record(t))
	}
	for b, v := range s.sizes {
		r.Batches[strconv.Itoa(b)] = v.describe(r.Machine.EnergyReason)
	}
	s.scale(r)
	s.judge(r)
	return r
}

func record(t Trial) TrialRecord {
	v := TrialRecord{Began: t.Began.UTC().Format(time.RFC3339Nano), Purpose: t.Purpose, Round: t.Round,
		BatchSize: t.Batch, Status: t.Status, Reason: t.Reason}
	if t.Status == Success {
		run := &t.Result.Runs[0]
		rate := float64(run.Images) / run.Seconds.Predict
		v.Images, v.ElapsedS, v.ImagesPerS, v.PeakBytes = run.Images, run.Seconds.Predict, &rate, t.Result.PeakRSS
		v.GPUBytes = t.Result.PeakGPU
	}
	return v
}

// namedStage is a stage with its part of a run.
type namedStage struct {
	name string
	of   func(*timed) float64
}

// allStages are the stages in order.
var allStages = []namedStage{
	{"load", func(r *timed) float64 { return r.Seconds.Load }},
	{"group", func(r *timed) float64 { return r.Seconds.Group }},
	{"normalise", func(r *timed) float64 { return r.Seconds.Normalise }},
	{"predict", func(r *timed) float64 { return r.Seconds.Predict }},
	{"reassemble", func(r *timed) float64 { return r.Seconds.Reassemble }},
}

// describe summarises the runs of a batch size.
func (v *size) describe(energyReason string) *Batch {
	b := &Batch{Status: v.status, Reason: v.reason, Microbatch: v.tried.Bend, PlanBytes: map[string]int64{},
		StagesMS: map[string]Spread{}}
	maps.Copy(b.PlanBytes, v.memory)
	var rates, whole, image, batch []float64
	stages, energy, overheads := map[string][]float64{}, v.energy, []float64(nil)
	for i := range v.runs {
		r := &v.runs[i]
		perBatch := float64(r.Images) / float64(len(r.Batches))
		rates = append(rates, float64(r.Images)/r.Seconds.Predict)
		// The other stages do each image once, the prediction whole batches.
		others := r.Seconds.Total() - r.Seconds.Predict
		images := float64(r.Images) * float64(r.Groups) / (float64(v.batch) * float64(len(r.Batches)))
		whole = append(whole, images/(others+r.Seconds.Predict*images/float64(r.Images)))
		for _, seconds := range r.Batches {
			image, batch = append(image, 1e3*seconds/perBatch), append(batch, 1e3*seconds)
		}
		for _, s := range allStages {
			stages[s.name] = append(stages[s.name], 1e3*s.of(r))
		}
		overheads = append(overheads, 1+r.Measuring/r.Seconds.Predict)
		b.Images += r.Images
		b.Batches = len(r.Batches)
		if r.Joules > 0 {
			energy.Joules += r.Joules
			energy.Images += r.Images
		}
	}
	b.ImagesPerS, b.PipelineImagesPerS, b.LatencyMS, b.BatchMS = spreadOf(rates), spreadOf(whole), spreadOf(image),
		spreadOf(batch)
	if v := spreadOf(overheads); v != nil {
		b.Overhead = &v.Median
	}
	for name, values := range stages {
		b.StagesMS[name] = *spreadOf(values)
	}
	if len(v.peaks) > 0 {
		peak := int64(spreadOf(v.peaks).Median)
		b.PeakBytes = &peak
	} else {
		b.PeakBytesReason = "no trial reported its peak"
	}
	if len(v.gpu) > 0 {
		now, peak := int64(spreadOf(v.gpu).Median), int64(spreadOf(v.tried.Bytes).Median)
		b.GPUBytes, b.GPUPeakBytes = &now, &peak
	}
	if held := b.Held(); b.ImagesPerS != nil && held != nil {
		e := b.ImagesPerS.Median / (float64(*held) / 1e6)
		b.Efficiency = &e
	}
	if energy.Joules > 0 {
		e := float64(energy.Images) / energy.Joules
		b.ImagesPerJoule = &e
	} else {
		b.ImagesJouleNote = cmp.Or(energyReason, "no energy was counted")
	}
	return b
}

// Held returns the memory that bounds the batch size: the most that was held on a GPU, or
// else by the process; nil if unknown.
func (b *Batch) Held() *int64 {
	if b.GPUPeakBytes != nil {
		return b.GPUPeakBytes
	}
	return b.PeakBytes
}

// Sizes returns the batch sizes of the report, ascending.
func (r *Report) Sizes() []int {
	var all []int
	for name := range maps.Keys(r.Batches) {
		b, _ := strconv.Atoi(name) // of report
		all = append(all, b)
	}
	slices.Sort(all)
	return all
}

// Of returns what was measured at a batch size; nil for nothing.
func (r *Report) Of(batch int) *Batch { return r.Batches[strconv.Itoa(batch)] }

// Measured returns the sizes with a throughput that did not fail, ascending.
func (r *Report) Measured() (all []int) {
	for _, b := range r.Sizes() {
		if v := r.Of(b); v.Status == Success && v.ImagesPerS != nil {
			all = append(all, b)
		}
	}
	return all
}

// scale relates throughputs to that of the smallest size.
func (s *Sweep) scale(r *Report) {
	sizes := r.Measured()
	for _, b := range sizes {
		f := r.Of(b).ImagesPerS.Median / r.Of(sizes[0]).ImagesPerS.Median
		r.Of(b).Scaling = &f
	}
}
