package throughput

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/report"
	"prismtop/profiles/stats"
	"prismtop/profiles/sweep"
	"prismtop/sim/ptycho/trial"
)

// planted makes trials of a machine with known properties.
type planted struct {
	groupMS  func(batch int) float64
	fixedMB  float64
	groupMB  float64
	change   func(j trial.Job, r *trial.Result) // of a result
	failures map[int]Trial
}

// trial returns the trial of a batch size in a round.
func (p *planted) trial(j trial.Job, purpose string, batch, round int) Trial {
	t := Trial{Began: time.Unix(1e9, 0), Purpose: purpose, Round: round, Batch: batch}
	if o, ok := p.failures[batch]; ok {
		t.Status, t.Reason = o.Status, o.Reason
		return t
	}
	j.Batch, j.Runs = batch, 1
	channels := j.Config().Channels()
	groups := j.Images / channels
	batches := (groups + batch - 1) / batch
	run := trial.Run{Images: batches * batch * channels, Groups: groups, Checksum: "same", Samples: make([]float32, trial.SamplesPerObject*groups)}
	for i := range run.Samples {
		run.Samples[i] = float32(i)
	}
	for range batches {
		seconds := p.groupMS(batch) * float64(batch) / 1e3
		run.Batches, run.Seconds.Predict = append(run.Batches, seconds), run.Seconds.Predict+seconds
	}
	run.Seconds.Load, run.Seconds.Normalise, run.Seconds.Reassemble = 0.001, 0.002, 0.003
	run.Measuring = run.Seconds.Predict / 100
	r := &trial.Result{Runs: []trial.Run{run}, Device: "cpu", Parameters: 7, PeakRSS: int64((p.fixedMB + p.groupMB*float64(batch)) * 1e6), EnergyReason: "none",
		Memory: map[string]int64{"weights": 1}}
	if p.change != nil {
		p.change(j, r)
	}
	t.Status, t.Result = Success, r
	return t
}

// sweep makes the report of a sweep whose trials are in the order of their sizes, and of tries at the edge.
func (p *planted) sweep(o Options, edge *sweep.Edge, tries ...int) (*Report, error) {
	s := Begin(o)
	for round := range o.Runs {
		for _, b := range o.Sizes {
			if v := s.sizes[b]; v != nil && v.status != Success {
				continue
			}
			if err := s.Add(p.trial(o.Job, "sweep", b, round)); err != nil {
				return s.Report(err), err
			}
		}
	}
	for _, b := range tries {
		if err := s.Add(p.trial(o.Job, "edge", b, -1)); err != nil {
			return s.Report(err), err
		}
	}
	s.Edge = edge
	err := s.Failure()
	return s.Report(err), err
}

func options(sizes ...int) Options {
	return Options{Job: trial.Job{Size: 64, GridSize: 1, FiltersScale: 1, Images: 100, Warmup: 1}, Sizes: sizes, Runs: 5,
		Margin: sweep.DefaultMargin, Tolerance: sweep.DefaultTolerance}
}

// An overhead of 8 ms a batch, and 2 ms an image.
func overhead(batch int) float64 { return 2 + 8/float64(batch) }

