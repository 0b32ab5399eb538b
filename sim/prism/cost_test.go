package prism

import (
	"math"
	"strings"
	"testing"

	"prismtop/sim/nn"
)

// The convolutions of the 512/128 decoder have the operations and bytes that their
// shapes give by hand: 2·in·out·k²·pixels operations, every operand and result once.
func TestStepsCountOperationsAndBytes(t *testing.T) {
	p, err := shelves.Lookup("baseline")
	if err != nil {
		t.Fatal(err)
	}
	s := From(p.Settings)
	decoder, err := NewDecoder(decoderConfig(&s))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := decoder.ProgressivePlan(t.Context(), PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]nn.Step{}
	for _, step := range plan.Steps {
		steps[step.Name] = step
	}
	tests := []struct {
		step      string
		mflop, mb float64
	}{
		{"layer 1 convT", 4.2, 8.4},       // 512→256, 1→4
		{"layer 1 convT dW", 4.2, 8.4},    //
		{"layer 1 convT dX", 4.2, 8.4},    //
		{"layer 2 convT", 16.8, 2.1},      // 256→128, 4→8
		{"layer 2 convT dW", 16.8, 2.1},   //
		{"layer 3 convT dX", 16.8, 0.6},   // 128→64, 8→16
		{"layer 5 convT", 16.8, 0.4},      // 32→16, 32→64
		{"layer 6 convT", 16.8, 0.8},      // 16→8, 64→128
		{"layer 7 conv", 9.4, 0.8},        // 8→4, 3×3 at 128
		{"layer 8 conv dW", 2.4, 0.4},     // 4→2
		{"conv0.weight Adam", 27.3, 58.7}, // 13 a parameter; reads and writes of four arrays but for the gradient's one
	}
	for _, test := range tests {
		step, ok := steps[test.step]
		if !ok {
			var names []string
			for name := range steps {
				names = append(names, name)
			}
			t.Fatalf("no step %q among %s", test.step, strings.Join(names, ", "))
		}
		mflop, mb := float64(step.FLOPs)/1e6, float64(step.Bytes)/1e6
		if math.Abs(mflop-test.mflop) > 0.06 || math.Abs(mb-test.mb) > 0.06 {
			t.Errorf("%s: %.2f MFLOP and %.2f MB, want %.1f and %.1f", test.step, mflop, mb, test.mflop, test.mb)
		}
	}
}
