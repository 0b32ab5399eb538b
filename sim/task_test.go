package sim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/export"
	"prismtop/profiles/preset"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workload"
	"prismtop/tui"
)

// parabola is a workload that has nothing of PRISM's: it fits a parabola to points by
// gradient descent, an epoch of ten steps after the other, on no device and without
// pictures. What it knows of prismtop is in this file.
type parabola struct {
	rate, a, b, c float64
	step, epochs  int
	began         time.Time
}

// The phases and series of a parabola.
const (
	slopes profiles.Phase = iota
	descent
)

const fitLoss, leading = 0, 1

type parabolas struct{ epochs int }

func (parabolas) Load(context.Context, *preset.Settings) (workload.Inputs, error) {
	return points("parabola"), nil
}
func (parabolas) SameInputs(_, _ *preset.Settings) bool    { return true }
func (parabolas) Reads(*preset.Settings) bool              { return false }
func (parabolas) Check(_ *preset.Settings, _ string) error { return nil }
func (m parabolas) New(_ context.Context, s preset.Settings, _ workload.Inputs) (workload.Task, error) {
	return &parabola{rate: s.LearningRate, epochs: m.epochs, began: time.Now()}, nil
}

type points string

func (p points) Name() string { return string(p) }

func (p *parabola) Info() profiles.RunInfo {
	return profiles.RunInfo{
		Schema: profiles.Schema{
			Workload: "parabola", Unit: profiles.Unit{One: "epoch", Many: "epochs"},
			Stages: []string{"fitting"}, Kinds: []profiles.KindInfo{{Name: "step", Units: true}},
			Phases: []profiles.PhaseInfo{slopes: {Name: "slopes"}, descent: {Name: "descent"}},
			Series: []profiles.SeriesInfo{
				fitLoss: {Name: "loss", Title: "loss", Better: profiles.LessIsBetter, Group: profiles.Losses, Each: true},
				leading: {Name: "leading", Title: "leading coefficient", Absent: "no epoch ended"},
			},
			Memory: []profiles.MemoryInfo{{Name: "coefficients", Parameters: true}},
		},
		Object: "parabola", Parameters: 3, Units: p.epochs,
	}
}

func (p *parabola) Device() workload.Device { return nil }
func (p *parabola) Memory() profiles.Memory {
	return profiles.Memory{Parts: [profiles.MaxMemory]int64{24}}
}
func (p *parabola) Close() {}

func (p *parabola) Apply(_ context.Context, s preset.Settings) error {
	p.rate = s.LearningRate
	return nil
}

// Iterate takes a step towards 3x² − 2x + 1.
func (p *parabola) Iterate(ctx context.Context, rec *profiles.Iteration) (workload.Outcome, error) {
	if err := ctx.Err(); err != nil {
		return workload.Outcome{}, err
	}
	start := time.Now()
	var da, db, dc, loss float64
	for i := -10; i <= 10; i++ {
		x := float64(i) / 10
		d := p.a*x*x + p.b*x + p.c - (3*x*x - 2*x + 1)
		loss += d * d / 21
		da, db, dc = da+2*d*x*x/21, db+2*d*x/21, dc+2*d/21
	}
	middle := time.Now()
	p.a, p.b, p.c = p.a-p.rate*da, p.b-p.rate*db, p.c-p.rate*dc
	rec.Phases[slopes], rec.Phases[descent] = max(int64(middle.Sub(start)), 1), max(int64(time.Since(middle)), 1)
	rec.Unit, rec.InUnit = int32(p.step/10), int32(p.step%10)
	rec.Series[fitLoss] = loss
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		rec.Flags |= profiles.NonFinite
		return workload.Outcome{}, workload.ErrDiverged
	}
	p.step++
	out := workload.Outcome{Finished: p.step == 10*p.epochs}
	if p.step%10 == 0 {
		out.UnitEnded, out.Measured = true, profiles.NoValues()
		out.Measured[leading] = p.a
		out.Result = profiles.UnitResult{Unit: rec.Unit, Iterations: 10, Values: rec.Series, Reached: loss, Elapsed: time.Since(p.began)}
		p.began = time.Now()
	}
	return out, nil
}