func TestSweepsFindTheOptimumAndTheLines(t *testing.T) {
	p := &planted{groupMS: overhead, fixedMB: 40, groupMB: 2}
	r, err := p.sweep(options(1, 8, 32, 48, 64, 96, 128), nil)
	if err != nil {
		t.Fatal(err)
	}
	// An image takes 2.0625 ms at 128, 3 % more at 64 and 5.05 % more at 48.
	if o := r.Optimum; o.BatchSize != 64 || o.Fastest != 128 || o.Flat != [2]int{64, 128} || o.MayBe == nil || *o.MayBe != [2]int{128, 128} {
		t.Errorf("optimum %+v", o)
	}
	if want := "flat from 64 to 128, within 5 %: take 64; every other size is slower at 95 % (470.6 images/s)"; r.Optimum.Sentence != want {
		t.Errorf("%q, want %q", r.Optimum.Sentence, want)
	}
	if c := r.Curve; math.Abs(c.OverheadMS-8) > 1e-6 || math.Abs(c.GroupMS-2) > 1e-9 || c.Deviation > 1e-9 || math.Abs(c.Ceiling-500) > 1e-6 {
		t.Errorf("curve %+v", c)
	}
	if f := r.Memory; math.Abs(f.FixedBytes-40e6) > 1 || math.Abs(f.BytesEach-2e6) > 1 || f.R2 < 1-1e-9 {
		t.Errorf("memory %+v", f)
	}
	b := r.Of(8)
	if math.Abs(b.ImagesPerS.Median-1e3/3) > 1e-6 || b.ImagesPerS.N != 5 || b.Images != 5*104 || b.Batches != 13 || math.Abs(b.LatencyMS.Median-3) > 1e-9 || math.Abs(b.BatchMS.Median-24) > 1e-9 {
		t.Errorf("batch size 8: %+v of %+v", b, b.ImagesPerS)
	}
	if math.Abs(*b.Scaling-10.0/3) > 1e-9 || math.Abs(*b.Efficiency-1e3/3/56) > 1e-9 || *b.PeakBytes != 56e6 {
		t.Errorf("scaling %g, efficiency %g, peak %d", *b.Scaling, *b.Efficiency, *b.PeakBytes)
	}
	if math.Abs(*b.Overhead-1.01) > 1e-9 {
		t.Errorf("measuring takes %g of the time", *b.Overhead)
	}
	// 100 images at 3 ms, and 6 ms of other stages.
	if got := b.PipelineImagesPerS.Median; math.Abs(got-100/0.306) > 1e-6 {
		t.Errorf("%g images/s from file to reconstruction", got)
	}
	if !r.Outputs.Identical || !r.Complete || r.Outputs.Runs != 35 || r.Parameters != 7 {
		t.Errorf("%+v, complete: %v", r.Outputs, r.Complete)
	}
	if names := bottlenecks(r); !slices.Equal(names, []string{"compute_bound", "memory_bandwidth"}) {
		t.Errorf("bottlenecks %v", names)
	}
	for preset, want := range map[string]int{"speed_optimized": 64, "memory_optimized": 1, "real_time": 1} {
		i := slices.IndexFunc(r.Recommendations, func(v Recommendation) bool { return v.Preset == preset })
		if i < 0 || r.Recommendations[i].BatchSize["predict"] != want || r.Recommendations[i].Evidence == "" {
			t.Errorf("%s: %+v", preset, r.Recommendations)
		}
	}
}

func bottlenecks(r *Report) (names []string) {
	for _, b := range r.Bottlenecks {
		names = append(names, b.Name)
	}
	return names
}

// The recommendation for the largest batch says what was measured to be spare.
func TestTheLargestBatchSparesWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		name     string
		peak     func(batch int) int64
		verified int
		want     string
	}{
		{"the margin", nil, 94, "Batches of 94 fit in the memory limit, with 5.0 % to spare."},
		{"above the line", func(b int) int64 { return int64(40+2*b+b/60*20) * 1e6 }, 78, "Batches of 78 fit in the memory limit, with 10.0 % to spare."},
		{"hardly anything", func(b int) int64 { return int64(2300+2*b) * 1e5 }, 49, "Batches of 49 fit in the memory limit, with 0.1 % to spare, less than the margin of 5 %."},
	} {
		p := &planted{groupMS: overhead, fixedMB: 40, groupMB: 2}
		if c.peak != nil {
			p.change = func(j trial.Job, r *trial.Result) { r.PeakRSS = c.peak(j.Batch) }
		}
		o := options(1, 8, 32)
		o.Limit, o.Edge = 240e6, true
		r, err := p.sweep(o, &sweep.Edge{Verified: &c.verified}, c.verified)
		if err != nil {
			t.Fatal(err)
		}
		last := r.Recommendations[len(r.Recommendations)-1]
		if last.Preset != "largest" || last.Text != c.want {
			t.Errorf("%s: %+v after %v", c.name, last, r.Edge)
		}
	}
}

