package ablation

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

// factorsOf returns factors of PRISM's table.
func factorsOf(t testing.TB, names ...string) []settings.Factor {
	t.Helper()
	factors, err := prism.Table.ParseFactors(names)
	if err != nil {
		t.Fatal(err)
	}
	return factors
}

// quick are options whose blocks have four iterations.
func quick(factors []settings.Factor, seed uint64) Options {
	return Options{Factors: factors, Seed: seed, Least: 4, Time: 1, Kinds: prism.Schema().Kinds}
}

// bench is a machine whose iterations take 5 ms times the factor of the combination. Its speed
// drifts, wanders so that neighbouring iterations resemble each other, and changes between two
// moods; some iterations stall.
type bench struct {
	random *rand.Rand
	factor func(on int) float64
	rec    profiles.Iteration
	wander float64
	slow   bool
}

func newBench(seed uint64, factor func(on int) float64) *bench {
	return &bench{random: rand.New(rand.NewPCG(seed, 7)), factor: factor, rec: profiles.Iteration{Kind: prism.KindLaterSample}}
}

func (b *bench) iterate(on int) *profiles.Iteration {
	b.wander = 0.99*b.wander + 0.004*b.random.NormFloat64()
	if b.random.Float64() < 0.002 {
		b.slow = !b.slow
	}
	ms := 5 * b.factor(on) * math.Pow(1+2e-5, float64(b.rec.Index)) * math.Exp(b.wander+0.02*b.random.NormFloat64())
	if b.slow {
		ms *= 1.15
	}
	if b.random.Float64() < 0.02 {
		ms += 30
	}
	b.rec.Start += b.rec.Total
	b.rec.Total = int64(ms * 1e6)
	b.rec.Index++
	return &b.rec
}

// play runs a factorial to its end and returns its table.
func (b *bench) play(f *Factorial) *profiles.Factorial {
	for !f.Done() {
		if f.Add(b.iterate(f.order[f.at])) {
			f.Look(math.NaN(), profiles.Memory{})
		}
	}
	return f.View().Factorial
}

// multiplying returns times in which each factor has its own effect, whatever the others.
func multiplying(effects ...float64) func(on int) float64 {
	return func(on int) float64 {
		product := 1.0
		for i, e := range effects {
			if on>>i&1 == 1 {
				product *= e
			}
		}
		return product
	}
}

// All intervals of a table hold together in 95 % of runs on a machine that drifts, wanders, changes
// its mood and stalls; interactions that are not there are reported in at most 5 %, and one that is
// there is found.
func TestFactorialsAreCalibrated(t *testing.T) {
	const runs = 200
	factors := factorsOf(t, "caches", "fused_telescope", "pruned_fft")
	base := baseline(t)
	without := multiplying(0.9, 0.6, 1.2)
	with := func(on int) float64 { // pruning works only with the fused telescope
		v := multiplying(0.9, 0.6, 1)(on)
		if on&6 == 6 {
			v *= 0.7
		}
		return v
	}
	false1, missed, uncovered, wrong := 0, 0, 0, 0
	for seed := range uint64(runs) {
		v := newBench(seed, without).play(NewFactorial(base, quick(factors, seed)))
		if v.Excess.BeyondNoise() || slices.ContainsFunc(v.Interactions, func(i profiles.Interaction) bool { return i.BeyondNoise() }) {
			false1++
		}
		if v.Multiplies() == profiles.MultipliesNot {
			wrong++
		}
		if !covers(v, without) {
			uncovered++
		}
		v = newBench(1000+seed, with).play(NewFactorial(base, quick(factors, 1000+seed)))
		if pair := v.Interactions[2]; !slices.Equal(pair.Of, []int{1, 2}) || pair.High >= 0 || v.Multiplies() != profiles.MultipliesNot {
			missed++
		}
		if !covers(v, with) {
			uncovered++
		}
	}
	t.Logf("of %d runs without interactions %d report one and %d say that one may not multiply; of %d with one, %d miss it; of %d, some interval is wrong in %d",
		runs, false1, wrong, runs, missed, 2*runs, uncovered)
	if false1 > runs/20 || missed > runs/20 || uncovered > 2*runs/20 {
		t.Errorf("of %d: %d false, %d missed; of %d: %d uncovered", runs, false1, missed, 2*runs, uncovered)
	}
}

