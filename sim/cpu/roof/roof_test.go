package roof

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/machine"
	"prismtop/sim/cpu/pool"
	"prismtop/sim/cpu/vec"
)

func TestMeasureFindsPositiveRoofs(t *testing.T) {
	for _, set := range vec.Available() {
		r, err := Measure(t.Context(), Options{Set: set, Threads: 1, Each: time.Millisecond})
		if err != nil || !r.sound(Key{Kernels: set.String(), Threads: 1}) {
			t.Errorf("%v: %+v", set, r)
		}
		if (r.BF16 > 0) != (set.DotProducts(1) > 0) {
			t.Errorf("%v: %g GFLOP/s of bf16", set, r.BF16)
		}
		t.Logf("%v: %.0f GFLOP/s, %.0f of bf16, %+v", set, r.GFLOPS, r.BF16, r.Levels)
	}
}

func TestJudge(t *testing.T) {
	r := &Roofs{GFLOPS: 200, Levels: []Level{{1000, 100, 80}, {1 << 20, 30, 50}, {1 << 24, 10, 20}}}
	tests := []struct {
		name            string
		flops, bytes    int64
		took            time.Duration
		compute, memory float64
		bound           string
	}{
		{"arithmetic in the nearest cache", 1000, 1000, 10, 0.5, 1, "memory"},
		{"arithmetic", 20_000, 500, 200, 0.5, 0.025, "compute"},
		{"the second level", 0, 1 << 20, 1 << 20, 0, 1.0 / 50, "memory"},
		{"beyond the largest", 0, 1 << 30, 1 << 27, 0, 8.0 / 20, "memory"},
	}
	for _, test := range tests {
		j := r.Judge(test.flops, test.bytes, test.took)
		if math.Abs(j.Compute-test.compute) > 1e-9 || math.Abs(j.Memory-test.memory) > 1e-9 || j.Bound != test.bound {
			t.Errorf("%s: %+v", test.name, j)
		}
	}
}

func TestStoreKeepsWholeMeasurementsOnly(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "a", "b")}
	k := Key{CPU: "x", Logical: 2, Version: "1", Kernels: "go", Threads: 1}
	o := Options{Set: vec.Go, Threads: 1, Each: time.Microsecond, Load: load(0)}
	first, err := s.Of(t.Context(), k, o, false)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.Of(t.Context(), k, o, false)
	if err != nil || !again.Measured.Equal(first.Measured) || !reflect.DeepEqual(again.Levels, first.Levels) {
		t.Errorf("kept %+v, read %+v, %v", first, again, err)
	}
	if forced, err := s.Of(t.Context(), k, o, true); err != nil || forced.Measured.Equal(first.Measured) {
		t.Errorf("force read the kept one, %v", err)
	}
	other := k
	other.Threads = 2
	if s.Load(t.Context(), other) != nil {
		t.Error("a measurement of one thread was taken for two")
	}
	for _, damage := range []string{"", "{", "null", `{"kernels":"go","threads":1,"gflops":-1}`,
		`{"kernels":"go","threads":1,"gflops":1,"levels":[{"bytes":1,"read_gb_s":1e99,"update_gb_s":1}],"measured":"2020-01-01T00:00:00Z"}`} {
		if err := os.WriteFile(s.path(k), []byte(damage), 0o644); err != nil {
			t.Fatal(err)
		}
		if r := s.Load(t.Context(), k); r != nil {
			t.Errorf("%q was read as %+v", damage, r)
		}
		if r, err := s.Of(t.Context(), k, o, false); err != nil || !r.sound(k) || s.Load(t.Context(), k) == nil {
			t.Errorf("%q was not measured anew: %+v, %v", damage, r, err)
		}
	}
	parts, _ := filepath.Glob(filepath.Join(s.Dir, "*.part"))
	if len(parts) != 0 {
		t.Errorf("left %q behind", parts)
	}
}

// load simulates processors of which other programs use a share. Between two readings pass hours, so that no limit is measured
// for longer than this program had its processors.
func load(foreign float64) func() machine.Load {
	var now machine.Load
	return func() machine.Load {
		now.Add(machine.Load{Busy: 1e4, Own: 1e4 * (1 - foreign), Passed: 1e4})
		return now
	}
}

