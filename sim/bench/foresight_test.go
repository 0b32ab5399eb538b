package bench

import (
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/sim/workloads"
)

// A run is foreseen with what its maker knows and what its iterations take, unless its memory is not there.
func TestARunIsForeseen(t *testing.T) {
	v, _, err := preset.Resolve(preset.Sources{Shelves: workloads.Presets(), Sets: []string{"size=64", "object_size=16", "radius=6", "roi_diameter=40", "channels=", "samples=20", "iterations=50", "cycles=1", "passes=1", "init_iterations=0", "threshold=0"}})
	if err != nil {
		t.Fatal(err)
	}
	maker := workloads.PRISM(workloads.Devices{})
	f, err := Foresee(t.Context(), maker, v, time.Millisecond)
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
