package bench

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workload"
)

// Foresight is what a run would take, before it begins.
type Foresight struct {
	Settings settings.Values
	// Memory is that of the plan with full caches, without what kernels work in, if it is Known; for a workload
	// that does not foresee it, it is what the measured iterations Held.
	Memory      profiles.Memory
	Known, Held bool
	Free        machine.Memory

	// Card is the GPU on which the settings are computed; nil for the processor. The run's
	// memory is to fit into its memory, then.
	Card *machine.GPUDevice

	Most   int64 // iterations at most; 0 if the workload does not foresee them
	Sooner bool  // units of work may end sooner

	Run   profiles.RunInfo // of the run that was measured; without units if none was
	Times []float64        // nanoseconds of an iteration after the first samples, sorted; none if it was not measured
	// Peak is the peak of the process's resident memory in such a run: that of the measured iterations, and what caches
	// come to hold beyond; 0 if it was not measured, or they are on a GPU.
	Peak int64
}

// Foresee foresees a run as far as its maker knows it: its memory from the plan, and its iterations. Measure adds the
// rest. A device or kernels that this machine lacks are an error.
func Foresee(ctx context.Context, maker workload.Maker, v settings.Values) (*Foresight, error) {
	for _, key := range []string{settings.Device, "kernels"} {
		if !v.Has(key) {
			continue
		}
		if err := maker.Check(v, key); err != nil {
			return nil, err
		}
	}
	f := &Foresight{Settings: v, Free: machine.ReadMemory()}
	if b, ok := maker.(workload.Bounded); ok {
		f.Most, f.Sooner = b.Most(v)
	}
	if s, ok := maker.(workload.Foreseer); ok {
		var err error
		if f.Memory, err = s.Needs(ctx, v); err != nil {
			return nil, err
		}
		f.Known = true
	}
	return f, nil
}

// Measure adds the time of iterations from a short measurement, which is left out if the memory does not fit, and
// the memory that they held if it is not known. watch, which may be nil, begins to watch and record the measured run as
// another would be, which takes memory too, and returns what ends that.
func (f *Foresight) Measure(ctx context.Context, maker workload.Maker, length time.Duration,
	watch func(*stream.Stream) (end func())) error {
	if !f.Fits() {
		return nil
	}
	events, ends := stream.New(2), func() {}
	if watch != nil {
		events = stream.New(8192)
		ends = sync.OnceFunc(watch(events))
		defer ends()
	}
	run, err := advanced(ctx, sim.Options{Maker: maker, Settings: f.Settings, Stream: events, Trial: true}, early)
	if err != nil {
		return err
	}
	defer run.Close()
	f.Run = run.Info()
	for n, began := 0, time.Now(); n < warmup+foreseen || time.Since(began) < length; n++ {
		it, over, err := run.Next(ctx)
		if err != nil {
			return err
		}
		if it != nil && n >= warmup {
			f.Times = append(f.Times, float64(it.Total))
		}
		if over {
			break
		}
	}
	slices.Sort(f.Times)
	held := run.Memory()
	if !f.Known {
		f.Memory, f.Held = held, true
	}
	ends() // the end of a recording takes memory, too
	if _, peak, _ := machine.ReadResident(); peak > 0 && f.Card == nil {
		f.Peak = peak + max(0, f.Memory.Caches-held.Caches)
	}
	return nil
}

// A run is measured after at most early samples; warmup iterations are not counted, and foreseen of them are,
// however long they take.
const (
	early    = 4
	warmup   = 3
	foreseen = 5
)

// Available returns the memory that the run may use, of the machine or of its GPU; known is
// false if the system or the driver does not say.
func (f *Foresight) Available() (bytes int64, known bool) {
	if f.Card != nil {
		if f.Card.FreeBytes > 0 {
			return f.Card.FreeBytes, true
		}
		return f.Card.TotalBytes, f.Card.TotalBytes > 0
	}
	return f.Free.Usable()
}

// Fits reports whether the memory is there; true if that is not known.
func (f *Foresight) Fits() bool {
	available, known := f.Available()
	return !f.Known || !known || f.Memory.Total() <= available
}

// Pace returns the median time of an iteration, and the 10th and 90th percentile; ok is false if none was
// measured.
func (f *Foresight) Pace() (median, p10, p90 time.Duration, ok bool) {
	if len(f.Times) == 0 {
		return 0, 0, 0, false
	}
	at := func(q float64) time.Duration { return time.Duration(stats.Quantile(f.Times, q)) }
	return at(0.5), at(0.1), at(0.9), true
}

// Mean returns the mean time of an iteration, which many take: unlike the median, it has the pauses that other programs
// cause.
func (f *Foresight) Mean() time.Duration { return time.Duration(stats.Mean(f.Times)) }

// Length returns how long the run takes at most at a pace, within max_seconds; ok is false if that is not known.
func (f *Foresight) Length(pace time.Duration) (length time.Duration, ok bool) {
	if f.Most <= 0 || pace <= 0 {
		return 0, false
	}
	seconds := pace.Seconds() * float64(f.Most)
	if limit := f.Settings.Number(settings.MaxSeconds); limit > 0 {
		seconds = min(seconds, limit)
	}
	return time.Duration(min(seconds, float64(math.MaxInt64/2)/1e9) * 1e9), true
}