// covers reports whether every interval of a table holds the true value.
func covers(v *profiles.Factorial, truth func(on int) float64) bool {
	k := len(v.Factors)
	log := make([]float64, 1<<k)
	for on := range log {
		log[on] = math.Log(truth(on))
	}
	holds := func(r profiles.Ratio, want float64) bool {
		want = math.Expm1(want)
		return r.Known() && r.Low <= want+1e-9 && want-1e-9 <= r.High
	}
	all, product := 1<<k-1, 0.0
	for i := range k {
		if !holds(v.Alone[i], log[1<<i]-log[0]) || !holds(v.Averaged[i], dot(contrast(1<<i, k), log)) {
			return false
		}
		product += log[1<<i] - log[0]
	}
	for _, in := range v.Interactions {
		of := uint(0)
		for _, i := range in.Of {
			of |= 1 << i
		}
		if !holds(in.Ratio, dot(contrast(of, k), log)) {
			return false
		}
	}
	whole := log[all] - log[0]
	return holds(v.Product, product) && holds(v.Whole, whole) && holds(v.Excess, whole-product)
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// The table's numbers are those of a machine without noise.
func TestAFactorialsNumbers(t *testing.T) {
	factors := factorsOf(t, "caches", "fused_telescope")
	// Off 10 ms, caches 8, fused 5, both 4.4: alone −20 % and −50 %, their product 4 ms.
	rounds := make([][]float64, 12)
	for i := range rounds {
		scale := float64(1 + i) // of a round, which cancels
		rounds[i] = []float64{10e6 * scale, 8e6 * scale, 5e6 * scale, 4.4e6 * scale}
	}
	v := Analyse(factors, rounds)
	v.Final = true
	near := func(what string, r profiles.Ratio, want float64) {
		t.Helper()
		for _, got := range []float64{r.Effect, r.Low, r.High} {
			if math.Abs(got-want) > 1e-12 {
				t.Errorf("%s: %+v, want %g", what, r, want)
			}
		}
	}
	near("caches alone", v.Alone[0], -0.2)
	near("fused alone", v.Alone[1], -0.5)
	near("caches averaged", v.Averaged[0], math.Sqrt(0.8*0.88)-1)
	near("fused averaged", v.Averaged[1], math.Sqrt(0.5*0.55)-1)
	near("together", v.Interactions[0].Ratio, 0.1)
	near("product", v.Product, -0.6)
	near("whole", v.Whole, -0.56)
	near("excess", v.Excess, 0.1)
	if v.Intervals != 8 || v.Needed != 9 || v.CombinationNS[3] != 4.4e6*6.5 {
		t.Errorf("%d intervals need %d rounds; everything on takes %g ns", v.Intervals, v.Needed, v.CombinationNS[3])
	}
	if got, want := v.Verdict(), "one may not multiply the single speed-ups: the product says 2.50x, measured 2.27x [2.27,2.27]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	few := Analyse(factors, rounds[:8])
	if few.Multiplies() != profiles.MultipliesUnknown || few.Alone[0].Known() || few.Verdict() != "intervals after 1 more" {
		t.Errorf("8 rounds: %q", few.Verdict())
	}
}

// The table of five factors has all their interactions, pairs first.
func TestInteractionsOfFiveFactors(t *testing.T) {
	factors := factorsOf(t, "caches", "fused_telescope", "pruned_fft", "checkpointing", "amp=bf16x3")
	v := NewFactorial(baseline(t), quick(factors, 1)).View().Factorial
	if n := len(v.Interactions); n != 26 || v.Pairs() != 10 || v.Intervals != 39 || v.Needed != 11 {
		t.Errorf("%d interactions, %d of them pairs; %d intervals need %d rounds", n, v.Pairs(), v.Intervals, v.Needed)
	}
	if got := v.InteractionName(0); got != "caches × fused_telescope" {
		t.Errorf("the first is %q", got)
	}
	if got := v.InteractionName(25); strings.Count(got, "×") != 4 {
		t.Errorf("the last is %q", got)
	}
}

// Every round runs each combination once, in an order of its own; a block starts with a warm-up
// that is not timed, all blocks of a round are as long, and only the factors differ from the base.
func TestRoundsAreCompleteBlocks(t *testing.T) {
	base := baseline(t, "amp=bf16x3")
	factors := factorsOf(t, "caches", "pruned_fft", "amp")
	o := quick(factors, 3)
	o.Rounds, o.Time = 6, 40e6
	f := NewFactorial(base, o)
	b := newBench(3, func(on int) float64 { return 1 + float64(on)/4 })
	var orders [][]int
	lengths := map[int]int{}
	for !f.Done() {
		round, on := len(f.rounds), f.order[f.at]
		v := f.Wanted()
		for _, key := range v.Differing(base) {
			if !slices.Contains([]string{"measurement_cache", "fft_cache", "mask_cache", "pruned_fft", "amp"}, key) {
				t.Fatalf("%s is %s", key, v.Get(key))
			}
		}
		for i, factor := range factors {
			for j := range factor.On {
				want := factor.Off[j]
				if on>>i&1 == 1 {
					want = factor.On[j]
				}
				if v.Get(want.Key) != want.Value {
					t.Fatalf("combination %b has %s = %s", on, want.Key, v.Get(want.Key))
				}
			}
		}
		if f.block.seen == 0 {
			if len(orders) == round {
				orders = append(orders, nil)
			}
			orders[round] = append(orders[round], on)
		}
		slow := b.iterate(on)
		if f.block.seen < f.options.Warmup {
			slow.Total *= 1000 // after a switch
		}
		if f.Add(slow) {
			if n := len(f.block.nanos); lengths[round] != 0 && lengths[round] != n || n < 4 {
				t.Errorf("round %d has blocks of %d and %d iterations", round, lengths[round], n)
			} else {
				lengths[round] = n
			}
			f.Look(0, profiles.Memory{})
		}
	}
	if len(orders) != 6 || slices.Equal(orders[0], orders[1]) {
		t.Errorf("orders %v", orders)
	}
	for _, order := range orders {
		sorted := slices.Sorted(slices.Values(order))
		if !slices.Equal(sorted, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
			t.Errorf("a round runs %v", order)
		}
	}
	v := f.View()
	if v.Ended != "complete" || v.Done != v.Groups || v.Groups != 48 || v.Factorial.Rounds != 6 || !v.Factorial.Final {
		t.Errorf("ended %q after %d of %d blocks, %d rounds", v.Ended, v.Done, v.Groups, v.Factorial.Rounds)
	}
	if ns := v.Factorial.CombinationNS[0]; ns > 20e6 {
		t.Errorf("the warm-up is in the median: %g ms", ns/1e6)
	}
	if got := f.Wanted(); len(got.Differing(base)) > 0 {
		t.Errorf("after the end, %v differ", got.Differing(base))
	}
}

// Iterations of another kind are not compared with earlier ones: the rounds start over.
func TestAFactorialBeginsAgainWithAnotherKind(t *testing.T) {
	o := quick(factorsOf(t, "caches", "pruned_fft"), 4)
	o.Rounds = 3
	f, b := NewFactorial(baseline(t), o), newBench(4, multiplying(1, 1))
	b.rec.Kind = prism.KindInitialisation
	for n := 0; !f.Done(); n++ {
		if n == 60 {
			if f.View().Factorial.Rounds == 0 {
				t.Error("no round was complete before")
			}
			b.rec.Kind = prism.KindLaterSample
		}
		if f.Add(b.iterate(f.order[f.at])) {
			f.Look(0, profiles.Memory{})
		}
		if n == 60 && (f.View().Factorial.Rounds != 0 || f.View().Done != 0) {
			t.Errorf("%d rounds are left", f.View().Factorial.Rounds)
		}
	}
	if v := f.View(); v.Work != "later samples" || v.Factorial.Rounds != 3 || v.Done != 12 {
		t.Errorf("%d rounds of %q, %d blocks", v.Factorial.Rounds, v.Work, v.Done)
	}
}

// A factorial that cannot run has ended with the reason, and its table names the settings.
func TestARefusedFactorialSaysWhy(t *testing.T) {
	factors := factorsOf(t, "caches", "amp")
	factors[1].On = []settings.Assignment{{Key: "amp", Value: "fp8"}}
	f := NewFactorial(baseline(t), quick(factors, 1))
	v := f.View()
	if !f.Done() || !strings.Contains(v.Ended, `amp = "fp8"`) || v.Running || len(v.Factorial.Factors) != 2 || v.Done != 0 {
		t.Errorf("%+v", v)
	}
	if _, err := Combinations(baseline(t), factors[:1]); err == nil || !strings.Contains(err.Error(), "must be 2 to 5") {
		t.Errorf("one factor: %v", err)
	}
}

// A note says what has no effect in any combination; a setting that needs another of the factors
// has none.
func TestFactorialNotes(t *testing.T) {
	f := NewFactorial(baseline(t, "pattern=trainer"), quick(factorsOf(t, "measurement_cache", "pruned_fft", "fused_telescope"), 1))
	notes := map[string]string{}
	table := f.View().Factorial
	for i, factor := range table.Factors {
		notes[factor.Name] = table.Notes[i]
	}
	if !strings.Contains(notes["measurement_cache"], "trainer pattern") || notes["pruned_fft"] != "" || notes["fused_telescope"] != "" {
		t.Errorf("notes %q", notes)
	}
	f = NewFactorial(baseline(t, "fused_telescope=false"), quick(factorsOf(t, "caches", "pruned_fft"), 1))
	if table = f.View().Factorial; !strings.Contains(table.Notes[1], "only the fused telescope") || table.Notes[0] != "" {
		t.Errorf("notes %q", table.Notes)
	}
}
