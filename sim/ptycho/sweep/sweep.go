// Package sweep measures PtychoPINN's inference over batch sizes: throughput, latency and
// memory of each stage, the batch size from which more brings nothing, and the size at which
// memory ends. Every trial is a process of its own (package trial).
package sweep

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/ptycho/sweep/trial"
)

// Defaults and bounds of Options.
const (
	DefaultTolerance = 0.05
	DefaultMargin    = 0.05

	// MaxBatch bounds batch sizes, MostAdaptive those that are searched.
	MaxBatch     = 4096
	MostAdaptive = 256
)

// Options configure a sweep.
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

	Runner Runner
	Seed   uint64 // of the order of trials

	// Progress is told what is measured, the share done, 0 to 1, and the time left at the pace
	// so far, 0 while that is unknown. Watch is told of each trial that is over. Both may be nil.
	Progress func(what string, done float64, left time.Duration)
	Watch    func(Trial)
}

// Runner runs trials.
type Runner interface {
	Run(ctx context.Context, j trial.Job) Outcome
}

// Status is how a trial or a batch size ended.
type Status string

// The statuses, by the words of the document.
const (
	Success     Status = "success"
	OutOfMemory Status = "OOM"
	Failed      Status = "error"
)

// Outcome is a trial's end. Result is nil unless it succeeded.
type Outcome struct {
	Status Status
	Reason string // why it did not succeed
	Result *trial.Result
	CPU    float64 // seconds of processor time that its process took, however it ended
}

// Trial is a trial that is over.
type Trial struct {
	Began   time.Time
	Purpose string // "sweep", "search" or "edge"
	Round   int    // of a sweep, from 0; −1 otherwise
	Batch   int
	Outcome
}

// size is what was measured at a batch size.
type size struct {
	batch  int
	status Status // empty until a trial is over
	reason string
	runs   []timed
	peaks  []float64 // bytes, of each trial; without those that are unknown
	gpu    []float64 // bytes on the GPU, of each trial; none on the processor
	most   []float64 // likewise, the most that it held
	memory map[string]int64
	energy trial.Energy // of GPUs, of all trials

	microbatch int // groups that are computed at a time
}

// timed is a run of a round.
type timed struct {
	round int
	trial.Run
}

// Sweep is a sweep under way.
type Sweep struct {
	o      Options
	began  time.Time
	load   machine.Load
	own    float64 // seconds of processor time of the trials
	sizes  map[int]*size
	trials []Trial
	first  *trial.Result // of the first trial that succeeded
	same   agreement
	edge   *Edge
	done   float64 // images of the trials that are over
	all    float64 // images of all trials that are planned
}

// Run sweeps and reports. What was measured before ctx ended, or a run's outputs were found
// to differ, is in the report, which comes with the error.
func Run(ctx context.Context, o Options) (*Report, error) {
	s := &Sweep{o: o, began: time.Now(), load: machine.ReadLoad(), sizes: map[int]*size{}}
	err := s.measure(ctx)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return s.report(err), err
}

// measure runs the trials.
func (s *Sweep) measure(ctx context.Context) error {
	s.all = s.images(s.o.Sizes, s.o.Runs)
	sizes := s.o.Sizes
	if s.o.Adaptive {
		found, err := s.search(ctx)
		if err != nil {
			return err
		}
		sizes = slices.Compact(slices.Sorted(slices.Values(append(found, sizes...))))
		s.all = s.done + s.images(sizes, s.o.Runs)
	}
	if err := s.rounds(ctx, sizes); err != nil {
		return err
	}
	if s.first == nil {
		for _, b := range sizes {
			if v := s.sizes[b]; v != nil && v.status == Failed {
				return fmt.Errorf("no batch size could be measured: %s", v.reason)
			}
		}
		return fmt.Errorf("no batch size could be measured: even %d needs more memory than there is", sizes[0])
	}
	if s.o.Edge && s.o.Limit > 0 {
		return s.findEdge(ctx)
	}
	return nil
}

// images returns the work of a sweep, in patterns: warm-up and runs, and some for each start.
func (s *Sweep) images(sizes []int, runs int) (all float64) {
	for _, b := range sizes {
		all += float64(runs) * s.cost(b)
	}
	return all
}

// start is the time of a process's start, in groups that could be predicted meanwhile.
const start = 20

func (s *Sweep) cost(batch int) float64 {
	groups := s.o.Job.Images / s.o.Job.Config().Channels()
	return float64(start + s.o.Job.Warmup*batch + (groups+batch-1)/batch*batch)
}

