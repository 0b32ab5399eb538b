package trial

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/ptycho/scan"
)

func open(j Job) (nn.Backend, error) {
	return cpu.New(cpu.Options{Kernels: j.Kernels, Threads: j.Threads})
}

// job is a trial of 10 patterns of the smallest network.
func job(t *testing.T, gridsize int) Job {
	t.Helper()
	backend, err := open(Job{Kernels: "auto", Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	s, err := scan.Simulate(t.Context(), scan.Options{Size: 64, ObjectSize: 128, Positions: 12, Photons: 1e6, Seed: 3}, backend)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "scan.npz")
	if err := scan.Write(path, s); err != nil {
		t.Fatal(err)
	}
	return Job{Size: 64, GridSize: gridsize, FiltersScale: 1, ProbeBig: true, Data: path, Images: 10, Seed: 1, Kernels: "auto", Threads: 2, Batch: 4, Warmup: 1, Runs: 2}
}

// Whole batches are predicted, every group is assembled once, and the outputs are the same
// at every batch size, bit for bit.
func TestTrialsDoTheirImages(t *testing.T) {
	for _, gridsize := range []int{1, 2} {
		j := job(t, gridsize)
		groups := j.Images / (gridsize * gridsize)
		var sums []string
		for _, batch := range []int{1, 4, 16} {
			j.Batch = batch
			if j.Preprocess, j.Reassemble = 0, 0; batch == 4 { // other sizes of the other stages
				j.Preprocess, j.Reassemble = 3, 7
			}
			r, err := j.Run(t.Context(), Devices{Open: open})
			if err != nil {
				t.Fatal(err)
			}
			batches := (groups + batch - 1) / batch
			for _, run := range r.Runs {
				sums = append(sums, run.Checksum)
				if run.Groups != groups || len(run.Batches) != batches || run.Images != batches*batch*gridsize*gridsize || len(run.Samples) != SamplesPerObject*groups {
					t.Errorf("batch size %d: %d groups in %d batches, %d images", batch, run.Groups, len(run.Batches), run.Images)
				}
				s := run.Seconds
				if !(run.Measuring > 0) {
					t.Errorf("measuring took %g s", run.Measuring)
				}
				if !(s.Load > 0 && s.Group > 0 && s.Normalise > 0 && s.Predict > 0 && s.Reassemble > 0) || s.Total() < s.Load+s.Predict {
					t.Errorf("stages %+v", s)
				}
			}
			if len(r.Runs) != 2 || r.Parameters < 500_000 || r.Memory["activations"] == 0 || r.Memory["weights"] < 4*500_000 || r.Device != "cpu" {
				t.Errorf("%+v", r)
			}
			if r.PeakRSS == 0 && r.RSSReason == "" {
				t.Error("no peak, and no reason")
			}
		}
		if len(slices.Compact(sums)) != 1 {
			t.Errorf("gridsize %d: the outputs differ: %v", gridsize, sums)
		}
	}
}

// lent is a GPU of the tests with memory of its own.
type lent struct{ *beside.Backend }

func (lent) DeviceMemory() profiles.DeviceMemory {
	return profiles.DeviceMemory{Device: "GPU-1", Allocated: 9 << 20}
}

// GPUs that divide a batch, also one that they cannot divide evenly, have the objects of one; more GPUs than groups are not
// opened. Their energy is counted over batches of its own.
func TestGPUsDivideABatch(t *testing.T) {
	j := job(t, 1)
	j.Runs = 1
	alone, err := j.Run(t.Context(), Devices{Open: open})
	if err != nil {
		t.Fatal(err)
	}
	for batch, cards := range map[int]int{5: 3, 2: 2} {
		var opened []string
		joules := 0.0
		on := Devices{Open: func(j Job) (nn.Backend, error) {
			opened = append(opened, j.Device)
			b, err := open(j)
			return lent{&beside.Backend{Backend: b}}, err
		}, Energy: func(string) machine.Gauge {
			joules += 2
			return machine.Reading(joules)
		}}
		j.Batch, j.Device, j.Others, j.Energy = batch, "cuda:0", []string{"cuda:2", "cuda:3"}, batch == 5
		r, err := j.Run(t.Context(), on)
		if err != nil {
			t.Fatal(err)
		}
		if r.Runs[0].Checksum != alone.Runs[0].Checksum || r.Cards != cards || !slices.Equal(opened, []string{"cuda:0", "cuda:2", "cuda:3"}[:cards]) {
			t.Errorf("batch %d: %d cards, %v", batch, r.Cards, opened)
		}
		if e := r.Energy; (e.Images > 0 && e.Images%5 == 0 && e.Joules == 18) != j.Energy || (r.EnergyReason == "") != j.Energy {
			t.Errorf("batch %d: %+v, %q", batch, e, r.EnergyReason)
		}
	}
}

// A counter that cannot be read, or does not move, is a reason and no number.
func TestEnergyThatIsNotCounted(t *testing.T) {
	j := job(t, 1)
	j.Runs, j.Energy, j.Device = 1, true, "cuda:0"
	for want, g := range map[string]machine.Gauge{"no counter": machine.Missing("no counter"), "did not move": machine.Reading(7)} {
		r, err := j.Run(t.Context(), Devices{Open: func(j Job) (nn.Backend, error) {
			b, err := open(j)
			return lent{&beside.Backend{Backend: b}}, err
		}, Energy: func(string) machine.Gauge { return g }})
		if err != nil || r.Energy != (Energy{}) || !strings.Contains(r.EnergyReason, want) {
			t.Errorf("%+v, %v, want %q", r, err, want)
		}
	}
}

func TestTrialsRefuseWhatCannotBe(t *testing.T) {
	good := job(t, 1)
	for want, change := range map[string]func(*Job){
		"size = 60": func(j *Job) { j.Size = 60 },
		"must be of the network's size, 128×128": func(j *Job) { j.Size, j.Batch = 128, 1 },
		"13 images of 12 positions":              func(j *Job) { j.Images = 13 },
		"none.npz":                               func(j *Job) { j.Data = "none.npz" },
		"weights none":                           func(j *Job) { j.Weights = "none" },
		"batch = 0":                              func(j *Job) { j.Batch = 0 },
		"kernels":                                func(j *Job) { j.Kernels = "none" },
	} {
		j := good
		j.Warmup = 0
		change(&j)
		if _, err := j.Run(t.Context(), Devices{Open: open}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := good.Run(ctx, Devices{Open: open}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
}

// A trial ends before it allocates what does not fit, and after it used too much.
func TestTrialsKeepTheirLimit(t *testing.T) {
	if _, _, reason := machine.ReadResident(); reason != "" {
		t.Skip("skipped: " + reason)
	}
	j := job(t, 1)
	j.Limit = 1 << 20
	if _, err := j.Run(t.Context(), Devices{Open: open}); err == nil || !strings.HasPrefix(err.Error(), Exceeded) || !strings.Contains(err.Error(), "the limit is 1 MB") {
		t.Errorf("%v", err)
	}
	p := &pipeline{Job: j, cards: &cards{}}
	if err := p.within(); err == nil || !strings.HasPrefix(err.Error(), Exceeded) {
		t.Errorf("%v", err)
	}
	p.Limit = 1 << 40
	if err := p.within(); err != nil {
		t.Error(err)
	}
}

// Objects with the same mean and the same centre are told apart by the pixels of the grid.
func TestProofsSampleTheWholeObject(t *testing.T) {
	const n = 64
	one := make([]complex64, n*n)
	for i := range one {
		one[i] = complex(float32(1+i%7), float32(1+i%5))
	}
	other := slices.Clone(one)
	for i := range n / 2 { // each pair of columns, of one half of the object, exchanged
		for k := 0; k < n; k += 2 {
			other[i*n+k], other[i*n+k+1] = one[i*n+k+1], one[i*n+k]
		}
	}
	a, b := newProof(), newProof()
	a.add(one, n)
	b.add(other, n)
	if len(a.samples) != SamplesPerObject || slices.Equal(a.samples, b.samples) || a.checksum() == b.checksum() {
		t.Errorf("%d samples, %v and %v", len(a.samples), a.samples, b.samples)
	}
	for _, i := range []int{0, SamplesPerObject/2 - 1, SamplesPerObject - 2} {
		if a.samples[i] < 1 {
			t.Errorf("sample %d is of no pixel: %v", i, a.samples)
		}
	}
}

// The factor of the whole data set does not depend on how many groups are done at a time,
// and makes the mean square sum of a pattern (N/2)².
func TestNormalisingDoesNotDependOnTheBatch(t *testing.T) {
	s := &scan.Scan{Size: 8, X: make([]float64, 5), Y: make([]float64, 5)}
	for i := range 5 * 64 {
		s.Diffraction = append(s.Diffraction, float32(i%37))
	}
	var first []float32
	for _, batch := range []int{1, 2, 7} {
		groups, err := s.Groups(t.Context(), 1, 5, 1)
		if err != nil {
			t.Fatal(err)
		}
		c := container{scan: s, groups: groups, channels: 1}
		if err := c.normalise(batch, 1); err != nil {
			t.Fatal(err)
		}
		total := 0.0
		for _, v := range c.patterns {
			total += float64(v) * float64(v)
		}
		if mean := total / 5; mean < 15.99 || mean > 16.01 {
			t.Errorf("the mean square sum is %g, want 16", mean)
		}
		if first == nil {
			first = c.patterns
		} else if !slices.Equal(first, c.patterns) {
			t.Errorf("batch size %d: other values", batch)
		}
	}
	groups, err := s.Groups(t.Context(), 1, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	s.Factor = 3
	c := container{scan: s, groups: groups, channels: 1}
	if err := c.normalise(2, 0.5); err != nil || c.patterns[1] != 1.5*s.Pattern(groups[0].Positions[0])[1] {
		t.Errorf("a given factor: %g, %v", c.patterns[1], err)
	}
	dark := container{scan: &scan.Scan{Size: 8, X: []float64{0}, Y: []float64{0}, Diffraction: make([]float32, 64)}, groups: []scan.Group{{Positions: []int{0}}}, channels: 1}
	if err := dark.normalise(1, 1); err == nil {
		t.Error("a dark scan is normalised")
	}
}
