package ptycho

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

// golden are the numbers of spec/ptycho-cyto.md §A1.8, an independent derivation in
// float64: seeded weights, a sine as input, groups at given positions.
var golden = []struct {
	size, grid, scale         int
	amplitude, phase          float64 // of group 0, channel 0, at the centre
	amplitudeEdge, phaseEdge  float64 // at row 2, column 3
	meanAmplitude             float64 // over the central halves of all patches
	merged, angle, meanMerged float64 // of the merged object: at the centre, and over the central halves of both
	diffracted, energy        float64 // A at the centre and ΣA², behind a disc
	meanStitched, sumStitched float64 // mean modulus and sum of the real parts
}{
	{64, 1, 2, 0.3767181191, -2.8401469630, 0.1381731382, 0.1628375628, 0.3192851229,
		0.3763417773, -2.8401469630, 0.3189661568, 3.28824838, 78.26883767, 0.0952123765, -238.95620270},
	{64, 1, 1, 0.1629274508, -2.3912236658, -0.1254527835, 0.0352580242, 0.3350678696,
		0.1627646861, -2.3912236658, 0.3347331365, 3.00528773, 87.89130263, 0.0698098020, -129.28043308},
	{128, 2, 2, 0.4741663294, -1.7784893437, -0.0188804482, -0.1017879199, 0.5605199438,
		0.1480962299, -1.5796996997, 0.2425474979, 3.95486210, 185.45320661, 0.0542127417, -26.05169464},
}

// goldenPositions are x and y of the positions of both groups; a grid of 1 has the first
// of each.
var goldenPositions = [2][4][2]float64{
	{{10, 10}, {13, 10}, {10, 12.5}, {13.25, 12}},
	{{40, 8}, {42, 9}, {40.5, 11}, {43, 11}},
}

// The tolerances are those of float32 in some 20 layers, and of a sum of 52² values.
func TestGoldenNumbers(t *testing.T) {
	for _, want := range golden {
		for _, kernels := range cpu.KernelNames() {
			if kernels == "go" && want.scale > 1 {
				continue // seconds, and the same code as for the small network
			}
			t.Run(fmt.Sprintf("N=%d gridsize=%d s=%d %s", want.size, want.grid, want.scale, kernels), func(t *testing.T) {
				c := Config{Size: want.size, GridSize: want.grid, FiltersScale: want.scale, ProbeBig: true}
				r := runGolden(t, c, kernels)
				n := c.Size
				centre := n/2*n + n/2
				near := func(what string, got, want, tolerance float64) {
					t.Helper()
					if !(math.Abs(got-want) <= tolerance) {
						t.Errorf("%s: %.10g, want %.10g within %g", what, got, want, tolerance)
					}
				}
				near("amplitude at the centre", float64(r.amplitude[centre]), want.amplitude, 2e-6)
				near("phase at the centre", float64(r.phase[centre]), want.phase, 1e-5)
				near("amplitude at the border", float64(r.amplitude[2*n+3]), want.amplitudeEdge, 2e-6)
				near("phase at the border", float64(r.phase[2*n+3]), want.phaseEdge, 2e-6)
				near("mean amplitude", centralMean(n, len(r.amplitude), func(i int) float64 { return float64(r.amplitude[i]) }),
					want.meanAmplitude, 1e-6)
				near("mean modulus of the merged object", centralMean(n, len(r.object), func(i int) float64 { return cmplx.Abs(complex128(r.object[i])) }),
					want.meanMerged, 1e-6)
				near("modulus of the merged object", cmplx.Abs(complex128(r.object[centre])), want.merged, 2e-6)
				near("angle of the merged object", cmplx.Phase(complex128(r.object[centre])), want.angle, 1e-5)
				energy := 0.0
				for _, v := range r.intensity[:n*n] {
					energy += float64(v)
				}
				near("diffracted amplitude", math.Sqrt(float64(r.intensity[centre])), want.diffracted, 1e-5)
				near("diffracted energy", energy, want.energy, 2e-4)

				stitched, err := Reassemble(r.object, n, groupMeans(c))
				if err != nil {
					t.Fatal(err)
				}
				if stitched.Side != 52 || stitched.Pad != 16 {
					t.Fatalf("stitched on %d pixels with a pad of %d, want 52 and 16", stitched.Side, stitched.Pad)
				}
				modulus, sum := 0.0, 0.0
				for _, z := range stitched.Object {
					modulus += cmplx.Abs(complex128(z))
					sum += float64(real(z))
				}
				near("mean modulus of the stitched object", modulus/(52*52), want.meanStitched, 1e-6)
				near("sum of the stitched object", sum, want.sumStitched, 1e-3)
			})
		}
	}
}