// fit runs a parabola to its end.
func fit(t *testing.T, epochs int, rate float64, meanwhile func(*sim.Run)) (*profiles.Snapshot, error) {
	t.Helper()
	s, _, err := preset.Resolve(preset.Sources{Preset: "quick"})
	if err != nil {
		t.Fatal(err)
	}
	s.LearningRate, s.Passes = rate, 1
	events := stream.New(1 << 12)
	r, err := sim.New(t.Context(), sim.Options{Maker: parabolas{epochs}, Settings: s, Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	if meanwhile != nil {
		meanwhile(r)
	}
	r.Start(t.Context())
	err = r.Wait()
	return aggregate.New(events.Follow(), aggregate.Options{}).Tick(time.Now()), err
}

// A run drives any task: what the task measured is in the snapshot, in JSON under the names of
// its schema, in the summary and on the line of progress.
func TestARunOfAnotherWorkload(t *testing.T) {
	s, err := fit(t, 40, 0.5, func(r *sim.Run) {
		if err := r.Set("learning_rate", "0.4"); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if s.State != profiles.Finished || s.Index != 400 || len(s.Results) != 40 || s.Stage() != "fitting" || s.Run.Device != "" {
		t.Errorf("%v after %d iterations in %d epochs, %q on %q", s.State, s.Index, len(s.Results), s.Stage(), s.Run.Device)
	}
	if a := s.Of("leading").Latest; math.Abs(a-3) > 0.1 {
		t.Errorf("the leading coefficient is %g, want 3", a)
	}
	if v := s.Of("loss"); !(v.Latest < 1e-2) || len(v.Curve) == 0 {
		t.Errorf("the loss is %g, of %d points", v.Latest, len(v.Curve))
	}
	if len(s.Changes) != 1 || s.Changes[0].Key != "learning_rate" {
		t.Errorf("changes %+v", s.Changes)
	}

	var b bytes.Buffer
	if err := export.WriteJSON(&b, export.Summarize(s, export.Source{Version: "test"})); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Samples struct{ Done, Total int }
		Phases  map[string]any `json:"phases_ms"`
		Caches  map[string]any
		Quality map[string]any
		Memory  map[string]any `json:"memory_bytes"`
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	names := func(m map[string]any) string {
		var list []string
		for k := range m {
			list = append(list, k)
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	for what, pair := range map[string][2]string{
		"phases": {names(got.Phases), "descent slopes"}, "caches": {names(got.Caches), ""},
		"quality": {names(got.Quality), "leading loss"}, "memory": {names(got.Memory), "caches coefficients rss_peak rss_peak_reason"},
	} {
		if have := strings.ReplaceAll(pair[0], " rss_peak_reason", ""); have != strings.ReplaceAll(pair[1], " rss_peak_reason", "") {
			t.Errorf("%s in JSON: %q, want %q", what, pair[0], pair[1])
		}
	}
	if got.Samples.Done != 40 || got.Samples.Total != 40 {
		t.Errorf("samples %+v", got.Samples)
	}

	summary := tui.Summary(s)
	for _, want := range []string{"400 in 40 of 40 epochs", "  loss  ", "slopes", "descent", "fitting"} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary lacks %q:\n%s", want, summary)
		}
	}
	for _, not := range []string{"sample", "PSNR", "quality", "telescope", "measurement"} {
		if strings.Contains(summary, not) {
			t.Errorf("the summary speaks of %q:\n%s", not, summary)
		}
	}
}

// A task whose loss is no number ends its run as a failure that can be told from a fault.
func TestARunOfAnotherWorkloadThatDiverges(t *testing.T) {
	s, err := fit(t, 1_000_000, 9, nil)
	if err == nil || !strings.Contains(err.Error(), "diverged") || s.State != profiles.Failed || s.NonFinite != 1 {
		t.Errorf("%v, %v with %d losses that are no numbers", err, s.State, s.NonFinite)
	}
}
