package gpu_test

import (
	"math"
	"strings"
	"testing"

	"prismtop/gpu/emulator"
	"prismtop/sim"
	"prismtop/sim/cpu/host"
	"prismtop/sim/optics"
	"prismtop/sim/prism"
)

// The tolerances of a GPU's metrics: the losses' sums in float32 round to 1e-6 of their value, and SSIM of a noisy
// picture is a quotient of small variances.
const (
	ssimTolerance    = 2e-6
	decibelTolerance = 1e-4
	rmseTolerance    = 1e-5 // of its value
)

// quality returns what a run says of its newest output, and what the processor says of the same pictures.
func quality(t *testing.T, r *sim.Run) (got, want optics.Quality) {
	t.Helper()
	v, err := r.Quality(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got = optics.Quality{PSNR: v[prism.SeriesPSNR], SSIM: v[prism.SeriesSSIM], RMSE: v[prism.SeriesRMSE]}
	output, truth := r.Picture(prism.PictureReconstruction), r.Picture(prism.PictureTruth)
	window := optics.Window{Size: output.Width}
	want, err = (&host.Metrics{}).Compare(t.Context(), output.Pixels, truth.Pixels, output.Width, window)
	if err != nil {
		t.Fatal(err)
	}
	return got, want
}

// Metrics of a run on a GPU are computed there, from the output as it is there, in every precision and generation, and
// are the processor's.
func TestMetricsOnAGPUAreTheProcessors(t *testing.T) {
	for _, capability := range []int{75, 80} {
		for _, sets := range [][]string{nil, {"object_size=9"}, {"object_size=16"}, {"amp=fp16"}, {"amp=bf16"}} {
			if capability < 80 && sets != nil && sets[0] == "amp=bf16" {
				continue
			}
			d, _ := emulated(emulator.Options{Devices: []emulator.DeviceOptions{{Capability: capability}}})
			r := begun(t, d, append(sets, "device=cuda")...)
			for i := range 9 {
				if _, _, err := r.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
				got, want := quality(t, r)
				if !(math.Abs(got.SSIM-want.SSIM) <= ssimTolerance) || !(math.Abs(got.PSNR-want.PSNR) <= decibelTolerance) ||
					!(math.Abs(got.RMSE-want.RMSE) <= rmseTolerance*want.RMSE) {
					t.Errorf("sm_%d, %v, iteration %d: %+v, the processor's are %+v", capability, sets, i, got, want)
				}
			}
		}
	}
}

// The kernel of SSIM runs at the end of a sample, though the loss is another, and its fault is that of the run's device.
func TestAFaultInTheMetricsIsTheDevices(t *testing.T) {
	d, driver := emulated(emulator.Options{})
	r, a, err := start(t, d, "device=cuda", "samples=2")
	if err != nil {
		t.Fatal(err)
	}
	driver.Inject(emulator.Fault{Kernel: "ssim_total", N: 1, Result: 700})
	if got, want := len(losses(t, r)), 3+2*4; got < want { // and those since the state that was kept
		t.Errorf("%d iterations, want %d at least", got, want)
	}
	text, s := logged(a)
	if !strings.Contains(text, "700") || s.Settings.Get("device") != "cpu" {
		t.Errorf("the device is %q after: %s", s.Settings.Get("device"), text)
	}
	if v, err := r.Quality(t.Context()); err != nil || !(v[prism.SeriesPSNR] > 0) {
		t.Errorf("the quality on the processor: %v, %v", v[prism.SeriesPSNR], err)
	}
}
