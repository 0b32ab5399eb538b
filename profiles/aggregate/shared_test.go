package aggregate

import (
	"testing"
	"time"

	"prismtop/profiles"
)

// Two aggregators of one run have one set of readings of the machine.
func TestAggregatorsOfOneRunShareTheirReadings(t *testing.T) {
	r := newRig()
	beside, counted := New(r.Follow(), Options{Load: r.readLoad}), r.Follow()
	loads, residents := 0, 0
	r.a.readings.resident = func() (int64, int64, string) { residents++; return 200e6 + int64(residents), 300e6, "" }
	beside.readings.resident = func() (int64, int64, string) { return 1, 1, "" }
	r.start()
	r.setOthers(0.4)
	const seconds = 10
	for range seconds * 10 {
		r.iterate(100)
		a, b := r.tick(), beside.Tick(r.now)
		if a.Load != b.Load || a.Memory.RSS != b.Memory.RSS || b.Index != a.Index {
			t.Fatalf("load %+v and %+v, RSS %d and %d", a.Load, b.Load, a.Memory.RSS, b.Memory.RSS)
		}
	}
	heard := 0
	counted.Drain(func(e *profiles.Event) {
		switch e.Body.(type) {
		case *profiles.Load:
			loads++
		case *profiles.Resident:
			heard++
		}
	})
	if want := seconds * int(time.Second/loadEvery); loads != want {
		t.Errorf("%d readings of the load in %d s, want %d", loads, seconds, want)
	}
	if residents != seconds || heard != 1 { // only the newest counts
		t.Errorf("memory was read %d times in %d s, and %d readings wait", residents, seconds, heard)
	}
	if l := beside.Last().Load; !l.Known || l.Foreign < 0.4-1e-9 || l.Foreign > 0.4+1e-9 {
		t.Errorf("%+v, want 0.4", l)
	}
}
