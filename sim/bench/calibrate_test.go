package bench

import (
	"math"
	"strings"
	"testing"

	"prismtop/sim/workloads"
)

// What is injected is counted by its size, on and off by turns, and a large effect is found.
func TestCalibrateCountsWhatItInjects(t *testing.T) {
	told := 0
	c, err := Calibrate(t.Context(), CalibrateOptions{
		Maker: workloads.PRISM(workloads.Devices{}), Settings: smallField(t), Sizes: []float64{0, 4}, Changes: 6, Every: 60, Phase: "optimizer",
		Progress: func(done, all int) {
			if told++; done != told || all != 12 {
				t.Errorf("progress %d of %d", done, all)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	counted := c.Sizes[0].ByKey.N + c.Sizes[1].ByKey.N
	if c.Changes != 12 || counted+c.Incomparable != 12 || told != 12 || !(c.IterationMS > 0) {
		t.Errorf("%+v after %d reports", c, told)
	}
	if large := c.Sizes[1].ByKey; large.N > 0 && large.Found != 1 {
		t.Errorf("five times the time was found in %g of %d", large.Found, large.N)
	}
	var b strings.Builder
	if err := WriteCalibration(&b, c); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"12 changes", "0 %", "400 %", "by key", "pressed", "replicated"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
}

// Presses on and off are tallied with the time that their decisions take, which is bounded by that of one and its last iteration.
func TestCalibrateDecidesPresses(t *testing.T) {
	c, err := Calibrate(t.Context(), CalibrateOptions{
		Maker: workloads.PRISM(workloads.Devices{}), Settings: smallField(t), Sizes: []float64{0.5}, Presses: 2, Every: 60,
	})
	if err != nil {
		t.Fatal(err)
	}
	if s := &c.Sizes[0]; s.Pressed.N != 2 || !(s.Decided > 0 && s.Slowest >= s.Decided) || s.Replicated.N != 0 {
		t.Errorf("%+v", s)
	}
	var b strings.Builder
	if err := WriteCalibration(&b, c); err != nil || strings.Contains(b.String(), "0 changes") {
		t.Errorf("%v: of changes that were not asked for:\n%s", err, b.String())
	}
}

func TestTallyIsTheShare(t *testing.T) {
	var y Tally
	for i := range 8 {
		y.add(i%4 == 0, i%2 == 0, true, 0.03+0.01*float64(i%8), 0.02)
	}
	if y.N != 8 || math.Abs(y.Found-0.25) > 1e-12 || math.Abs(y.Equal-0.5) > 1e-12 || y.Covered != 1 || math.Abs(y.Ratio-2.5) > 1e-12 {
		t.Errorf("%+v", y)
	}
}
