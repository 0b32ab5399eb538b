package replay

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/prism"
	"prismtop/sim/prism/prismtest"
)

// run is a run on a clock of its own, which is recorded while an aggregator follows it.
type run struct {
	sensors *machine.Sensors // the newest
	sensed  time.Time
	*stream.Stream
	recorder *recording.Recorder
	a        *aggregate.Aggregator
	now      time.Time
	began    time.Time // of this start
	it       profiles.Iteration
	noise    *rand.Rand
	load     machine.Load
	loadAt   time.Time
	shots    []*profiles.Snapshot // of each tick
	ticks    []time.Time
}

func newRun(t testing.TB, o recording.Options) *run {
	t.Helper()
	if o.Path == "" && o.Joined == nil {
		o.Path = filepath.Join(t.TempDir(), "run.sqlite")
	}
	r := &run{now: time.Now(), noise: rand.New(rand.NewPCG(1, 2))}
	r.Stream = stream.WithClock(8192, func() time.Time { return r.now })
	r.loadAt = r.now
	r.recorder = recording.New(o)
	r.a = aggregate.New(r.Follow(), aggregate.Options{Load: r.readLoad, Pictures: time.Second, Tape: r.recorder, Sensors: r.readSensors})
	return r
}

func (r *run) readLoad() machine.Load {
	passed := 2 * r.now.Sub(r.loadAt).Seconds()
	r.load.Add(machine.Load{Busy: passed, Own: passed * (0.9 + 0.1*r.noise.Float64()), Passed: passed})
	r.loadAt = r.now
	return r.load
}

// readSensors reads a GPU of which a number is missing, once a second.
func (r *run) readSensors() (*machine.Sensors, time.Time) {
	if r.sensors == nil || r.now.Sub(r.sensed) >= time.Second {
		joules := 5000.0
		if r.sensors != nil {
			joules = r.sensors.GPUs[0].Energy.Value + 300*r.now.Sub(r.sensed).Seconds()
		}
		r.sensed = r.now
		r.sensors = &machine.Sensors{Process: 7, Processors: machine.Missing("no permission"), GPUs: []machine.GPUSensors{{
			Name: "A", UUID: "GPU-1", Energy: machine.Reading(joules), MemoryUsed: machine.Reading(1 << 40), Utilisation: machine.Reading(0),
			Fan: machine.Missing("not supported"), Throttle: []string{"idle"}, Processes: []machine.GPUProcess{{ID: 7, Bytes: machine.Missing("hidden")}},
		}}}
	}
	return r.sensors, r.sensed
}

func (r *run) tick() {
	r.shots = append(r.shots, r.a.Tick(r.now))
	r.ticks = append(r.ticks, r.now)
	if r.PictureWanted() {
		p := &profiles.Picture{ID: prism.PictureReconstruction, Iteration: r.it.Index, Width: 16, Height: 12, Pixels: make([]float32, 16*12)}
		for i := range p.Pixels {
			p.Pixels[i] = r.noise.Float32()
		}
		r.Picture(p)
		r.Answered()
	}
}

// begin starts the run, or starts it again.
func (r *run) begin(v settings.Values, starts int) {
	info := prismtest.Info(4)
	info.PriorStarts, info.Seed = starts, math.MaxUint64
	info.Sampling = &profiles.Sampling{Centres: [][2]float64{{0.5, -1}, {2, 3}}, PerSample: 1}
	r.Begin(info, v)
	r.began = r.now
	r.Picture(&profiles.Picture{ID: prism.PictureTruth, Width: 2, Height: 1, Pixels: []float32{0, 1}})
	r.Memory(profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryWeights: 12, prism.MemoryScratch: 3}, Caches: 5})
	r.State(profiles.Running, "")
	r.it = prismtest.Progressive()
	r.it.Series[prism.SeriesLearningRate] = 1e-3
}

