package bench

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// A run is foreseen with what its maker knows and what its iterations take, unless its memory is not there.
func TestARunIsForeseen(t *testing.T) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Sets: []string{"size=64", "object_size=16", "radius=6", "roi_diameter=40", "channels=", "samples=20", "iterations=50", "cycles=1", "passes=1", "init_iterations=0", "threshold=0"}})
	if err != nil {
		t.Fatal(err)
	}
	maker := workloads.PRISM(workloads.Devices{})
	f, err := Foresee(t.Context(), maker, v)
	if err == nil {
		err = f.Measure(t.Context(), maker, time.Millisecond, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	median, p10, p90, ok := f.Pace()
	if !ok || !f.Known || !f.Fits() || f.Most != 1000 || f.Sooner || len(f.Times) < foreseen || p10 > median || median > p90 {
		t.Errorf("at most %d, sooner %v, %d times, %v %v %v", f.Most, f.Sooner, len(f.Times), median, p10, p90)
	}
	if length, ok := f.Length(2 * time.Millisecond); !ok || length != 2*time.Second {
		t.Errorf("1000 iterations of 2 ms take %v", length)
	}
	f.Settings, err = v.Set("max_seconds", "1.5")
	if length, ok := f.Length(2 * time.Millisecond); err != nil || !ok || length != 1500*time.Millisecond {
		t.Errorf("max_seconds leaves %v, %v", length, err)
	}
}

// foresightOfCurve foresees the preset curve.
func foresightOfCurve(t *testing.T) (workload.Maker, *Foresight, error) {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "curve"})
	if err != nil {
		t.Fatal(err)
	}
	maker := workloads.Of(v).Maker(workloads.Devices{})
	f, err := Foresee(t.Context(), maker, v)
	return maker, f, err
}

// Of a workload that does not foresee its memory, what the measured iterations held is known.
func TestMemoryIsMeasuredWhereItIsNotForeseen(t *testing.T) {
	maker, f, err := foresightOfCurve(t)
	if err != nil || f.Known || f.Held || f.Most != 1e6 {
		t.Fatalf("%+v, %v", f, err)
	}
	if err := f.Measure(t.Context(), maker, time.Millisecond, nil); err != nil || f.Known || !f.Held || f.Memory.Total() <= 0 || len(f.Times) < foreseen {
		t.Errorf("measured: %+v, %v", f, err)
	}
}

// The peak includes what the end of a recording takes.
func TestThePeakIncludesTheEndOfWatching(t *testing.T) {
	maker, f, err := foresightOfCurve(t)
	if err != nil {
		t.Fatal(err)
	}
	_, before, _ := machine.ReadResident()
	held, least := []byte(nil), int64(0)
	err = f.Measure(t.Context(), maker, time.Millisecond, func(*stream.Stream) func() {
		return func() {
			held = make([]byte, before+64<<20)
			for i := range held {
				held[i] = 1
			}
			_, least, _ = machine.ReadResident()
		}
	})
	if err != nil || f.Peak < least || before > 0 && least <= before {
		t.Errorf("%d of %d at the end (%v), %d before", f.Peak, least, err, before)
	}
}

// A run that does not converge has the iterations that were foreseen for it.
func TestIterationsAreThoseForeseen(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir()) // for the weights
	for _, c := range []struct {
		preset string
		sets   []string
		most   int64
	}{
		{"ptycho-small", []string{"positions=20", "batch_size=8", "passes=3"}, 8},
		{"ptycho-small", []string{"positions=20", "batch_size=8", "max_passes=2"}, 5},
		{"ptycho-train-small", []string{"filters_scale=1", "object_size=128", "positions=32", "batch=8", "test_share=0.25", "epochs=2", "patience=0"}, 6},
		{"cyto-2d", []string{"volumes=3", "held_out=1", "patches_per_image=3", "batch=2", "side=64", "patch=16x16", "epochs=2"}, 10},
		{"cyto-2d", []string{"volumes=3", "held_out=1", "patches_per_image=3", "batch=2", "side=64", "patch=16x16", "epochs=2", "limit_train_batches=4", "max_iterations=7"}, 7},
		{"cyto-2d", []string{"mode=predict", "held_out=3", "batch=2", "side=64", "patch=16x16", "weights=seeded", "passes=2"}, 4},
	} {
		v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: c.preset, Sets: c.sets})
		if err != nil {
			t.Fatal(err)
		}
		maker := workloads.Of(v).Maker(workloads.Devices{})
		f, err := Foresee(t.Context(), maker, v)
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.New(t.Context(), sim.Options{Maker: maker, Settings: v, Stream: stream.New(2)})
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for over := false; !over; n++ {
			if _, over, err = r.Next(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		r.Close()
		if f.Most != c.most || n != c.most || f.Sooner {
			t.Errorf("%s %v: %d iterations foreseen, sooner %v, and %d ran; want %d", c.preset, c.sets, f.Most, f.Sooner, n, c.most)
		}
	}
}

// A training that is over within its measurement leaves no weights in place of those of earlier work.
func TestAMeasurementLeavesNothing(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Preset: "ptycho-train-small", Sets: []string{
		"filters_scale=1", "object_size=128", "positions=32", "batch=8", "test_share=0.25", "epochs=2", "patience=0"}})
	if err != nil {
		t.Fatal(err)
	}
	maker := workloads.Of(v).Maker(workloads.Devices{})
	f, err := Foresee(t.Context(), maker, v)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Measure(t.Context(), maker, time.Minute, nil); err != nil { // until it is over
		t.Fatal(err)
	}
	err = filepath.WalkDir(state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			t.Errorf("left %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestMemoryThatIsNotThere(t *testing.T) {
	f := Foresight{Known: true, Memory: profiles.Memory{Caches: 100}}
	for _, c := range []struct {
		free machine.Memory
		fits bool
	}{
		{machine.Memory{}, true}, {machine.Memory{Total: 50, Available: 200}, true}, {machine.Memory{Available: 99}, false},
		{machine.Memory{Available: 200, Limit: 99}, false}, {machine.Memory{Limit: 99}, false}, {machine.Memory{Limit: 100}, true},
	} {
		if f.Free = c.free; f.Fits() != c.fits {
			t.Errorf("%+v: fits %v", c.free, f.Fits())
		}
	}
	if f.Known = false; !f.Fits() {
		t.Error("what is not known does not fit")
	}
}