// Without a limit there is no edge to search.
func TestAnEdgeNeedsALimit(t *testing.T) {
	o := options(1, 8)
	o.Edge = true
	r, err := (&planted{groupMS: overhead}).sweep(o, nil)
	if err != nil || r.Edge != nil || r.EdgeReason != "the edge was not searched: there is no memory limit" {
		t.Errorf("%v, %+v: %s", err, r.Edge, r.EdgeReason)
	}
}

// Outputs may differ by the rounding of the precision.
func TestOutputsMayDifferByThePrecision(t *testing.T) {
	for amp, wrong := range map[string]bool{"off": true, "bf16x3": true, "bf16": false} {
		p := &planted{groupMS: overhead, change: func(j trial.Job, r *trial.Result) {
			if j.Batch == 8 {
				r.Runs[0].Checksum = "another"
				last := len(r.Runs[0].Samples) - 1 // the largest
				r.Runs[0].Samples[last-1] += 1e-3 * float32(last)
			}
		}}
		o := options(1, 8)
		o.Job.AMP = amp
		if r, err := p.sweep(o, nil); (err != nil) != wrong || r.Configuration.AMP != amp {
			t.Errorf("%s: %v, %+v", amp, err, r.Outputs)
		}
	}
}

// Outputs that depend on the batch size end the sweep with an error; rounding does not.
func TestOutputsMustNotDependOnTheBatchSize(t *testing.T) {
	for _, c := range []struct {
		difference float64 // relative to the largest output
		wrong      bool
	}{{1e-6, false}, {1e-3, true}, {math.NaN(), true}} {
		p := &planted{groupMS: overhead, change: func(j trial.Job, r *trial.Result) {
			if j.Batch == 8 {
				r.Runs[0].Checksum = "another"
				last := len(r.Runs[0].Samples) - 1 // the largest
				r.Runs[0].Samples[last-1] += float32(c.difference * float64(last))
			}
		}}
		r, err := p.sweep(options(1, 8, 64), nil)
		if (err != nil) != c.wrong || r.Outputs.Identical || r.Complete == c.wrong {
			t.Errorf("a difference of %g: %v, %+v", c.difference, err, r.Outputs)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("a difference of %g: %v", c.difference, err)
		}
		if c.wrong && !strings.Contains(err.Error(), "they must not depend on the batch size") {
			t.Error(err)
		}
	}
}

