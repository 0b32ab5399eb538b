// Package throughput makes the report of PtychoPINN's inference over batch sizes from the trials of a sweep:
// throughput, latency and memory of each stage, the batch size from which more brings nothing, and the size at which
// memory ends. Every trial is a process of its own (package trial), which sim/bench/executor runs.
package throughput

import (
	"cmp"
	"fmt"
	"time"

	"prismtop/profiles/machine"
	"prismtop/profiles/sweep"
	"prismtop/sim/ptycho/trial"
)

// MaxBatch bounds batch sizes, MostAdaptive those that are searched.
const (
	MaxBatch     = sweep.MostValue
	MostAdaptive = 256
)

// Options are what a sweep was asked for.
type Options struct {
	Job   trial.Job // of every trial, without batch size, runs and limit
	Sizes []int     // batch sizes in groups, ascending
	Runs  int       // of each size: as many trials

	// Limit is the memory that a trial may use, on a GPU that of the GPU, in bytes; 0 for no limit. Edge asks for the
	// largest size within it, and one that leaves the share Margin, 0 to 1; it needs a limit.
	Limit  int64
	Edge   bool
	Margin float64

	// Adaptive adds the sizes around the fastest, which it searches up to MostAdaptive.
	Adaptive bool

	// Tolerance is the loss of throughput, 0 to 1, for which a smaller batch is preferred.
	Tolerance float64
}

// Status is how a trial or a batch size ended.
type Status string

// The statuses, by the words of the document.
const (
	Success     Status = "success"
	OutOfMemory Status = "OOM"
	Failed      Status = "error"
)

// Trial is a trial that is over.
type Trial struct {
	Began   time.Time
	Purpose string // "sweep", "search" or "edge"
	Round   int    // of a sweep, from 0; −1 otherwise
	Batch   int
	Status  Status
	Reason  string        // why it did not succeed
	Result  *trial.Result // nil unless it succeeded
}

// size is what was measured at a batch size.
type size struct {
	batch  int
	status Status
	reason string
	runs   []timed
	tried  sweep.Tried // its memory: of the process, or on a GPU the most of the GPU's that was held
	peaks  []float64   // bytes, of each trial; without those that are unknown
	gpu    []float64   // bytes on the GPU, of each trial; none on the processor
	memory map[string]int64
	energy trial.Energy // of GPUs, of all trials
}

// timed is a run of a round.
type timed struct {
	round int
	trial.Run
}

// Sweep gathers the trials of a sweep.
type Sweep struct {
	o      Options
	began  time.Time
	load   machine.Load
	sizes  map[int]*size
	trials []Trial
	first  *trial.Result // of the first trial that succeeded
	same   agreement

	Edge *sweep.Edge // of memory; nil unless it was searched
	Own  float64     // seconds of processor time of the trials' processes
}

// Begin begins to gather trials.
func Begin(o Options) *Sweep {
	return &Sweep{o: o, began: time.Now(), load: machine.ReadLoad(), sizes: map[int]*size{}}
}

// Add adds a trial. The error is that its outputs differ from those of other sizes; a trial that failed is none.
func (s *Sweep) Add(t Trial) error {
	s.trials = append(s.trials, t)
	v := s.sizes[t.Batch]
	if v == nil {
		v = &size{batch: t.Batch}
		s.sizes[t.Batch] = v
	}
	if v.status, v.reason = t.Status, t.Reason; t.Status != Success {
		v.tried.Failed = true
		return nil
	}
	r := t.Result
	if s.first == nil {
		s.first = r
	}
	v.memory, v.tried.Done, v.tried.Bend = r.Memory, true, r.Microbatch
	if r.PeakRSS > 0 {
		v.peaks = append(v.peaks, float64(r.PeakRSS))
	}
	if r.PeakGPU > 0 {
		v.gpu = append(v.gpu, float64(r.GPU))
	}
	if held := Held(r); held > 0 {
		v.tried.Bytes = append(v.tried.Bytes, float64(held))
	}
	v.energy.Joules += r.Energy.Joules
	v.energy.Images += r.Energy.Images
	for _, run := range r.Runs {
		if err := s.same.add(t.Batch, run, s.allowed()); err != nil {
			v.status, v.reason = Failed, err.Error()
			return err
		}
		if t.Purpose == "sweep" {
			run.Samples = nil
			v.runs = append(v.runs, timed{t.Round, run})
		}
	}
	return nil
}

// Failure returns why no batch size could be measured; nil if one was, or none was tried.
func (s *Sweep) Failure() error {
	if s.first != nil || len(s.trials) == 0 {
		return nil
	}
	for i := range s.trials {
		if t := &s.trials[i]; t.Status == Failed {
			return fmt.Errorf("no batch size could be measured: %s", t.Reason)
		}
	}
	return fmt.Errorf("no batch size could be measured: even %d needs more memory than there is", s.o.Sizes[0])
}

// Held returns the memory that a limit is of: a GPU's, or else that of the process.
func Held(r *trial.Result) int64 { return cmp.Or(r.PeakGPU, r.PeakRSS) }

// Proven returns an error if a trial did not do all of its images.
func Proven(r *trial.Result, j trial.Job) error {
	if r == nil || len(r.Runs) != j.Runs {
		return fmt.Errorf("the trial did not report %d runs", j.Runs)
	}
	channels := j.Config().Channels()
	groups := j.Images / channels
	batches := (groups + j.Batch - 1) / j.Batch
	for _, run := range r.Runs {
		switch {
		case run.Groups != groups || run.Images != batches*j.Batch*channels || len(run.Batches) != batches ||
			len(run.Samples) != trial.SamplesPerObject*groups || run.Checksum == "":
			return fmt.Errorf("the trial did %d images in %d batches for %d groups: must be %d in %d for %d",
				run.Images, len(run.Batches), run.Groups, batches*j.Batch*channels, batches, groups)
		case !(run.Seconds.Predict > 0):
			return fmt.Errorf("the trial reported %g seconds of prediction", run.Seconds.Predict)
		}
	}
	return nil
}
