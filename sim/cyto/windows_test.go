package cyto

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

func TestWindowsCoverASide(t *testing.T) {
	for _, c := range []struct {
		side, window int
		overlap      float64
		want         []int
	}{
		{40, 16, 0, []int{0, 16, 24}},
		{32, 16, 0, []int{0, 16}},
		{16, 16, 0.5, []int{0}},
		{9, 16, 0, []int{0}},
		{40, 16, 0.5, []int{0, 8, 16, 24}},
		{20, 16, 0.99, []int{0, 1, 2, 3, 4}},
	} {
		if got := WindowStarts(c.side, c.window, c.overlap); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The numbers are those of spec/ptycho-cyto.md §B2.2.
func TestWindowWeights(t *testing.T) {
	w := WindowWeights([3]int{16, 32, 32})
	if got := float64(w[(8*32+16)*32+16]); math.Abs(got-0.95420671) > 0x1p-23 {
		t.Errorf("the centre's weight is %.9f, want 0.95420671", got)
	}
	if least := slices.Min(w); least != 0.001 {
		t.Errorf("the least weight is %g, want 0.001", least)
	}
}

// windows are windows of a small network for planes or volumes with seeded weights.
func windows(t *testing.T, axes int, sides [3]int, batch int) (*Windows, *program) {
	t.Helper()
	p := load(t, Config{Axes: axes, Filters: []int{4, 6}}, PlanOptions{Batch: 1, Sides: sides}, cpu.Options{Threads: 2})
	backend, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(backend.Close)
	variables, err := p.net.Model().InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state, err := backend.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(state.Close)
	if err := p.net.SetWeights(state, p.net.Seeded(12345)); err != nil {
		t.Fatal(err)
	}
	w, err := NewWindows(t.Context(), p.net, backend, state, PlanOptions{Sides: sides, Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, p
}

// A prediction is the weighted mean of the windows, each computed by itself, whatever the
// number computed at a time.
func TestWindowsAreBlended(t *testing.T) {
	sides, image := [3]int{4, 6, 8}, ramp([3]int{7, 6, 19})
	Normalise(image.Values)
	var first []float32
	for _, batch := range []int{1, 3, 50} {
		w, p := windows(t, 3, sides, batch)
		got, err := w.Predict(t.Context(), image, 0.25)
		if err != nil {
			t.Fatal(err)
		}
		if first != nil {
			if !slices.Equal(got.Values, first) {
				t.Errorf("windows %d at a time give other bits", batch)
			}
			continue
		}
		first = got.Values
		sum, total := make([]float64, len(first)), make([]float64, len(first))
		x, weights := make([]float32, 4*6*8), WindowWeights(sides)
		for _, z := range []int{0, 3} {
			for _, left := range []int{0, 6, 11} {
				crop(x, image, [3]int{z, 0, left}, sides)
				p.Write(ImageInput, x)
				p.Run(nn.SegmentForward)
				for i, v := range p.Read(LogitsOutput) {
					at := ((z+i/48)*6+i/8%6)*19 + left + i%8
					sum[at] += float64(weights[i]) * float64(v)
					total[at] += float64(weights[i])
				}
			}
		}
		for i, v := range first {
			if want := sum[i] / total[i]; math.Abs(float64(v)-want) > 1e-5 {
				t.Fatalf("[%d] = %g, want %g", i, v, want)
			}
		}
	}
}

// An image smaller than the window lies in its middle, surrounded by zeros.
func TestSmallImagesArePadded(t *testing.T) {
	w, p := windows(t, 2, [3]int{1, 8, 8}, 2)
	image := ramp([3]int{1, 5, 12})
	Normalise(image.Values)
	got, err := w.Predict(t.Context(), image, 0)
	if err != nil || got.Sides != image.Sides {
		t.Fatalf("%v, sides %v", err, got.Sides)
	}
	x := make([]float32, 64)
	for row := range 5 {
		copy(x[(row+1)*8:][:8], image.Values[row*12:])
	}
	p.Write(ImageInput, x)
	p.Run(nn.SegmentForward)
	want := p.Read(LogitsOutput)
	for row := range 5 {
		for column := range 4 { // which the second window does not cover
			if a, b := got.Values[row*12+column], want[(row+1)*8+column]; math.Abs(float64(a-b)) > 1e-6 {
				t.Fatalf("row %d, column %d: %g, want %g", row, column, a, b)
			}
		}
	}
	for _, overlap := range []float64{-0.1, 1, math.NaN()} {
		if _, err := w.Predict(t.Context(), image, overlap); err == nil {
			t.Errorf("an overlap of %g is accepted", overlap)
		}
	}
}

// A network trained for a short while on patches of synthetic cells finds the cells of
// images it has not seen.
func TestTrainingLearnsToSegmentCells(t *testing.T) {
	const batch, steps = 4, 60
	sides, patch := [3]int{1, 96, 96}, [3]int{1, 32, 32}
	draw := func(seed uint64) Pair {
		image, mask, err := Cells(t.Context(), CellsOptions{Sides: sides, Cells: 20, Noise: 0.1, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		Normalise(image.Values)
		return Pair{Image: image, Target: mask}
	}
	pairs := []Pair{draw(1), draw(2), draw(3), draw(4)}
	s, random := NewCropper(patch, true), rand.New(rand.NewPCG(9, 0x7061746368))
	config := Config{Axes: 2, Filters: []int{8, 16, 16}, Seed: 2}
	p := load(t, config, PlanOptions{Batch: batch, Sides: patch, Loss: DiceBCE, Train: true}, cpu.Options{Threads: 2})
	image, target := make([]float32, batch*s.Floats()), make([]float32, batch*s.Floats())
	for step := range steps {
		for i, pair := range random.Perm(len(pairs)) {
			s.Draw(random, &pairs[pair], image[i*s.Floats():][:s.Floats()], target[i*s.Floats():][:s.Floats()])
		}
		p.Write(ImageInput, image)
		p.Write(TargetInput, target)
		p.Write(nn.LearningRateInput, []float32{float32(RateAt(1e-2, step))})
		p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate)
	}
	unseen := draw(77)
	w, err := NewWindows(t.Context(), p.net, p.Backend, p.State, PlanOptions{Sides: patch, Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	logits, err := w.Predict(t.Context(), unseen.Image, 0.25)
	if err != nil {
		t.Fatal(err)
	}
	dice := DiceOf(logits.Values, unseen.Target.Values)
	t.Logf("Dice of an unseen image: %.3f", dice)
	if dice < 0.9 {
		t.Errorf("the Dice coefficient of an unseen image is %.3f after %d steps, want 0.9", dice, steps)
	}
}

// An iteration of training allocates nothing, and gives the same bits on any number of
// threads.
func TestTrainingAllocatesNothingAndRepeats(t *testing.T) {
	var first []float32
	for _, threads := range []int{1, 2, 3} {
		p := load(t, DefaultConfig(3), PlanOptions{Batch: 2, Sides: [3]int{4, 8, 8}, Loss: DiceBCE, Train: true}, cpu.Options{Threads: threads})
		image := ramp([3]int{2 * 4, 8, 8})
		Normalise(image.Values)
		p.Write(ImageInput, image.Values)
		p.Write(nn.LearningRateInput, []float32{LearningRate})
		step := func() { p.Run(nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate) }
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%d threads: %v allocations per step", threads, n)
		}
		weights := p.net.Weights(p.State)[9].Values
		if first == nil {
			first = weights
		} else if !slices.Equal(weights, first) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}