// centralMean is the mean over the central n/2×n/2 of planes of n×n with the given number
// of values.
func centralMean(n, count int, value func(i int) float64) float64 {
	total := 0.0
	for i := range count {
		if y, x := i/n%n, i%n; y >= n/4 && y < n-n/4 && x >= n/4 && x < n-n/4 {
			total += value(i)
		}
	}
	return total / float64(count/4)
}

// goldenResults are what a plan computed, and the diffraction of the merged objects.
type goldenResults struct {
	amplitude, phase, intensity []float32
	object                      []complex64
}

func runGolden(t *testing.T, c Config, kernels string) goldenResults {
	t.Helper()
	n, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	b := n.builder(nn.NewGraph(n.model), 2)
	amplitude, phase := b.heads()
	b.expose(PlanOptions{Heads: true}, amplitude, phase)
	object := b.merge(amplitude, phase, c.Size)
	b.graph.Output(ObjectOutput, object)
	disc := b.graph.Input(ProbeInput, tensor.Shape{2, c.Size, c.Size})
	b.graph.Output(IntensityOutput, b.graph.Intensity(b.graph.FFT(b.graph.ProbeMultiply(object, disc))))
	plan, err := nn.Compile(t.Context(), b.graph, nn.Value{}, nn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := load(t, n, plan, cpu.Options{Threads: 2, Kernels: kernels})
	p.Write(DiffractionInput, sine(c, 2))
	p.Write(OffsetsInput, goldenOffsets(c))
	p.Write(ProbeInput, discProbe(c.Size))
	p.Run(nn.SegmentForward, nn.SegmentEvaluate)
	return goldenResults{p.Read(AmplitudeOutput), p.Read(PhaseOutput), p.Read(IntensityOutput), complexes(p.Read(ObjectOutput))}
}

// sine is 0.5 + 0.5·sin(0.013·i) at the flat index i of [B, N, N, C].
func sine(c Config, batch int) []float32 {
	n, channels := c.Size, c.Channels()
	x := make([]float32, batch*channels*n*n)
	for i := range x {
		image, pixel, channel := i/(n*n*channels), i/channels%(n*n), i%channels
		x[(image*channels+channel)*n*n+pixel] = float32(0.5 + 0.5*math.Sin(0.013*float64(i)))
	}
	return x
}

// groupMeans are the centres of the golden groups.
func groupMeans(c Config) [][2]float64 {
	var all [][2]float64
	for _, group := range goldenPositions {
		var mean [2]float64
		for _, p := range group[:c.Channels()] {
			mean[0] += p[0] / float64(c.Channels())
			mean[1] += p[1] / float64(c.Channels())
		}
		all = append(all, mean)
	}
	return all
}

// goldenOffsets are the distances of the positions to their groups' centres, negative.
func goldenOffsets(c Config) []float32 {
	var all []float32
	for i, mean := range groupMeans(c) {
		for _, p := range goldenPositions[i][:c.Channels()] {
			all = append(all, float32(mean[0]-p[0]), float32(mean[1]-p[1]))
		}
	}
	return all
}

// discProbe is 1 within N/4 of the centre between pixels, and real.
func discProbe(n int) []float32 {
	probe := make([]float32, 2*n*n)
	for i := range n * n {
		if inDisc(i, n) {
			probe[i] = 1
		}
	}
	return probe
}

// load loads a plan on the CPU with seeded weights.
func load(t testing.TB, n *Network, plan *nn.Plan, o cpu.Options) *nntest.Program {
	t.Helper()
	backend, err := cpu.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	p := nntest.Load(t, backend, n.model, plan)
	if err := n.SetWeights(p.State, n.Seeded(12345)); err != nil {
		t.Fatal(err)
	}
	return p
}

// complexes joins pairs of real and imaginary parts.
func complexes(parts []float32) []complex64 {
	z := make([]complex64, len(parts)/2)
	for i := range z {
		z[i] = complex(parts[2*i], parts[2*i+1])
	}
	return z
}