// iterate runs n iterations of about a millisecond, with a tick after every hundred.
func (r *run) iterate(n int) {
	for i := range n {
		it := &r.it
		it.Total = 0
		for p, ns := range []float64{25e4, 0, 12e4, 50e4, 9e4} {
			it.Phases[p] = int64(ns * (1 + 0.05*r.noise.NormFloat64()))
			it.Total += it.Phases[p]
		}
		it.Total += int64(2000 * r.noise.Float64())
		it.Start = int64(r.now.Sub(r.began))
		it.Series[prism.SeriesLossOld] = float64(float32(0.5 + 0.1*r.noise.Float64()))
		it.Series[prism.SeriesLossNew] = 0.5 + 0.1*r.noise.Float64()
		spent := int64(300 + 50*r.noise.Float64())
		c := &it.Caches[prism.CacheFFTPlans]
		c.Enabled, c.Entries, c.Bytes, c.Price, c.PriceLow, c.PriceHigh, c.PricedBy = true, 2, 4096, 5000, 4900, 5200, 7
		c.Hits, c.Priced = c.Hits+1, c.Priced+1
		c.Spent, c.SpentSquares = c.Spent+spent, c.SpentSquares+float64(spent)*float64(spent)
		c.Gross, c.GrossLow, c.GrossHigh, c.Saved = c.Gross+c.Price, c.GrossLow+c.PriceLow, c.GrossHigh+c.PriceHigh, c.Saved+c.Price-spent
		r.Stream.Iteration(it)
		it.Index++
		it.InUnit++
		it.Flags = 0
		r.now = r.now.Add(time.Duration(it.Total) + 700*time.Nanosecond)
		if i%100 == 99 {
			r.tick()
		}
	}
}

// drain consumes what came without a tick.
func (r *run) drain() { r.a.Drain(r.now) }

// stand waits.
func (r *run) stand(ticks int) {
	for range ticks {
		r.now = r.now.Add(100 * time.Millisecond)
		r.tick()
	}
}

func (r *run) set(key, before, after string, v settings.Values, ablation bool) {
	at := r.now.Sub(r.began)
	r.Change(profiles.Change{Key: key, Before: before, After: after, Iteration: r.it.Index, At: at, Asked: at - 1, Ablation: ablation, Controls: 3}, v)
	r.it.Changes++
	r.it.Flags = profiles.Warmup
}

// live is a run with events of every kind.
func (r *run) live() {
	r.tick()
	s := prism.Settings{Seed: 7, Threshold: 1e-3, Loss: "l1", MeasurementCache: true, Channels: []int{64, 1}, AMP: "off", LearningRate: 1e-3}
	r.Log("padded to square")
	r.begin(s.Values().Settled(), 0)
	r.it.Kind, r.it.Unit, r.it.Series[prism.SeriesLossOld] = prism.KindInitialisation, -1, math.NaN()
	r.iterate(300)
	for unit := range int32(4) {
		r.it.Kind, r.it.Unit, r.it.InUnit, r.it.Flags = prism.KindLaterSample, unit, 0, profiles.Warmup
		r.iterate(600)
		r.Measure(prismtest.ComparedAll(r.it.Index-1, 20+r.noise.Float64(), math.Inf(1), 4))
		switch unit {
		case 3: // watched less often
			r.iterate(150)
			r.drain()
			r.iterate(30)
			r.drain()
		case 1:
			s.AMP = "bf16"
			r.set("amp", "off", "bf16", s.Values().Settled(), false)
			r.set("mask_cache", "true", "false", s.Values().Settled(), false)
		case 2:
			base := s.Values().Settled()
			r.Ablation(&profiles.Ablation{Running: true, Rounds: 2, Base: base, Rows: []profiles.AblationRow{{Key: "amp", Effect: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}}})
			for i := range 4 {
				values := [2]string{"bf16", "off"}
				s.AMP = values[1-i%2]
				r.set("amp", values[i%2], values[1-i%2], s.Values().Settled(), true)
				r.iterate(200)
			}
			r.Ablation(&profiles.Ablation{Rounds: 2, Base: base, Done: 4, Rows: []profiles.AblationRow{{Key: "amp", Effect: -0.25, Low: -0.5, High: math.Inf(1), Final: true}}})
			r.Fork(&profiles.Fork{Of: 3, Key: "amp", Rows: []profiles.ForkRow{{Low: math.Inf(-1), High: math.Inf(1), Equal: true}}})
		}
		r.iterate(600)
		r.Layers([]profiles.Layer{{Name: "layer 1", Nanos: float64(1000 + unit), FLOPs: 5, Bytes: 7, Compute: 0.5, Memory: 0.25, Judged: true}},
			&profiles.Roofs{GFLOPS: 5, Levels: []profiles.RoofLevel{{Bytes: 1, GBs: 2}}})
		r.UnitDone(profiles.UnitResult{Unit: unit, Iterations: 1004, Converged: unit != 2, Values: profiles.NoValues(), Reached: math.NaN(), Threshold: 1e-3, Elapsed: time.Second})
	}
	r.Layers(nil, nil)
	r.Refuse("no room")
	r.State(profiles.Paused, "")
	r.stand(30)
	s.Loss, s.Threads = "l2", 3 // suspends the threshold
	r.Next(s.Values().Settled())
	r.State(profiles.Running, "")
	r.iterate(2000)
	r.stand(30) // a stall
	r.it.Flags, r.it.Series[prism.SeriesLossNew] = profiles.NonFinite, math.Inf(1)
	r.iterate(100)
	r.State(profiles.Failed, "diverged")
	r.stand(10)
	r.begin(s.Values().Settled(), 1)
	r.iterate(700)
	r.State(profiles.Finished, "max_iterations = 700")
	r.stand(10)
}

