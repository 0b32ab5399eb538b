package sim

import (
	"math"
	"prismtop/sim/workloads"
	"testing"

	"prismtop/sim/cpu"
)

// Every variant of the kernels is one that a run can be made with, and trains
// to the same loss but for rounding, which twenty iterations make little of.
func TestRunUsesTheKernelsOfTheSettings(t *testing.T) {
	losses := map[string]float64{}
	for _, kernels := range cpu.KernelNames() {
		s := finish(t, Options{Maker: workloads.PRISM(workloads.Devices{}), Settings: configured(t, append(small, "kernels="+kernels, "max_iterations=20")...)})
		if s.Run.Kernels != kernels {
			t.Errorf("kernels=%s ran on %s", kernels, s.Run.Kernels)
		}
		losses[kernels] = s.Of("loss_new").Latest
	}
	for kernels, loss := range losses {
		if want := losses["go"]; math.IsNaN(loss) || math.Abs(loss-want) > 1e-3*want {
			t.Errorf("kernels=%s: loss %g after 20 iterations, plain Go has %g", kernels, loss, want)
		}
	}
}
