package tasks

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// measured returns a training task's result whose rounds took some times.
func measured(branch, experiment string, seconds ...float64) Result {
	task := Task{Kind: Training, Branch: branch, Experiment: experiment}
	var rounds []Round
	for i, s := range seconds {
		rounds = append(rounds, trainings(i+1, s))
	}
	return task.Result(rounds)
}

// row returns the comparison of a task of the first experiment.
func row(c *Comparison, i int) Measure { return c.Groups[0].Tasks[i].Measures[0] }

// The first task of an experiment is the baseline; a faster one has a speed-up above 1.
func TestTheFirstTaskIsTheBaseline(t *testing.T) {
	c := Compare([]Result{
		measured("main", Segmentation, 10), measured("combined", Segmentation, 5), measured("phase1", Segmentation, 20),
		measured("other", LabelFree, 3), measured("combined", LabelFree, 6),
	}, FirstTask)
	if len(c.Groups) != 2 || c.Groups[0].Baseline != 0 || c.Groups[1].Baseline != 3 {
		t.Fatalf("%+v", c)
	}
	if m := row(c, 0); m.SpeedUp != nil || m.Value != 10 || m.Name != "total_training" {
		t.Errorf("%+v", m)
	}
	// 1e-12: logarithms and back.
	if a, b := row(c, 1), row(c, 2); math.Abs(*a.SpeedUp-2) > 1e-12 || math.Abs(*b.SpeedUp-0.5) > 1e-12 || a.Low != nil || a.Reason != "1 of at least 6 rounds: no interval" {
		t.Errorf("%+v, %+v", a, b)
	}
	// More samples a second are faster, fewer seconds, too: (10−1)/(5−1) of training alone.
	for _, m := range c.Groups[0].Tasks[1].Measures {
		if m.Name == "throughput_samples_per_sec" && math.Abs(*m.SpeedUp-9.0/4) > 1e-12 {
			t.Errorf("%+v", m)
		}
	}
	if got := *c.Groups[1].Tasks[1].Measures[0].SpeedUp; math.Abs(got-0.5) > 1e-12 {
		t.Errorf("speed-up %g", got)
	}
}

// By the rule of CytoDL's script, no speed-up is above 1.
func TestTheFastestTaskIsTheBaselineIfAsked(t *testing.T) {
	c := Compare([]Result{measured("main", Segmentation, 10), measured("combined", Segmentation, 5), measured("phase1", Segmentation, 20)}, FastestTask)
	if c.Groups[0].Baseline != 1 || row(c, 1).SpeedUp != nil || math.Abs(*row(c, 0).SpeedUp-0.5) > 1e-12 || math.Abs(*row(c, 2).SpeedUp-0.25) > 1e-12 {
		t.Errorf("%+v", c.Groups[0])
	}
}

// Rounds that both tasks have give an interval, which holds the truth as often as it says even
// while the machine becomes slower.
func TestIntervalsHoldTheTruth(t *testing.T) {
	const repetitions, rounds, truth = 400, 8, 1.1
	r := rand.New(rand.NewPCG(1, 2))
	held := 0
	for n := range repetitions {
		seconds := [3][rounds]float64{}
		at := 0
		for round, order := range Schedule(3, rounds, uint64(n)) {
			for _, i := range order {
				drift := 1 + 0.01*float64(at)
				seconds[i][round] = 20 * drift * math.Exp(0.03*r.NormFloat64())
				at++
			}
		}
		for i := range seconds[0] {
			seconds[1][i] /= truth
		}
		c := Compare([]Result{measured("main", Segmentation, seconds[0][:]...), measured("fast", Segmentation, seconds[1][:]...), measured("same", Segmentation, seconds[2][:]...)}, FirstTask)
		m := row(c, 1)
		if m.Rounds != rounds || m.Low == nil {
			t.Fatalf("%+v", m)
		}
		if *m.Low <= truth && truth <= *m.High {
			held++
		}
	}
	// The standard error of a share of 95 % over 400 repetitions is 1.1 %.
	if share := float64(held) / repetitions; share < 0.93 {
		t.Errorf("%.3f of the intervals hold the truth", share)
	}
}

