package tuitest

import (
	"math"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/sim/ptycho/training"
)

// phased returns a picture of phases above −π that go with the amplitudes of another.
func phased(p *profiles.Picture) *profiles.Picture {
	q := *p
	q.Pixels = make([]float32, len(p.Pixels))
	for i, v := range p.Pixels {
		q.Pixels[i] = float32(math.Pi * (1 + 0.7*math.Tanh(3*float64(v)-1)))
	}
	return &q
}

var (
	blurredPhase = sync.OnceValue(func() *profiles.Picture { return phased(BlurredMoon()) })
	sharpPhase   = sync.OnceValue(func() *profiles.Picture { return phased(SharpMoon()) })
)

// Training returns the training of PtychoPINN's network in its fourth epoch.
func Training() *profiles.Snapshot {
	s := &profiles.Snapshot{
		Run: profiles.RunInfo{
			Object: "lines", Device: "cpu", Kernels: "avx512", GPUReason: "libcuda.so.1 not found",
			Schema: training.Schema(), Parameters: 2331772, Seed: 42, Units: 8,
			Able:  profiles.Every().Without(profiles.TraceCommand, profiles.ForkCommand, profiles.ClearCommand),
			Notes: []string{"448 groups to learn from and 64 for testing, each of 1 pattern of 64×64 pixels"},
		},
		Settings: training.Table.Encode(training.Settings{
			Size: 64, ObjectSize: 160, Positions: 512, Photons: 1e9, ObjectPhase: true, GridSize: 1, FiltersScale: 2,
			Batch: 16, Epochs: 8, TestShare: 0.125, LearningRate: 1e-3, Scheduler: "plateau", Patience: 3,
			FusedOptimizer: true, AMP: "off", Threads: 2, Kernels: "auto", Device: "auto", Seed: 42,
		}),
		State: profiles.Running, Kind: training.KindMinibatch,
		Elapsed: 61 * time.Second, ETA: 92 * time.Second, ETAKnown: true,
		Index: 97, Unit: 3, InUnit: 12, Rate: 1.62,
		Pictures: [profiles.MaxPictures]*profiles.Picture{
			training.PictureAmplitude: BlurredMoon(), training.PictureTruth: SharpMoon(),
			training.PicturePhase: blurredPhase(), training.PicturePhaseTruth: sharpPhase(),
		},
		Own: profiles.OwnCost{Aggregator: 0.001, Watching: profiles.WatchingCost{
			Measured: true, Known: true, Value: 0.0082, Low: 0.0031, High: 0.0138, Budget: 0.01,
			Period: 100 * time.Millisecond, Sparse: 1}},
	}
	for series, v := range map[int]float64{
		training.SeriesLoss: 4312, training.SeriesTestLoss: 4762, training.SeriesPoisson: -3.957e6,
		training.SeriesLearningRate: 1e-3, training.SeriesPSNR: 23.81, training.SeriesSSIM: 0.631,
		training.SeriesRMSE: 9.66, training.SeriesPhaseError: 0.112, training.SeriesObjectError: 14.2,
	} {
		Latest(s, series, v)
	}
	total := 617.0
	for id, ms := range []float64{0.21, 168, 0.9, 0.7, 372, 3.1, 72} {
		s.Phases[id] = profiles.PhaseView{Spread: spread(ms), Share: ms / total}
		s.Whole.Phases[id] = s.Phases[id]
	}
	s.Total, s.Whole.Total = spread(total), spread(total)
	s.IterationTime = Curve(97, 1, func(i int) (float64, float64, float64) {
		v := total * (1 + 0.1*(Noise(i)-0.5))
		return v, v, v
	})
	s.Series[training.SeriesLoss].Curve = Curve(97, 1, func(i int) (float64, float64, float64) {
		v := (4e4*math.Exp(-float64(i)/20) + 3500) * (0.7 + 0.6*Noise(i))
		return v, v, v
	})
	s.Series[training.SeriesTestLoss].Curve = Curve(3, 28, func(i int) (float64, float64, float64) {
		v := []float64{13440, 7210, 4762}[i]
		return v, v, v
	})
	for series, f := range map[int]func(t float64) float64{
		training.SeriesPSNR:        func(t float64) float64 { return 24 - 6*math.Exp(-t/3) },
		training.SeriesSSIM:        func(t float64) float64 { return 0.64 - 0.08*math.Exp(-t/3) },
		training.SeriesRMSE:        func(t float64) float64 { return 9.5 + 9*math.Exp(-t/3) },
		training.SeriesPhaseError:  func(t float64) float64 { return 0.11 + 0.1*math.Exp(-t/3) },
		training.SeriesObjectError: func(t float64) float64 { return 14 + 13*math.Exp(-t/3) },
	} {
		s.Series[series].Curve = Curve(10, 9, func(i int) (float64, float64, float64) {
			v := f(float64(i))
			return v, v, v
		})
	}
	for i, loss := range []float64{13440, 7210, 4762} {
		r := profiles.UnitResult{Unit: int32(i), Iterations: 28, Values: profiles.NoValues(), Elapsed: 19 * time.Second}
		r.Values[training.SeriesTestLoss] = loss
		s.Results = append(s.Results, r)
	}
	s.Memory = profiles.MemoryView{
		Memory: profiles.Memory{Parts: [profiles.MaxMemory]int64{9_327_092, 2_064, 18_654_184, 189_400_000, 786_432,
			12_000_000, 8_600_000}},
		RSS: 262e6, PeakRSS: 271e6, GPUReason: "libcuda.so.1 not found",
	}
	s.Changes = []profiles.Change{{Key: "learning_rate", Before: "0.002", After: "0.001", Iteration: 40,
		At: 25 * time.Second}}
	s.Effects = []profiles.Effect{{Change: s.Changes[0], Needed: 200, NBefore: 40, NAfter: 57}}
	return s
}