// close ends the recording and opens it.
func (r *run) close(t testing.TB) *recording.Reader {
	t.Helper()
	if err := r.recorder.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return open(t, r.recorder.Path())
}

func open(t testing.TB, path string) *recording.Reader {
	t.Helper()
	reader, err := recording.Open(context.Background(), path, func(workload string) *settings.Table {
		if workload != prism.Table.Workload {
			return nil
		}
		return prism.Table
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return reader
}

// same compares a snapshot with the live one, in everything but pixels, which are rounded.
func same(t *testing.T, what string, live, replayed *profiles.Snapshot) {
	t.Helper()
	x, y := *live, *replayed
	for i := range x.Pictures {
		p, q := x.Pictures[i], y.Pictures[i]
		x.Pictures[i], y.Pictures[i] = nil, nil
		if (p == nil) != (q == nil) {
			t.Fatalf("%s: picture %d is there: %v live, %v replayed", what, i, p != nil, q != nil)
		}
		if p == nil {
			continue
		}
		if p.ID != q.ID || p.Iteration != q.Iteration || p.Width != q.Width || p.Height != q.Height {
			t.Fatalf("%s: picture %d is %d×%d of iteration %d live, %d×%d of %d replayed", what, i, p.Width, p.Height, p.Iteration, q.Width, q.Height, q.Iteration)
		}
		for k := range p.Pixels {
			if d := math.Abs(float64(p.Pixels[k] - q.Pixels[k])); d > 0.501/255 { // half a level
				t.Fatalf("%s: pixel %d of picture %d differs by %g", what, k, i, d)
			}
		}
	}
	if d := profilestest.Differ(x, y); d != "" {
		t.Fatalf("%s: live and replayed: %s", what, d)
	}
}

// settingsOf returns settings of a run.
func settingsOf() settings.Values {
	return (&prism.Settings{AMP: "off", LearningRate: 1e-3}).Values().Settled()
}

// grown waits until a recording that grows has a number of iterations, and opens it.
func grown(t *testing.T, r *run, iterations int64) *recording.Reader {
	t.Helper()
	return grownAt(t, r.recorder.Path(), iterations)
}

// grownAt is grown of a path.
func grownAt(t *testing.T, path string, iterations int64) *recording.Reader {
	t.Helper()
	for {
		reader, err := recording.Open(t.Context(), path, func(string) *settings.Table { return prism.Table })
		if err == nil {
			if s, err := reader.Status(t.Context()); err == nil && s.Iterations >= iterations {
				t.Cleanup(func() { reader.Close() })
				return reader
			}
			reader.Close()
		}
		if t.Context().Err() != nil {
			t.Fatal("the recording does not grow")
		}
	}
}
