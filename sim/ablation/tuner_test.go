package ablation

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/profiles/settings"
)

var batchTable = settings.NewTable("batches", nil,
	settings.Integer("", settings.BatchSize, "", "", 1, 4096).Live(), settings.Switch("", settings.AutoTune, "").Live())

func sized(t testing.TB, size int) settings.Values {
	t.Helper()
	v, err := batchTable.Zero().With(settings.Assignment{Key: settings.BatchSize, Value: fmt.Sprint(size)}, settings.Assignment{Key: settings.AutoTune, Value: "true"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// planted is a machine with planted times of an item by the batch size, which other sizes do not
// have memory for above most.
type planted struct {
	item  func(size int) float64 // nanoseconds
	most  int
	noise float64 // standard deviation of an iteration's logarithm
	drift float64 // of the logarithm in an iteration
	from  int
}

// tune searches on the machine until the end, and returns the tuner and the number of iterations.
func (b planted) tune(t testing.TB, seed uint64) (*Tuner, int) {
	base := sized(t, b.from)
	random := rand.New(rand.NewPCG(seed, 1))
	u := NewTuner(base, TunerOptions{
		Options: Options{Seed: seed, Items: func(v settings.Values) int { return v.Int(settings.BatchSize) }},
		Needed:  func(m profiles.Memory) int64 { return m.Total() },
		Values: func(size int) (settings.Values, error) {
			if size > b.most {
				return base, errors.New("too little memory")
			}
			return base.Set(settings.BatchSize, fmt.Sprint(size))
		},
	})
	at, drift := int64(0), 0.0
	for n := range 1 << 20 {
		v := u.Wanted()
		if u.Done() {
			return u, n
		}
		size := v.Int(settings.BatchSize)
		if size > b.most {
			t.Fatalf("a batch of %d was tried, of %d that fit", size, b.most)
		}
		drift += b.drift
		ns := int64(float64(size) * b.item(size) * math.Exp(drift+b.noise*random.NormFloat64()))
		if u.Add(&profiles.Iteration{Index: int64(n), Start: at, Total: ns}) {
			u.Look(math.NaN(), profiles.Memory{Caches: int64(size) << 20})
		}
		at += ns
	}
	t.Fatal("the search does not end")
	return nil, 0
}

// overhead is a fixed cost of a batch besides that of its items.
func overhead(fixed, item float64) func(int) float64 {
	return func(size int) float64 { return fixed/float64(size) + item }
}

// valley is fastest at one size.
func valley(best float64) func(int) float64 {
	return func(size int) float64 {
		d := math.Log2(float64(size) / best)
		return 5e6 * (1 + 0.06*d*d)
	}
}

func TestTheTunerFindsTheBestSize(t *testing.T) {
	for _, tt := range []struct {
		name       string
		plant      planted
		least, max int // of the choice
		says       string
	}{
		{"from far below", planted{item: valley(48), most: 4096, noise: 0.02, from: 1}, 32, 64, "takes "},
		{"from far above", planted{item: valley(8), most: 4096, noise: 0.02, from: 512}, 6, 12, "takes "},
		{"from the best", planted{item: valley(32), most: 4096, noise: 0.02, from: 32}, 24, 48, "takes "},
		{"a little slower below the best", planted{item: valley(32), most: 4096, noise: 0.005, from: 32}, 24, 24, "flat from 24 to 32: takes 24"},
		{"much slower below the best", planted{item: valley(16), most: 4096, noise: 0.005, from: 16}, 12, 12, "flat from 12 to 16: takes 12"},
		{"of another size than the ladder's", planted{item: valley(20), most: 4096, noise: 0.02, from: 20}, 16, 24, "takes "},
		{"on a plateau", planted{item: overhead(20e6, 5e6), most: 4096, noise: 0.01, from: 1}, 128, 256, "flat from "},
		{"on the flat", planted{item: overhead(0, 5e6), most: 4096, noise: 0.01, from: 64}, 1, 1, "flat from 1 to 256: takes 1"},
		{"below the limit of memory", planted{item: overhead(80e6, 5e6), most: 100, noise: 0.01, from: 8}, 96, 96, "none larger: too little memory"},
		{"through a drift", planted{item: valley(16), most: 4096, noise: 0.02, drift: 3e-4, from: 2}, 12, 24, "takes "},
		{"with one size", planted{item: valley(16), most: 1, from: 1}, 1, 1, "takes 1; none larger: too little memory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			u, n := tt.plant.tune(t, 7)
			v, ok := u.Chosen()
			size := v.Int(settings.BatchSize)
			view := u.View()
			t.Logf("%d after %d iterations and %d comparisons: %s", size, n, len(view.Rows), view.Ended)
			if !ok || v.On(settings.AutoTune) || size < tt.least || size > tt.max {
				t.Errorf("it chose %d with auto_tune = %s, want from %d to %d", size, v.Get(settings.AutoTune), tt.least, tt.max)
			}
			if !strings.Contains(view.Ended, tt.says) || view.Running || view.Tuning.Chosen != size || view.Tuning.FlatFrom != size {
				t.Errorf("it ended with %q and %+v, want %q", view.Ended, view.Tuning, tt.says)
			}
			for _, r := range view.Rows {
				if !r.Final || r.Groups < tunerLooks[0] || r.OffBytes == r.OnBytes {
					t.Errorf("row %+v", r)
				}
			}
		})
	}
}

// Noise misleads the tuner seldom: it chooses a size that is slower than the best of the ladder by
// more than a twentieth in at most one search of twenty. Two steps that each count as none, one up
// not taken and one down taken, are most of that.
func TestFalseChoicesAreBounded(t *testing.T) {
	const most = 0.05
	searches := 5
	if profilestest.Exhaustive() {
		searches = 25
	}
	for name, b := range map[string]planted{
		"valley":  {item: valley(24), most: 512, noise: 0.08, from: 4},
		"plateau": {item: overhead(40e6, 5e6), most: 512, noise: 0.08, drift: 1e-4, from: 2},
		"flat":    {item: overhead(0, 5e6), most: 512, noise: 0.08, from: 32},
	} {
		best := math.Inf(1)
		for _, n := range Ladder(mostTuned) {
			if n <= b.most {
				best = min(best, b.item(n))
			}
		}
		wrong, worst := 0, 0.0
		for seed := range uint64(searches) {
			u, _ := b.tune(t, seed)
			v, ok := u.Chosen()
			loss := b.item(v.Int(settings.BatchSize))/best - 1
			worst = max(worst, loss)
			if !ok || loss > most {
				wrong++
			}
		}
		t.Logf("%s: %d of %d choices are slower by more than %g, the worst by %.3f", name, wrong, searches, most, worst)
		if wrong > searches/20 {
			t.Errorf("%s: %d of %d choices are false", name, wrong, searches)
		}
	}
}

// A search that is ended early chooses nothing.
func TestAnEndedSearchChoosesNothing(t *testing.T) {
	base := sized(t, 16)
	u := NewTuner(base, TunerOptions{
		Options: Options{Items: func(v settings.Values) int { return v.Int(settings.BatchSize) }},
		Needed:  func(m profiles.Memory) int64 { return m.Total() },
		Values:  func(size int) (settings.Values, error) { return base.Set(settings.BatchSize, fmt.Sprint(size)) },
	})
	if v := u.View().Tuning; v.Best != 16 || v.Candidate != 32 {
		t.Errorf("it begins with %d against %d", v.Candidate, v.Best)
	}
	u.End("batch_size was changed")
	if _, ok := u.Chosen(); ok || u.Wanted().Get(settings.BatchSize) != "16" || u.View().Ended != "batch_size was changed" {
		t.Errorf("it ended with %+v", u.View())
	}
}