// A trial that did not do all of its images is no success.
func TestTrialsProveTheirWork(t *testing.T) {
	j := options().Job
	j.Batch, j.Runs = 4, 1
	for name, change := range map[string]func(*trial.Run){
		"":              func(*trial.Run) {},
		"fewer images":  func(r *trial.Run) { r.Images-- },
		"fewer groups":  func(r *trial.Run) { r.Groups-- },
		"fewer batches": func(r *trial.Run) { r.Batches = r.Batches[1:] },
		"no checksum":   func(r *trial.Run) { r.Checksum = "" },
		"no samples":    func(r *trial.Run) { r.Samples = nil },
		"no time":       func(r *trial.Run) { r.Seconds.Predict = 0 },
	} {
		p := &planted{groupMS: overhead, change: func(_ trial.Job, r *trial.Result) { change(&r.Runs[0]) }}
		if err := Proven(p.trial(j, "sweep", 4, 0).Result, j); (err != nil) != (name != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if Proven(&trial.Result{}, j) == nil {
		t.Error("a trial without a run")
	}
}

// What was measured before an interruption is in the report, and a size that failed by itself does not end the others.
func TestInterruptedSweepsKeepWhatWasMeasured(t *testing.T) {
	p := &planted{groupMS: overhead, failures: map[int]Trial{2: {Status: Failed, Reason: "no such file"}}}
	s := Begin(options(1, 2, 4))
	for i, b := range []int{1, 2, 4, 4, 1} {
		if err := s.Add(p.trial(s.o.Job, "sweep", b, i/3)); err != nil {
			t.Fatal(err)
		}
	}
	r := s.Report(context.Canceled)
	if r.Complete || r.Ended != "interrupted" || len(r.Trials) != 5 || r.Optimum == nil {
		t.Fatalf("%+v", r)
	}
	if b := r.Of(2); b.Status != Failed || b.Reason != "no such file" {
		t.Errorf("%+v", b)
	}
	if r.Of(1).ImagesPerS.N != 2 || r.EdgeReason == "" {
		t.Errorf("%+v", r.Of(1))
	}
}

// A sweep of which no trial succeeded says why.
func TestASweepOfNothingSaysWhy(t *testing.T) {
	for want, status := range map[string]Status{"no batch size could be measured: no such file": Failed,
		"no batch size could be measured: even 2 needs more memory than there is": OutOfMemory} {
		p := &planted{failures: map[int]Trial{2: {Status: status, Reason: "no such file"}}}
		if r, err := p.sweep(options(2), nil); err == nil || err.Error() != want || r.Complete || r.Ended != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// One run has no interval, and says so.
func TestOneRunHasNoInterval(t *testing.T) {
	p := &planted{groupMS: overhead}
	o := options(1, 2)
	o.Runs = 1
	r, err := p.sweep(o, nil)
	if err != nil || r.Optimum.MayBe != nil || r.Optimum.MayBeReason == "" || r.Optimum.BatchSize != 2 {
		t.Errorf("%v, %+v", err, r.Optimum)
	}
}

func TestTheMonitorNoticesDegradation(t *testing.T) {
	var log strings.Builder
	m := Monitor{To: &log}
	for i := range 120 {
		if a := m.Log(Entry{BatchSize: 8, Throughput: 100 + float64(i%3)}); a != nil {
			t.Fatalf("alert at %d: %+v", i, a)
		}
	}
	if a := m.Log(Entry{BatchSize: 16, Throughput: 10}); a != nil { // of another batch size
		t.Errorf("%+v", a)
	}
	a := m.Log(Entry{BatchSize: 8, Throughput: 79})
	if a == nil || !strings.HasPrefix(a.Text, "Performance degradation detected: 78 %") || m.Err() != nil {
		t.Errorf("%+v, %v", a, m.Err())
	}
	if lines := strings.Count(log.String(), "\n"); lines != 122 || !strings.Contains(log.String(), `"throughput":79,"alert":`) {
		t.Errorf("%d lines in the log, ends with %s", lines, log.String()[log.Len()-200:])
	}
	full := Monitor{To: failing{}}
	full.Log(Entry{})
	if full.Err() == nil {
		t.Error("a log that cannot be written is no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, fmt.Errorf("no space") }

// A stage whose batch size is fixed has no optimum, and says why; the others keep theirs.
func TestFixedStagesHaveNoOptimum(t *testing.T) {
	p := &planted{groupMS: overhead}
	o := options(1, 2)
	o.Job.Reassemble = 64
	r, err := p.sweep(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Stages {
		if fixed := s.Name == "reassembly"; fixed != (s.Optimum == nil) || fixed != (s.Reason == "fixed at 64") {
			t.Errorf("%+v", s)
		}
	}
}

// A size that runs for some rounds and then ends for memory is no optimum, and its runs stay
// in the report.
func TestSizesThatFailLaterAreNoOptimum(t *testing.T) {
	p := &planted{groupMS: overhead, fixedMB: 40, groupMB: 1}
	s := Begin(options(1, 8, 64))
	for round := range 3 {
		if round == 2 {
			p.failures = map[int]Trial{64: {Status: OutOfMemory}}
		}
		for _, b := range s.o.Sizes {
			if err := s.Add(p.trial(s.o.Job, "sweep", b, round)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := s.Report(nil)
	if b := r.Of(64); b.Status != OutOfMemory || b.ImagesPerS == nil || b.Scaling != nil {
		t.Errorf("%+v", b)
	}
	if r.Optimum.Fastest != 8 || slices.Contains(r.Measured(), 64) {
		t.Errorf("%+v of %v", r.Optimum, r.Measured())
	}
}

// Verdicts of claims follow from the whole interval: an optimum among sizes that may all be the fastest is not less than claimed.
func TestClaimsAreJudgedByTheirIntervals(t *testing.T) {
	for _, tt := range []struct {
		of    report.Interval
		claim stats.Claim
		want  string
	}{
		{report.Between(1.94, 0.71, 5.25), stats.Claim{From: 2, To: 5}, "undecided: it lies from 0.71 to 5.25"},
		{report.Between(1.94, 1.91, 1.97), stats.Claim{From: 2, To: 5}, "less than claimed"},
		{report.Between(3, 2.5, 3.5), stats.Claim{From: 2, To: 5}, "as claimed"},
		{report.Between(3, 1, 3.5), stats.Claim{From: 2, To: 5}, "undecided: it lies from 1 to 3.5"},
		{report.Between(9, 5.5, 12), stats.Claim{From: 2, To: 5}, "more than claimed"},
		{report.Exact(1.94), stats.Claim{From: 2, To: 5}, "undecided: an interval needs two rounds or more"},
		{report.Between(12, 12, 12), stats.Claim{From: 30, To: 50}, "less than claimed"},
		{(&Optimum{4, Spread{}, sweep.Optimum{Fastest: 4, Flat: [2]int{4, 4}, MayBe: &[2]int{1, 256}}}).among(), stats.Claim{From: 64, To: 128}, "undecided: it lies from 1 to 256"},
		{(&Optimum{4, Spread{}, sweep.Optimum{Fastest: 8, Flat: [2]int{4, 16}, MayBe: &[2]int{8, 8}}}).among(), stats.Claim{From: 64, To: 128}, "less than claimed"},
		{(&Optimum{16, Spread{}, sweep.Optimum{Fastest: 64, Flat: [2]int{16, 64}, MayBe: &[2]int{64, 64}}}).among(), stats.Claim{From: 64, To: 128}, "undecided: it lies from 16 to 64"},
		{(&Optimum{4, Spread{}, sweep.Optimum{Fastest: 4, Flat: [2]int{4, 4}}}).among(), stats.Claim{From: 64, To: 128}, "undecided: an interval needs two rounds or more"},
	} {
		if got := judged(tt.of, tt.claim); got != tt.want {
			t.Errorf("%v beside %v: %q, want %q", tt.of, tt.claim, got, tt.want)
		}
	}
}

// The plan wants the optimum within 10 %: met where every size is shown to be less than that above it.
func TestTheAccuracyOfTheOptimumIsJudged(t *testing.T) {
	for _, tt := range []struct {
		slower map[string]report.Interval
		want   string
	}{
		{map[string]report.Interval{"8": {}, "16": report.Between(0.05, 0.01, 0.08)}, "met"},
		{map[string]report.Interval{"8": {}, "16": report.Between(0.05, -0.2, 0.3)}, "undecided: another size may be faster by more"},
		{map[string]report.Interval{"8": {}, "16": report.Between(0.05, -0.97, 36)}, "undecided: 3 runs of each size are too few to tell; --runs makes more"},
		{map[string]report.Interval{"8": {}}, "met"},
	} {
		o := Optimum{8, Spread{}, sweep.Optimum{Fastest: 8, Slower: tt.slower, MayBe: &[2]int{8, 16}}}
		if got := o.accurate(3); got != tt.want {
			t.Errorf("%+v: %q, want %q", o.above(), got, tt.want)
		}
	}
	o := Optimum{8, Spread{}, sweep.Optimum{Fastest: 16, Slower: map[string]report.Interval{"8": {Value: 0.05}, "16": {}}, MayBeReason: "an interval needs two rounds or more"}}
	if got := o.accurate(3); got != "undecided: an interval needs two rounds or more" {
		t.Error(got)
	}
}
