package effect

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"prismtop/profiles"
)

// recorded is a series of testdata, in nanoseconds.
func recorded(t *testing.T, name string) []int64 {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name+".u16.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	ns := make([]int64, len(data)/2)
	for i := range ns {
		ns[i] = 1000 * int64(binary.LittleEndian.Uint16(data[2*i:]))
	}
	return ns
}

// simulated is a series about 5 ms with noise, stalls and what step adds to its logarithm.
func simulated(n int, step func(r *rand.Rand) float64) []int64 {
	r := rand.New(rand.NewPCG(7, 7))
	ns := make([]int64, n)
	for i := range ns {
		ms := 5 * math.Exp(step(r)+0.03*r.NormFloat64())
		if r.Float64() < 0.01 {
			ms += 20
		}
		ns[i] = int64(ms * 1e6)
	}
	return ns
}

// drifting wanders slowly and does not come back.
func drifting() []int64 {
	at := 0.0
	return simulated(60000, func(r *rand.Rand) float64 { at += 0.0006 * r.NormFloat64(); return at })
}

// moody keeps what happened: noise of neighbours is alike.
func moody() []int64 {
	at := 0.0
	return simulated(60000, func(r *rand.Rand) float64 { at = 0.98*at + 0.006*r.NormFloat64(); return at })
}

// switching has two speeds, 8 % apart, and stays with each for a thousand iterations or so.
func switching() []int64 {
	fast := false
	return simulated(60000, func(r *rand.Rand) float64 {
		if r.Float64() < 0.001 {
			fast = !fast
		}
		if fast {
			return -0.08
		}
		return 0
	})
}

// outcome counts what the effects of injected changes said.
type outcome struct{ changes, found, held int }

// inject plays a series in which a setting changes at a fixed number of iterations, and
// switches a factor on iteration time on and off.
func inject(ns []int64, every int, factor float64) (o outcome) {
	e := New(&profiles.Schema{})
	changes, on := uint32(0), false
	judge := func() {
		all, _ := e.View()
		if len(all) == 0 {
			return
		}
		f := all[len(all)-1]
		if !f.Comparable() {
			return
		}
		truth := factor - 1
		if f.After == "off" {
			truth = 1/factor - 1
		}
		o.changes++
		if v := f.Verdict(); v == profiles.Faster || v == profiles.Slower {
			o.found++
		}
		if f.Low <= truth && truth <= f.High {
			o.held++
		}
	}
	for i, t := range ns {
		if i > 0 && i%every == 0 {
			judge()
			on = !on
			values := [2]string{"off", "on"}
			if !on {
				values[0], values[1] = values[1], values[0]
			}
			e.Change(profiles.Change{Key: "spin", Before: values[0], After: values[1], Iteration: int64(i)})
			changes++
		}
		if on {
			t = int64(float64(t) * factor)
		}
		e.Iteration(&profiles.Iteration{Index: int64(i), Total: t, Changes: changes})
		if i%50 == 0 || (i+1)%every == 0 {
			e.Settle(math.MaxInt64, func(int64, int64) float64 { return 0 })
		}
	}
	return o
}

// The interval of one change holds the truth about as often as it says, on series that drift,
// keep their mood and switch their speed, simulated and recorded, however many iterations lie
// between two changes. The bound is 5 % and what chance adds in a few hundred changes that share
// their history.
func TestEffectsAreCalibrated(t *testing.T) {
	for name, ns := range map[string][]int64{
		"drifting": drifting(), "moody": moody(), "switching": switching(), "baseline": recorded(t, "baseline"), "moon": recorded(t, "moon"),
	} {
		for _, every := range []int{60, 150, 400} {
			for _, factor := range []float64{1, 1.05, 1.2} {
				o := inject(ns, every, factor)
				if o.changes < 30 {
					t.Errorf("%s every %d: only %d changes", name, every, o.changes)
				}
				missed := 1 - float64(o.held)/float64(o.changes)
				t.Logf("%-9s every %3d ×%.2f: %4d changes, %4.1f %% found, %4.1f %% of intervals miss the truth",
					name, every, factor, o.changes, 100*float64(o.found)/float64(o.changes), 100*missed)
				if missed > 0.09 {
					t.Errorf("%s every %d ×%.2f: %.1f %% of intervals miss the truth", name, every, factor, 100*missed)
				}
			}
		}
	}
}
