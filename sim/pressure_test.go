package sim

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/workload"
)

var pressedTable = settings.NewTable("pressed", nil,
	settings.Integer("a", settings.BatchSize, "", "size", 1, 1024).Live(),
	settings.Switch("a", settings.AdaptBatch, "by pressure").Live().Limit(), settings.IterationLimit("b"))

// pressed is a workload that refuses batches of more than most.
type pressed struct {
	workload.Maker
	workload.Task
	most int
	v    settings.Values
}

func (p *pressed) Name() string                                                   { return "pressed" }
func (p *pressed) Load(context.Context, settings.Values) (workload.Inputs, error) { return p, nil }
func (p *pressed) SameInputs(_, _ settings.Values) bool                           { return true }
func (p *pressed) Reads(settings.Values) bool                                     { return false }
func (p *pressed) FitsBeside(settings.Values, int64) bool                         { return true }
func (p *pressed) Device() workload.Device                                        { return nil }
func (p *pressed) Close()                                                         {}
func (p *pressed) Apply(_ context.Context, v settings.Values) error               { p.v = v; return nil }
func (p *pressed) Memory() profiles.Memory                                        { return profiles.Memory{} }
func (p *pressed) Info() profiles.RunInfo {
	return profiles.RunInfo{Schema: profiles.Schema{Workload: "pressed", Stages: []string{"all"}, Unit: profiles.Unit{One: "pass", Many: "passes"},
		Kinds: []profiles.KindInfo{{Name: "batches"}}, Phases: []profiles.PhaseInfo{{Name: "work"}}}}
}

func (p *pressed) Check(v settings.Values, _ string) error {
	if v.Int(settings.BatchSize) > p.most {
		return fmt.Errorf("batches of %d: must be at most %d", v.Int(settings.BatchSize), p.most)
	}
	return nil
}

func (p *pressed) New(_ context.Context, v settings.Values, _ workload.Inputs) (workload.Task, error) {
	return &pressed{v: v}, nil
}

func (p *pressed) Iterate(context.Context, *profiles.Iteration) (workload.Outcome, error) {
	return workload.Outcome{}, nil
}

// The batch size follows the memory in use by the plan's rule: halved above 0.9 to no less than 1, doubled below 0.5 to no more than 256 or
// what the workload allows, and not to a size that was left before a user sets another.
func TestTheBatchSizeFollowsMemoryPressure(t *testing.T) {
	files := fstest.MapFS{"pressed.toml": {Data: []byte("description = \"x\"\nbatch_size = 32\nadapt_batch = true\nmax_iterations = 0\n")}}
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{{Table: pressedTable, Files: files, Default: "pressed"}}})
	if err != nil {
		t.Fatal(err)
	}
	events, m := stream.New(1<<12), &pressed{most: 1024}
	r, err := New(t.Context(), Options{Maker: m, Settings: v, Stream: events})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	a := aggregate.New(events.Follow(), aggregate.Options{})
	share, step := 0.0, 0
	r.loop.pressure.read = func(*loop) float64 { return share }
	next := func(pressure float64, want int) *profiles.Snapshot {
		t.Helper()
		share = pressure
		if _, _, err := r.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := a.Tick(time.Now())
		if got := s.Settings.Int(settings.BatchSize); got != want {
			t.Errorf("step %d at a pressure of %g: batches of %d, want %d", step, pressure, got, want)
		}
		step++
		return s
	}
	next(0.7, 32)
	next(0.9, 32)
	next(0.5, 32)
	next(math.NaN(), 32)
	for _, want := range []int{64, 128, 256, 256} {
		next(0.49, want)
	}
	s := next(0.93, 128)
	if log := s.Log[len(s.Log)-1].Text; !strings.Contains(log, "batch_size = 256 → 128: 93 % of the memory in use") {
		t.Errorf("the log ends with %q", log)
	}
	if c := s.Changes[len(s.Changes)-1]; c.Key != settings.BatchSize || c.Before != "256" || c.After != "128" || c.Ablation {
		t.Errorf("the change is %+v", c)
	}
	next(0.1, 128) // 256 was left
	for _, want := range []int{64, 32, 16, 8, 4, 2, 1, 1} {
		next(0.99, want)
	}
	next(0.2, 1) // 2 was left
	if err := r.Set(settings.BatchSize, "300"); err != nil {
		t.Fatal(err)
	}
	next(0.2, 300) // above the cap, which a user set
	if err := r.Set(settings.BatchSize, "3"); err != nil {
		t.Fatal(err)
	}
	m.most = 10
	next(0.2, 6)
	next(0.2, 6) // 12 is refused
	if err := r.Set(settings.AdaptBatch, "false"); err != nil {
		t.Fatal(err)
	}
	next(0.99, 6)
}
