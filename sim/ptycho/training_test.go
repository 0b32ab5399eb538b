package ptycho

import (
	"math"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/ptycho/scan"
)

// Training on a small simulated scan takes most of the distance from the first loss to
// the least possible one, that of a prediction equal to the counts.
func TestTrainingLearnsAScan(t *testing.T) {
	const photons, batch = 1e5, 4
	for _, grid := range []int{1, 2} {
		c := Config{Size: 64, GridSize: grid, FiltersScale: 1, ProbeBig: true, Seed: 4}
		n, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := n.TrainingPlan(t.Context(), PlanOptions{Batch: batch})
		if err != nil {
			t.Fatal(err)
		}
		p := load(t, n, plan, cpu.Options{Threads: 2})
		for i, v := range initial(t, n) { // instead of the seeded weights
			if v.Initial != nil {
				p.State.Write(i, v.Initial)
			}
		}
		scale := IntensityScale(photons, c.Size)
		n.SetScale(p.State, scale)
		least := writeScan(t, p, c, scale, photons)
		first, last := 0.0, 0.0
		for step := range 30 {
			p.Run(nn.SegmentForward, nn.SegmentEvaluate)
			last = float64(p.Read(LossOutput)[0])
			if step == 0 {
				first = last
			}
			p.Run(nn.SegmentUpdate)
		}
		t.Logf("gridsize %d: loss %.4f, then %.4f, of at least %.4f", grid, first, last, least)
		if !(first > least && last >= least && last-least < 0.5*(first-least)) {
			t.Errorf("gridsize %d: the loss went from %g to %g, of at least %g", grid, first, last, least)
		}
	}
}

func initial(t *testing.T, n *Network) []nn.Variable {
	t.Helper()
	variables, err := n.model.InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return variables
}

// writeScan writes one batch of a simulated scan to the plan's inputs, and returns the
// loss of a perfect prediction.
func writeScan(t *testing.T, p *nntest.Program, c Config, scale, photons float64) (least float64) {
	t.Helper()
	backend, err := cpu.New(cpu.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer backend.Close()
	s, err := scan.Simulate(t.Context(), scan.Options{Size: c.Size, ObjectSize: 160, Positions: 12, Photons: photons, Seed: 1}, backend)
	if err != nil {
		t.Fatal(err)
	}
	factor, err := s.Normalisation()
	if err != nil {
		t.Fatal(err)
	}
	id, _ := p.Plan.Input(DiffractionInput)
	groups, err := s.Groups(t.Context(), c.Channels(), p.Plan.Buffers[id].Shape[0], 3)
	if err != nil {
		t.Fatal(err)
	}
	var diffraction, counts, offsets []float32
	for _, g := range groups {
		offsets = append(offsets, s.Offsets(g)...)
		for _, at := range g.Positions {
			for _, v := range s.Pattern(at) {
				amplitude := float64(v) * factor * scale
				diffraction = append(diffraction, float32(amplitude))
				count := amplitude * amplitude
				counts = append(counts, float32(count))
				least += count - count*math.Log(max(count, lossEpsilon))
			}
		}
	}
	probe, err := ScaledProbe(s.Probe, c.Size)
	if err != nil {
		t.Fatal(err)
	}
	p.Write(DiffractionInput, diffraction)
	p.Write(CountsInput, counts)
	p.Write(OffsetsInput, offsets)
	p.Write(ProbeInput, probe)
	p.Write(nn.LearningRateInput, []float32{1e-3})
	return least / float64(len(counts))
}

func TestProbesAreScaled(t *testing.T) {
	const n = 64
	probe := scan.DefaultProbe(n)
	scaled, err := ScaledProbe(probe, n)
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for i, v := range scaled[:n*n] {
		if inDisc(i, n) {
			total += float64(v)
		}
	}
	if mean := total / (n * n); math.Abs(mean-0.25) > 1e-6 {
		t.Errorf("the mean modulus is %g, want a quarter", mean)
	}
	for name, bad := range map[string][]complex64{"dark": make([]complex64, n*n), "of another size": probe[1:]} {
		if _, err := ScaledProbe(bad, n); err == nil {
			t.Errorf("a probe that is %s is scaled", name)
		}
	}
	if got := IntensityScale(1e9, 64); math.Abs(got-988.2) > 0.05 {
		t.Errorf("scale of 1e9 photons: %g, want 988.2", got)
	}
}
