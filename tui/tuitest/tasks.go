package tuitest

import (
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/sim/cyto/benchmark"
	"prismtop/sim/cyto/im2im"
)

// Tasks returns a run of a list of six of CytoDL's tasks in the first of two rounds: two are done,
// one was cancelled, one needs a GPU, the fifth is running.
func Tasks() *profiles.Snapshot {
	schema := benchmark.Schema()
	nan := math.NaN()
	list := &profiles.Tasks{Rounds: 2, Loss: "loss", Cancel: "cancelled",
		SpeedUps: "total time, against the first task of an experiment",
		Order:    []int{0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0}}
	for _, name := range []string{"main", "phase1", "phase2", "phase3", "phase4", "combined"} {
		list.List = append(list.List, profiles.Task{Name: name, About: "im2im/segmentation, batch 4, 3 epochs",
			Device:  "cpu",
			Seconds: nan, Loss: nan, PerSecond: nan, SpeedUp: nan, Low: nan, High: nan})
		schema.Kinds = append(schema.Kinds, profiles.KindInfo{Name: name, Units: true})
	}
	done := func(i int, seconds, loss, rate float64) {
		t := &list.List[i]
		t.State, t.Done, t.Iterations, t.Seconds, t.Loss, t.PerSecond = profiles.TaskDone, 1, 13, seconds, loss, rate
	}
	done(0, 2.41, 1.049, 21.6)
	done(1, 1.92, 1.051, 27.9)
	list.List[0].Baseline = true
	list.List[1].SpeedUp, list.List[1].Low, list.List[1].High = 1.26, 1.08, 1.41
	list.List[2].State, list.List[2].Why, list.List[2].Iterations = profiles.TaskCancelled, "cancelled", 13
	list.List[3].State, list.List[3].Device = profiles.TaskUnavailable, "gpu"
	list.List[3].Why = "trainer gpu is not available: libcuda.so.1 not found; its time would not be that of a processor"
	list.List[4].State, list.List[4].Iterations = profiles.TaskRunning, 13
	s := &profiles.Snapshot{
		Run: profiles.RunInfo{Object: "variants", Device: "cpu", Kernels: "avx512", GPUReason: "libcuda.so.1 not found",
			Schema: schema, Seed: 12345, Units: 12, Able: profiles.Every().Without(profiles.TraceCommand,
				profiles.SaveCommand, profiles.ForkCommand, profiles.CheckpointCommand),
			Notes: []string{"6 tasks in 2 rounds"}},
		Settings: Having(benchmark.Table.Zero(), "kind", "training", "rounds", "2", "baseline", "first", "cancelled",
			"3", "kernels", "auto"),
		State: profiles.Running, Kind: benchmark.Kind(4), Elapsed: 7 * time.Second,
		Index: 41, Unit: 4, InUnit: 7, Rate: 5.9, Tasks: list,
		Pictures: [profiles.MaxPictures]*profiles.Picture{
			im2im.PicturePrediction: BlurredMoon(), im2im.PictureTarget: SharpMoon(),
			im2im.PictureRaw: SharpMoon(),
		},
		Own: profiles.OwnCost{Aggregator: 0.001, Watching: profiles.WatchingCost{
			Measured: true, Known: true, Value: 0.0082, Low: 0.0031, High: 0.0138, Budget: 0.01,
			Period: 100 * time.Millisecond, Sparse: 1}},
	}
	for unit, n := range []int32{13, 13, 6, 1} {
		s.Results = append(s.Results, profiles.UnitResult{Unit: int32(unit), Iterations: n, Values: profiles.NoValues(),
			Elapsed: 2 * time.Second})
	}
	for series, v := range map[int]float64{im2im.SeriesSimilarity: 0.61, im2im.SeriesThroughput: 24.3,
		im2im.SeriesLoading: 4.1,
		im2im.SeriesLoss:    1.21, im2im.SeriesValLoss: 1.3, im2im.SeriesLearningRate: 1e-4} {
		Latest(s, series, v)
	}
	total := 168.0
	for id, ms := range []float64{4.2, 0.1, 38, 0.6, 120, 0.5, 4.6} {
		s.Phases[id] = profiles.PhaseView{Spread: spread(ms), Share: ms / total}
		s.Whole.Phases[id] = s.Phases[id]
	}
	s.Total, s.Whole.Total = spread(total), spread(total)
	s.IterationTime = Curve(41, 1, func(i int) (float64, float64, float64) {
		v := total * (1 + 0.2*(Noise(i)-0.5))
		return v, v, v
	})
	s.Series[im2im.SeriesLoss].Curve = Curve(41, 1, func(i int) (float64, float64, float64) {
		v := 1.6*math.Exp(-float64(i%13)/25) + 0.1*Noise(i)
		return v, v, v
	})
	s.Memory = profiles.MemoryView{
		Memory: profiles.Memory{Parts: [profiles.MaxMemory]int64{1_369_284, 1_369_284, 2_738_568, 7_940_000, 65_600,
			9_520_000, 295_000}},
		RSS: 66e6, PeakRSS: 71e6, GPUReason: "libcuda.so.1 not found",
	}
	return s
}