// What was measured while others computed is lower than the machine's roofs, and would
// let every layer look better than it is from then on.
func TestWhatWasMeasuredBesideOthersIsNotKept(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	k := Key{CPU: "x", Logical: 2, Version: "1", Kernels: "go", Threads: 1}
	o := Options{Set: vec.Go, Threads: 1, Each: time.Microsecond, Load: load(0.48)}
	r, err := s.Of(t.Context(), k, o, false)
	if r == nil || err == nil || !strings.Contains(err.Error(), "other programs took 48 % of the processors") || s.Load(t.Context(), k) != nil {
		t.Fatalf("%+v, %v, kept %+v", r, err, s.Load(t.Context(), k))
	}
	best := &Roofs{Kernels: "go", Threads: 1, GFLOPS: 1e6, Measured: time.Now()}
	for _, bytes := range sizes {
		best.Levels = append(best.Levels, Level{bytes, 1e6, 1e-6})
	}
	if err := s.Save(k, best); err != nil {
		t.Fatal(err)
	}
	r, err = s.Of(t.Context(), k, o, true)
	if err != nil || r.GFLOPS != 1e6 || r.Levels[0].Read != 1e6 || r.Levels[0].Update <= 1e-6 || !reflect.DeepEqual(s.Load(t.Context(), k).Levels, r.Levels) {
		t.Errorf("measured again beside others: %+v, %v; want the best of both", r, err)
	}
	o.Load = load(0.01)
	if r, err = s.Of(t.Context(), k, o, true); err != nil || r.GFLOPS >= 1e6 {
		t.Errorf("measured again in a calm moment: %+v, %v; want the new ones", r, err)
	}
}

// counted simulates processors whose time this program has a share of, as a function of the number of the reading. The shares in
// tests are far from what decides, since the test itself may lose its processor between two readings of the clock.
func counted(share func(reading int) float64) func() machine.Load {
	var now machine.Load
	last, n := time.Now(), 0
	return func() machine.Load {
		passed := time.Since(last).Seconds()
		last = last.Add(time.Duration(passed * 1e9))
		now.Add(machine.Load{Own: share(n) * passed, Busy: share(n) * passed, Passed: passed})
		n++
		return now
	}
}

// A limit is measured again where a thread lost its processor, and is doubtful if it never has it.
func TestALimitIsMeasuredAgainWithoutAProcessor(t *testing.T) {
	for _, c := range []struct {
		name  string
		share func(int) float64
		reads int // of the first limit
		doubt bool
	}{
		{"quiet", func(int) float64 { return 3 }, 2, false},
		{"lost once", func(n int) float64 { return []float64{0, 0.1, 0, 3}[min(n, 3)] }, 4, false},
		{"lost all the time", func(int) float64 { return 0.1 }, 2 * attempts, true},
	} {
		p := pool.New(1)
		defer p.Close()
		readings := 0
		read := counted(c.share)
		m := measurement{ctx: t.Context(), pool: p, share: math.Inf(1), o: Options{Each: countable, Load: func() machine.Load { readings++; return read() }}}
		if most := m.limit(func() int64 { return 1 }); most <= 0 || readings != c.reads || (m.share < enoughTime) != c.doubt {
			t.Errorf("%s: at most %g, %d readings, a share of %g; want %d", c.name, most, readings, m.share, c.reads)
		}
		if readings = 0; c.doubt {
			if m.limit(func() int64 { return 1 }); readings != 2 {
				t.Errorf("%s: the next limit was measured with %d readings", c.name, readings)
			}
		}
	}
}

// What was measured without all processors is said to be doubtful, and does not replace a better measurement.
func TestWhatWasMeasuredWithoutProcessorsIsNotKept(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	k := Key{CPU: "x", Logical: 2, Version: "1", Kernels: "go", Threads: 1}
	o := Options{Set: vec.Go, Threads: 1, Each: countable, Load: counted(func(int) float64 { return 0.1 })}
	r, err := s.Of(t.Context(), k, o, false)
	if r == nil || err == nil || !strings.Contains(err.Error(), "the roofs are doubtful and not kept: the threads had only ") || s.Load(t.Context(), k) != nil {
		t.Fatalf("%+v, %v, kept %+v", r, err, s.Load(t.Context(), k))
	}
	better := *r
	better.GFLOPS *= 1e3
	if err := s.Save(k, &better); err != nil {
		t.Fatal(err)
	}
	if r, err = s.Of(t.Context(), k, o, true); err != nil || r.GFLOPS != better.GFLOPS {
		t.Errorf("measured again: %+v, %v; want the better of both", r, err)
	}
}

// The share is that of processors that are there, and is not known where it is not counted.
func TestTheShareOfProcessors(t *testing.T) {
	if share, known := shareOf(machine.Load{Own: 0.06}, 60*time.Millisecond, 1); !known || math.Abs(share-1) > 1e-9 {
		t.Errorf("one thread: %g, %v", share, known)
	}
	if share, known := shareOf(machine.Load{Own: 0.06 * float64(machine.Processors())}, 60*time.Millisecond, 64*machine.Processors()); !known || math.Abs(share-1) > 1e-9 {
		t.Errorf("more threads than processors: %g, %v", share, known)
	}
	for _, unknown := range []machine.Load{{Own: 1, Reason: "not counted here"}} {
		if share, known := shareOf(unknown, time.Second, 1); known {
			t.Errorf("not counted: %g", share)
		}
	}
	if share, known := shareOf(machine.Load{Own: 1}, time.Millisecond, 1); known {
		t.Errorf("too short: %g", share)
	}
}