// What failed has a reason, not a number.
func TestFailedTasksAreNotCompared(t *testing.T) {
	task := Task{Kind: Training, Branch: "broken", Experiment: Segmentation}
	broken := task.Result([]Round{Failed(Round{Round: 1}, errors.New("out of memory"))})
	c := Compare([]Result{measured("main", Segmentation, 10), broken}, FirstTask)
	if got := c.Groups[0].Tasks[1]; got.Reason != "the task failed" || len(got.Measures) != 0 {
		t.Errorf("%+v", got)
	}
	c = Compare([]Result{broken, measured("main", Segmentation, 10)}, FirstTask)
	if g := c.Groups[0]; g.Baseline != -1 || g.Reason != "the baseline broken: the task failed" || g.Tasks[1].Measures[0].SpeedUp != nil {
		t.Errorf("%+v", g)
	}
	if c = Compare([]Result{broken, measured("main", Segmentation, 10)}, FastestTask); c.Groups[0].Baseline != 1 {
		t.Errorf("%+v", c.Groups[0])
	}
	// A round that failed is left out of both.
	half := measured("half", Segmentation, 5, 5, 5)
	half.Rounds[1] = Failed(half.Rounds[1], errors.New("killed"))
	if m := row(Compare([]Result{measured("main", Segmentation, 10, 40, 10), half}, FirstTask), 1); m.Rounds != 2 || math.Abs(*m.SpeedUp-2) > 1e-12 {
		t.Errorf("%+v", m)
	}
	for _, none := range [][]Result{nil, {broken}} {
		if c := Compare(none, FirstTask); c.Reason == "" || len(c.Groups) != 0 {
			t.Errorf("%+v", c)
		}
	}
}

// Files of CytoDL's script, without rounds, are compared, and trainings not with inferences.
func TestFilesOfOthersAreCompared(t *testing.T) {
	all, err := Decode([]byte(`[
		{"branch":"main","experiment":"e","success":true,"metrics":{"total_inference":{"elapsed_seconds":4},"inference_info":{"throughput_samples_per_sec":10}}},
		{"branch":"main","experiment":"e","success":true,"metrics":{"total_training":{"elapsed_seconds":9}}},
		{"branch":"fast","experiment":"e","success":true,"metrics":{"total_inference":{"elapsed_seconds":2}}}]`))
	if err != nil {
		t.Fatal(err)
	}
	c := Compare(all, FirstTask)
	if len(c.Groups) != 2 || len(c.Groups[0].Tasks) != 2 || math.Abs(*row(c, 1).SpeedUp-2) > 1e-12 {
		t.Errorf("%+v", c)
	}
	// A round that claims to be of the other kind has none of the measures.
	all[2].Rounds = []Round{{Round: 1, Success: true, Metrics: Metrics{Training: &TrainingMetrics{TotalTraining: timer(1)}}}}
	if got := Compare(all, FirstTask).Groups[0].Tasks[1].Measures; len(got) != 1 || got[0].SpeedUp != nil || got[0].Reason != "no round has it of both tasks" {
		t.Errorf("%+v", got)
	}
}

func TestComparisonsAreText(t *testing.T) {
	six := []float64{10, 10.1, 10, 9.9, 10, 10}
	fast := []float64{5, 5, 5, 5, 5, 5}
	task := Task{Kind: Training, Branch: "broken", Experiment: Segmentation}
	var b strings.Builder
	results := []Result{measured("main", Segmentation, six...), measured("combined", Segmentation, fast...), task.Result(nil), measured("main", LabelFree, 3), measured("combined", LabelFree, 2)}
	if err := Compare(results, FirstTask).Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"im2im/segmentation, training: speed-up against main\n",
		"  main                           total              10.0000 s          baseline\n",
		"  combined                       total               5.0000 s          2.00x [1.98, 2.02]  forecast 40-80% overall speedup: more than forecast\n",
		"                                 throughput        100.0000 samples/s  2.25x [",
		"  broken                         the task failed\n",
		"\nim2im/labelfree, training: speed-up against main\n",
		"  combined                       total               2.0000 s          1.50x (1 of at least 6 rounds: no interval)  forecast 40-80% overall speedup: undecided\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	b.Reset()
	_ = Compare(results, FastestTask).Write(&b)
	if !strings.Contains(b.String(), "speed-up against combined, the fastest\n") {
		t.Error(b.String())
	}
	b.Reset()
	_ = Compare(nil, FirstTask).Write(&b)
	if b.String() != "fewer than two tasks: nothing to compare\n" {
		t.Error(b.String())
	}
}