// rounds measures the sizes in rounds: each of them once, in an order by chance, and in the
// next round in the reverse order, so that a drift of the machine touches all alike. A size
// that failed is left out of later rounds.
func (s *Sweep) rounds(ctx context.Context, sizes []int) error {
	order, random := slices.Clone(sizes), rand.New(rand.NewPCG(s.o.Seed, 0x7377656570))
	for round := range s.o.Runs {
		if round%2 == 0 {
			random.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
		} else {
			slices.Reverse(order)
		}
		for _, b := range order {
			if v := s.sizes[b]; v != nil && v.status != Success {
				s.done += s.cost(b)
				continue
			}
			s.progress(fmt.Sprintf("round %d of %d, batch size %d", round+1, s.o.Runs, b))
			if _, err := s.try(ctx, b, "sweep", round); err != nil {
				return err
			}
		}
	}
	return nil
}

// progress reports how far the sweep is.
func (s *Sweep) progress(what string) {
	if s.o.Progress == nil {
		return
	}
	share, left := min(s.done/s.all, 1), time.Duration(0)
	if spent := time.Since(s.began); share > 0.01 && spent > time.Second {
		left = time.Duration(float64(spent) * (1 - share) / share)
	}
	s.o.Progress(what, share, left)
}

// try runs a trial of a batch size. The error is that of ctx, or of outputs that differ from
// those of other sizes; a trial that failed is none.
func (s *Sweep) try(ctx context.Context, batch int, purpose string, round int) (Outcome, error) {
	j := s.o.Job
	j.Batch, j.Runs, j.Limit = batch, 1, s.o.Limit
	if purpose != "sweep" {
		j.Warmup = 0
	}
	t := Trial{Began: time.Now(), Purpose: purpose, Round: round, Batch: batch}
	if err := ctx.Err(); err != nil {
		return t.Outcome, err
	}
	t.Outcome = s.o.Runner.Run(ctx, j)
	s.own += t.CPU
	if err := ctx.Err(); err != nil {
		return t.Outcome, err
	}
	s.check(&t, j)
	s.done += s.cost(batch)
	s.trials = append(s.trials, t)
	if s.o.Watch != nil {
		s.o.Watch(t)
	}
	v := s.sizes[batch]
	if v == nil {
		v = &size{batch: batch}
		s.sizes[batch] = v
	}
	v.status, v.reason = t.Status, t.Reason
	if t.Status != Success {
		return t.Outcome, nil
	}
	r := t.Result
	if s.first == nil {
		s.first = r
	}
	v.memory, v.microbatch = r.Memory, r.Microbatch
	if r.PeakRSS > 0 {
		v.peaks = append(v.peaks, float64(r.PeakRSS))
	}
	if r.PeakGPU > 0 {
		v.gpu, v.most = append(v.gpu, float64(r.GPU)), append(v.most, float64(r.PeakGPU))
	}
	v.energy.Joules += r.Energy.Joules
	v.energy.Images += r.Energy.Images
	for _, run := range r.Runs {
		if err := s.same.add(batch, run, s.allowed()); err != nil {
			v.status, v.reason = Failed, err.Error()
			return t.Outcome, err
		}
		if purpose == "sweep" {
			run.Samples = nil
			v.runs = append(v.runs, timed{round, run})
		}
	}
	return t.Outcome, nil
}

// check makes a failure of a trial that did not do what it was asked to, or whose process
// used more memory than it may.
func (s *Sweep) check(t *Trial, j trial.Job) {
	if t.Status != Success {
		return
	}
	r := t.Result
	if err := proven(r, j); err != nil {
		t.Outcome = Outcome{Status: Failed, Reason: err.Error(), CPU: t.CPU}
	} else if used := heldBy(r); j.Limit > 0 && used > j.Limit {
		t.Outcome = Outcome{Status: OutOfMemory, Reason: fmt.Sprintf("used %s of memory, the limit is %s",
			megabytes(used), megabytes(j.Limit)), CPU: t.CPU}
	}
}

// heldBy returns the memory that a limit is of: a GPU's, or else that of the process.
func heldBy(r *trial.Result) int64 { return cmp.Or(r.PeakGPU, r.PeakRSS) }

// held returns that of each trial.
func (v *size) held() []float64 {
	if len(v.most) > 0 {
		return v.most
	}
	return v.peaks
}

// proven checks that a trial did all of its images.
func proven(r *trial.Result, j trial.Job) error {
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

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
