package suite_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/adviser"
	"prismtop/profiles/criteria"
	"prismtop/sim/bench/suite"
)

func smallAMP() suite.AMPOptions {
	return suite.AMPOptions{Sizes: []suite.AMPGeometry{{Size: 64, ObjectSize: 16}, {Size: 128, ObjectSize: 16}}, LearningRates: []float64{1e-2}, Iterations: 20, Seeds: 2}
}

// checkAMP checks the measurement of mixed precision by size.
func checkAMP(t *testing.T, r *suite.Report) {
	t.Helper()
	a := r.AMP
	if len(a.Sizes) != 2 || !slices.Equal(a.LearningRates, []float64{1e-3, 1e-2}) || a.Scaler == nil || a.Scaler.Iterations < 2000 {
		t.Fatalf("%+v", a)
	}
	// PyTorch's scaler doubles its factor after 2000 good steps.
	if c := a.Scaler.Course; c[0].Scale != 65536 || c[0].Iteration != 0 || len(c) < 2 {
		t.Errorf("the scaler's course is %+v", c)
	}
	for _, z := range a.Sizes {
		if len(z.Modes) != 3 || len(z.Trainings) != 5*2 || z.Checkpointing <= 0 {
			t.Fatalf("%+v", z)
		}
		for _, m := range z.Modes {
			if m.Speedup.Low == nil || m.OnBytes <= 0 || m.OffBytes <= 0 || len(m.Criteria) != 5*2 || !strings.Contains(m.Advice, "amp = "+m.Mode) {
				t.Errorf("%+v", m)
			}
			if m.OffPeak == nil && m.NoPeak == "" || m.OffPeak != nil && *m.OffPeak < 0 {
				t.Errorf("peak %v, %q", m.OffPeak, m.NoPeak)
			}
		}
		checkTrainings(t, &z)
	}
	checkAdvice(t, r)
	var b bytes.Buffer
	if err := suite.Text("Mixed precision", suite.TheSizes)(r, &b); err != nil || strings.Contains(b.String(), "NaN") || !strings.Contains(b.String(), "gradient norm") || !strings.Contains(b.String(), "64/16") {
		t.Errorf("%v: %s", err, b.String())
	}
	for _, c := range r.Claims {
		if c.ID == "guide.amp.loss" && (c.Measured == nil || c.Verdict == "") || c.ID == "guide.amp.1024" && c.Measured != nil {
			t.Errorf("%+v", c)
		}
	}
}

// checkTrainings checks that those of a seed and a rate begin with the same weights: float32 and its control to
// rounding, bf16 to its three digits.
func checkTrainings(t *testing.T, z *suite.AMPSize) {
	t.Helper()
	for _, tr := range z.Trainings {
		want := 2
		if tr.Mode == suite.Control {
			want = 4
		}
		if len(tr.Runs) != want {
			t.Fatalf("%s: %d runs", tr.Mode, len(tr.Runs))
		}
		for i, run := range tr.Runs {
			base := z.Trainings[slices.IndexFunc(z.Trainings, func(b suite.Training) bool { return b.Mode == "off" && b.LearningRate == tr.LearningRate })].Runs[i%2]
			far := 0.05
			if tr.Mode == suite.Control || tr.Mode == "bf16x3" {
				far = 1e-3
			}
			if run.FirstLoss == nil || math.Abs(*run.FirstLoss/(*base.FirstLoss)-1) > far || run.Seed != base.Seed {
				t.Errorf("%s at %g, seed %d: the first loss is %v, float32's %v", tr.Mode, tr.LearningRate, run.Seed, run.FirstLoss, *base.FirstLoss)
			}
			if run.Gradients == nil || run.Gradients.Median <= 0 || run.Rate == nil || run.SSIM == nil || (run.ScaleFirst > 0) != (tr.Mode == "fp16") {
				t.Errorf("%s: %+v", tr.Mode, run)
			}
		}
	}
}

// checkAdvice checks that the advice says what was measured.
func checkAdvice(t *testing.T, r *suite.Report) {
	t.Helper()
	advice := r.Advice()
	if len(advice) != 6 {
		t.Fatalf("%d pieces of advice", len(advice))
	}
	for i, a := range advice {
		z := r.AMP.Sizes[i/3]
		m := z.Modes[i%3]
		if a.Value != m.Mode || a.Size() != (suite.AMPGeometry{Size: z.Size, ObjectSize: z.ObjectSize}).String() || a.Machine.CPU != "a processor" || a.Machine.Kernels == "" || a.Machine.Threads < 1 || a.Version != "test" || a.Measured.IsZero() {
			t.Errorf("%+v", a)
		}
		slower := *a.Low > 0
		if slower && a.Verdict != adviser.DoNotUse || slower != (*m.Speedup.High < 1) || a.Sentence() != m.Advice {
			t.Errorf("%s, measured %+v", a.Sentence(), m.Speedup)
		}
		failed := slices.ContainsFunc(m.Criteria, func(k suite.AMPCriterion) bool { return k.Verdict == criteria.Fail })
		if failed != (len(a.Risks) > 0) || failed && a.Verdict != adviser.DoNotUse {
			t.Errorf("%+v, of %+v", a, m.Criteria)
		}
	}
	dir := t.TempDir()
	if err := (adviser.Store{Dir: dir}).Add(t.Context(), advice); err != nil {
		t.Fatal(err)
	}
	if kept, err := (adviser.Store{Dir: dir}).Load(t.Context(), advice[0].Machine); err != nil || len(kept) != 6 {
		t.Errorf("%d kept, %v", len(kept), err)
	}
}

func TestSizesMeasuredBeforeAnInterruptionAreKept(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	o := small(t)
	o.Progress = func(what string, _ float64, _ time.Duration) {
		if strings.HasSuffix(what, "128/16") {
			stop()
		}
	}
	s := suite.New(o)
	few := smallAMP()
	few.LearningRates, few.Seeds = nil, 1
	s.AMP(few, 1)
	r, err := s.Run(ctx)
	if !errors.Is(err, context.Canceled) || r.AMP == nil || len(r.AMP.Sizes) != 1 || r.AMP.Sizes[0].Modes[0].Advice == "" || len(r.Advice()) != 3 {
		t.Fatalf("%v, %+v", err, r.AMP)
	}
	var b bytes.Buffer
	if err := suite.Text("Mixed precision", suite.TheSizes)(r, &b); err != nil || !strings.Contains(b.String(), "NOT COMPLETE: interrupted") {
		t.Errorf("%v: %s", err, b.String())
	}
}