// One round is in the order of the list; several are in random order, balanced in pairs.
func TestRoundsAreBalanced(t *testing.T) {
	if got := Schedule(4, 1, 7); len(got) != 1 || !slices.Equal(got[0], []int{0, 1, 2, 3}) {
		t.Errorf("%v", got)
	}
	all := Schedule(5, 6, 7)
	firsts := map[int]bool{}
	for i, order := range all {
		if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, []int{0, 1, 2, 3, 4}) {
			t.Errorf("round %d is %v", i, order)
		}
		firsts[order[0]] = true
		if i%2 == 1 {
			back := slices.Clone(order)
			slices.Reverse(back)
			if !slices.Equal(back, all[i-1]) {
				t.Errorf("round %d is %v after %v", i, order, all[i-1])
			}
		}
	}
	if len(firsts) < 3 {
		t.Errorf("first are %v only", firsts)
	}
	if again := Schedule(5, 6, 7); !slices.EqualFunc(all, again, slices.Equal) {
		t.Error("the same seed gives another order")
	}
	if other := Schedule(5, 6, 8); slices.EqualFunc(all, other, slices.Equal) {
		t.Error("another seed gives the same order")
	}
	if got := Schedule(3, 0, 1); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// What CytoDL's document expects of a phase is judged by the whole interval, against the variant that the phase adds
// to.
func TestForecastsAreJudged(t *testing.T) {
	six := func(v float64) []float64 { return []float64{v, v * 1.01, v, v * 0.99, v, v * 1.005} }
	verdict := func(branch string, times []float64, baseline string) (text string) {
		base := measured(baseline, Segmentation, six(10)...)
		for _, g := range Compare([]Result{base, measured(branch, Segmentation, times...)}, FirstTask).Groups {
			for _, m := range g.Tasks[1].Measures {
				if m.Forecast != "" {
					text += m.Forecast + ": " + m.Verdict
				}
			}
		}
		return text
	}
	for _, tt := range []struct {
		branch   string
		times    []float64
		baseline string
		want     string
	}{
		{"combined", six(6), "main", "40-80% overall speedup: as forecast"},
		{"claude/all-optimizations-combined-x", six(9.5), "main", "40-80% overall speedup: less than forecast"},
		{"combined", []float64{5, 12, 6, 11, 7, 9}, "main", "40-80% overall speedup: undecided"},
		{"combined", []float64{6}, "main", "40-80% overall speedup: undecided"},
		{"combined", six(6), "phase3", "40-80% overall speedup: not judged: main must be the baseline"},
		{"phase4", six(10.1), "phase3", "No performance change: as forecast"},
		{"phase4", six(8), "main", "No performance change: not judged: the phases are cumulative, so that phase3 must be the baseline"},
		{"feature", six(6), "main", ""},
	} {
		if got := verdict(tt.branch, tt.times, tt.baseline); got != tt.want {
			t.Errorf("%s of %v against %s: %q, want %q", tt.branch, tt.times, tt.baseline, got, tt.want)
		}
	}
}

// Runs of a task lie within ±5 % of their median, or do not.
func TestTheSpreadOfRoundsIsJudged(t *testing.T) {
	for want, times := range map[string][]float64{"within it": {10, 10.4, 9.7}, "beyond it": {10, 10.6, 9.9}} {
		c := Compare([]Result{measured("main", Segmentation, times...), measured("combined", Segmentation, 5)}, FirstTask).Groups[0]
		if s := c.Tasks[0].Spread; s == nil || s.Verdict != want || s.Rounds != 3 {
			t.Errorf("%v: %+v, want %s", times, s, want)
		}
		if s := c.Tasks[1].Spread; s != nil {
			t.Errorf("one round: %+v", s)
		}
	}
}
