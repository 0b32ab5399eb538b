package ablation

import (
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

func baseline(t testing.TB, sets ...string) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: preset.Shelves{prism.Presets()}, Preset: "baseline", Sets: sets})
	if err != nil {
		t.Fatal(err)
	}
	return v.Settled()
}

// machine is a run whose iterations take 5 ms times the factor of each setting, with noise,
// stalls and a steady drift.
type machine struct {
	random *rand.Rand
	factor map[string]float64 // by "key value"
	drift  float64            // per iteration
	psnr   map[string]float64 // dB gained per iteration under "key value", 0.01 for others
	scale  float64            // of all times; 0 means 1
	rec    profiles.Iteration
	gained float64
	keys   []settings.Key // that an ablation compares
}

func (m *machine) iterate(v settings.Values) *profiles.Iteration {
	ms := 5.0
	gain := 0.01
	if m.keys == nil {
		m.keys = v.Table().Compares()
	}
	for _, k := range m.keys {
		value := v.Get(k.Name)
		if f, ok := m.factor[k.Name+" "+value]; ok {
			ms *= f
		}
		if g, ok := m.psnr[k.Name+" "+value]; ok {
			gain = g
		}
	}
	ms *= math.Pow(1+m.drift, float64(m.rec.Index)) * math.Exp(0.03*m.random.NormFloat64())
	if m.random.Float64() < 0.02 {
		ms += 40
	}
	if m.scale > 0 {
		ms *= m.scale
	}
	m.gained += gain
	m.rec.Start += m.rec.Total
	m.rec.Total = int64(ms * 1e6)
	m.rec.Index++
	return &m.rec
}

// play runs a schedule to its end and returns the settings of each iteration.
func (m *machine) play(s *Schedule, seen func(settings.Values, *profiles.Iteration)) {
	for !s.Done() {
		v := s.Wanted()
		it := m.iterate(v)
		if it.Caches[prism.CacheMasks] = (profiles.CacheCounters{}); v.On("mask_cache") {
			it.Caches[prism.CacheMasks].Bytes = it.Index // it fills
		}
		if seen != nil {
			seen(v, it)
		}
		if s.Add(it) {
			m := profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryActivations: 1000}, Caches: it.Caches[prism.CacheMasks].Bytes}
			if v.On("checkpointing") {
				m.Parts[prism.MemoryActivations] = 300
			}
			s.Look(20, m)
		}
	}
}

// A cache that is empty in the newest block of its value was none the less held by it.
func TestMemoryIsTheMostOfABlock(t *testing.T) {
	m := later(1)
	s := New(baseline(t), Options{Kinds: prism.Schema().Kinds, Caches: prism.Schema().Caches, Seed: 2,
		Only: []string{"mask_cache"}})
	for !s.Done() {
		v := s.Wanted()
		it := m.iterate(v)
		if it.Caches[prism.CacheMasks].Bytes = 0; v.On("mask_cache") && it.Index < 100 {
			it.Caches[prism.CacheMasks].Bytes = 500
		}
		if s.Add(it) {
			s.Look(20, profiles.Memory{Parts: [profiles.MaxMemory]int64{prism.MemoryActivations: 1000}})
		}
	}
	v := s.View()
	if r := rowOf(t, v, "mask_cache"); r.OffBytes != 1000 || r.OnBytes != 1500 {
		t.Errorf("the mask cache takes %d bytes off and %d on", r.OffBytes, r.OnBytes)
	}
}

func later(seed uint64) *machine {
	return &machine{
		random: rand.New(rand.NewPCG(seed, 1)), factor: map[string]float64{},
		rec: profiles.Iteration{Kind: prism.KindLaterSample, Unit: 3},
	}
}

func rowOf(t *testing.T, v *profiles.Ablation, name string) profiles.AblationRow {
	t.Helper()
	for _, r := range v.Rows {
		if r.Name() == name {
			return r
		}
	}
	t.Fatalf("no row %q", name)
	return profiles.AblationRow{}
}

// Known effects are found despite drift, noise and stalls.
func TestKnownEffectsAreFound(t *testing.T) {
	m := later(1)
	m.drift = 2e-5 // iterations become half as long again over the ablation
	m.factor = map[string]float64{"fused_telescope true": 0.7, "amp bf16": 1.2, "checkpointing true": 1.1}
	s := New(baseline(t), Options{Kinds: prism.Schema().Kinds, Caches: prism.Schema().Caches, Seed: 2})
	m.play(s, nil)
	v := s.View()
	if v.Running || v.Ended != "complete" || v.Done != v.Groups || v.Done != 8*len(v.Rows) {
		t.Fatalf("ended %q after %d of %d groups", v.Ended, v.Done, v.Groups)
	}
	for name, want := range map[string]float64{"fused_telescope": -0.3, "amp bf16": 0.2, "checkpointing": 0.1, "fft_cache": 0} {
		r := rowOf(t, v, name)
		if math.Abs(r.Effect-want) > 0.02 || !(r.Low <= want && want <= r.High) {
			t.Errorf("%s: %.3f [%.3f, %.3f], want %g", name, r.Effect, r.Low, r.High, want)
		}
	}
	for name, want := range map[string]profiles.Judgement{
		"fused_telescope": profiles.Saves, "amp bf16": profiles.Costs, "fft_cache": profiles.SameTime,
	} {
		r := rowOf(t, v, name)
		if r.Judge() != want {
			t.Errorf("%s: %s", name, r.Verdict())
		}
	}
	if r := rowOf(t, v, "checkpointing"); r.OffBytes != 1000 || r.OnBytes != 300 {
		t.Errorf("checkpointing takes %d bytes off and %d on", r.OffBytes, r.OnBytes)
	}
	if r := rowOf(t, v, "amp bf16"); r.OffBytes != 1000 || r.OnBytes != 1000 { // the mask cache fills meanwhile
		t.Errorf("amp takes %d bytes off and %d on", r.OffBytes, r.OnBytes)
	}
	if r := rowOf(t, v, "mask_cache"); r.OffBytes != 1000 || r.OnBytes <= 1000 {
		t.Errorf("the mask cache takes %d bytes off and %d on", r.OffBytes, r.OnBytes)
	}
}

// Blocks of a group have the same number of iterations and follow off on on off or its mirror, as a
// coin decides, and only one setting differs from the base.
func TestTheOrderIsBalanced(t *testing.T) {
	base := baseline(t, "amp=bf16x3")
	s := New(base, Options{Kinds: prism.Schema().Kinds, Rounds: 4, Least: 1, Time: 1})
	m := later(2)
	type stretch struct {
		key string
		on  bool
		n   int
	}
	groups := map[string][]string{}
	var sequence []stretch
	for !s.Done() {
		r := &s.rows[s.order[s.at]]
		name, on := r.Name(), s.group.isOn(s.group.block)
		v := s.Wanted()
		for _, key := range v.Differing(base) {
			if key != r.Key {
				t.Fatalf("%s is %s while %s is compared", key, v.Get(key), name)
			}
		}
		if len(sequence) == 0 || s.block.seen == 0 {
			sequence = append(sequence, stretch{name, on, 0})
		}
		sequence[len(sequence)-1].n++
		if s.Add(m.iterate(v)) {
			s.Look(20, profiles.Memory{})
		}
	}
	for i := 0; i+3 < len(sequence); i += 4 {
		order := ""
		for _, b := range sequence[i : i+4] {
			if b.key != sequence[i].key || b.n != sequence[i].n {
				t.Fatalf("blocks %+v are not of one group", sequence[i:i+4])
			}
			order += map[bool]string{true: "1", false: "0"}[b.on]
		}
		groups[sequence[i].key] = append(groups[sequence[i].key], order)
	}
	mirrored, plain := 0, 0
	for name, orders := range groups {
		for _, order := range orders {
			switch order {
			case "0110":
				plain++
			case "1001":
				mirrored++
			default:
				t.Errorf("%s: a group %s", name, order)
			}
		}
		if len(orders) != 4 {
			t.Errorf("%s: %d groups", name, len(orders))
		}
	}
	if all := plain + mirrored; min(plain, mirrored) < all/4 {
		t.Errorf("%d groups begin with off, %d with on", plain, mirrored)
	}
	pairs := 0
	for _, k := range base.Table().Compares() {
		pairs += len(k.Compared.Pairs)
	}
	if len(groups) != pairs {
		t.Errorf("%d pairs of values were compared, want %d", len(groups), pairs)
	}
}

// Blocks are long enough both in iterations and in time.
func TestBlocksAreLongEnough(t *testing.T) {
	for _, o := range []Options{{Rounds: 1, Time: 200 * time.Millisecond}, {Rounds: 1, Time: 1, Least: 17}} {
		s, m := New(baseline(t), o), later(3)
		m.play(s, nil)
		for _, r := range s.View().Rows {
			if r.Iterations < 4*s.options.Least {
				t.Errorf("%+v: %s rests on %d iterations", o, r.Name(), r.Iterations)
			}
			if spent := float64(r.Iterations) * 5e6; spent < 3*float64(o.Time) {
				t.Errorf("%+v: %s was timed for %g ms", o, r.Name(), spent/1e6)
			}
		}
	}
}

// Iterations of different kinds are never compared: the comparison starts over.
func TestAnotherKindOfIterationsBeginsAgain(t *testing.T) {
	s, m := New(baseline(t), Options{Kinds: prism.Schema().Kinds, Rounds: 2}), later(4)
	m.rec.Kind, m.rec.Unit = prism.KindInitialisation, -1
	n := 0
	m.play(s, func(_ settings.Values, it *profiles.Iteration) {
		if n++; n == 500 {
			m.rec.Kind, m.rec.Unit = prism.KindLaterSample, 1
		}
		if n == 499 && s.groups == 0 {
			t.Error("no group was complete before")
		}
		if n == 502 && s.groups != 0 {
			t.Errorf("%d groups are left after the stage ended", s.groups)
		}
	})
	v := s.View()
	if v.Work != "later samples" || v.Done != v.Groups {
		t.Errorf("%d of %d groups of %q", v.Done, v.Groups, v.Work)
	}
}

// Samples that end immediately leave nothing to compare: the ablation ends with that reason
// instead of waiting.
func TestHardlyAnyIterationIsAnEnd(t *testing.T) {
	s, m := New(baseline(t), Options{Kinds: prism.Schema().Kinds}), later(5)
	m.rec.Flags = profiles.Converged
	m.play(s, nil)
	if got := s.View().Ended; !strings.Contains(got, "hardly an iteration") {
		t.Errorf("ended: %q", got)
	}
}

func TestQualityThatDriftsIsFound(t *testing.T) {
	s, m := New(baseline(t), Options{Kinds: prism.Schema().Kinds, Only: []string{"amp", "fft_cache"}}), later(6)
	m.psnr = map[string]float64{"amp fp16": 0.002}
	for !s.Done() {
		v := s.Wanted()
		if s.Add(m.iterate(v)) {
			s.Look(m.gained, profiles.Memory{})
		}
	}
	if r := rowOf(t, s.View(), "amp fp16"); math.Abs(r.Quality+0.8) > 0.01 || r.QualityHigh >= 0 {
		t.Errorf("fp16 gains %.3f dB over 100 iterations [%.3f, %.3f], want −0.8", r.Quality, r.QualityLow, r.QualityHigh)
	}
	if r := rowOf(t, s.View(), "fft_cache"); math.Abs(r.Quality) > 1e-6 {
		t.Errorf("the cache gains %g dB", r.Quality)
	}
}

func TestNotesSayWhatCannotMatter(t *testing.T) {
	s := New(baseline(t, "fused_telescope=false"), Options{Kinds: prism.Schema().Kinds, Only: []string{"pruned_fft", "measurement_cache"}})
	for name, want := range map[string]string{"pruned_fft": "only the fused telescope prunes", "measurement_cache": "trainer pattern"} {
		if r := rowOf(t, s.View(), name); !strings.Contains(r.Note, want) {
			t.Errorf("%s: note %q", name, r.Note)
		}
	}
}

// Even iterations far shorter than the minimum duration of a block fill it.
func TestShortIterationsFillTheirBlocks(t *testing.T) {
	s, m := New(baseline(t), Options{Rounds: 1, Only: []string{"checkpointing"}}), later(4)
	m.scale = 0.01 // 50 µs
	m.play(s, nil)
	if v := s.View(); v.Ended != "complete" || v.Done != 1 {
		t.Errorf("ended: %s, after %d groups", v.Ended, v.Done)
	}
}

// replicated runs a replication of a setting with a known effect.
func replicated(t *testing.T, seed uint64, factor float64) *profiles.AblationRow {
	t.Helper()
	before, on := baseline(t, "checkpointing=false"), baseline(t, "checkpointing=true")
	m := later(seed)
	m.drift, m.factor = 2e-5, map[string]float64{"checkpointing true": factor}
	s := Replicate(on, Pairing{Key: "checkpointing", Off: "false", On: "true", Before: before, After: on}, 40, Options{Kinds: prism.Schema().Kinds, Seed: seed})
	m.play(s, nil)
	v := s.View()
	if !v.Replication || v.Of != 40 || len(v.Rows) != 1 || v.Running {
		t.Fatalf("%+v", v)
	}
	return &v.Rows[0]
}

// A replication without an effect reports one in at most 5 % of cases over all its looks, an
// effect of 2 % is found, and of 60 intervals no more miss it than by chance.
func TestReplicationsAreCalibrated(t *testing.T) {
	const runs = 60
	wrong, equal, missed := 0, 0, 0
	for seed := range uint64(runs) {
		switch r := replicated(t, seed, 1); r.Judge() {
		case profiles.Saves, profiles.Costs:
			wrong++
		case profiles.SameTime:
			equal++
		}
		r := replicated(t, 1000+seed, 1.02)
		if r.Judge() != profiles.Costs || r.Low > 0.02 || r.High < 0.02 {
			missed++
		}
	}
	t.Logf("of %d: no effect called one %d times, called equal %d times; 2 %% missed %d times", runs, wrong, equal, missed)
	if wrong > 6 || missed > 6 || equal < runs*8/10 {
		t.Errorf("of %d: no effect called one %d times, called equal %d times; 2 %% missed %d times", runs, wrong, equal, missed)
	}
}

// recorded is a series of iteration times of a real run, in nanoseconds, in which nothing was changed.
func recorded(t *testing.T, name string) []int64 {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "profiles", "effect", "testdata", name+".u16.gz"))
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

// pressed decides a press on recorded iterations from a place on, which takes times factor.
func pressed(t *testing.T, ns []int64, from int, factor float64, seed uint64) *profiles.Ablation {
	t.Helper()
	before, on := baseline(t, "checkpointing=false"), baseline(t, "checkpointing=true")
	s := Replicate(on, Pairing{Key: "checkpointing", Off: "false", On: "true", Before: before, After: on}, 40,
		Options{Kinds: prism.Schema().Kinds, Seed: seed + 1, Within: profiles.DecisionTime})
	var it profiles.Iteration
	it.Kind, it.Unit = prism.KindLaterSample, 3
	for !s.Done() {
		if it.Index < profiles.DecisionWarmup && !s.On() {
			t.Fatalf("iteration %d after the press does not run under what was asked for", it.Index)
		}
		scale := 1.0
		if s.On() {
			scale = factor
		}
		it.Total = int64(float64(ns[(from+int(it.Index))%len(ns)]) * scale)
		if s.Add(&it) {
			s.Look(math.NaN(), profiles.Memory{})
		}
		it.Start += it.Total
		it.Index++
	}
	if took := time.Duration(it.Start); took > max(profiles.DecisionTime, s.View().Within)+time.Duration(2*it.Total) {
		t.Fatalf("the decision took %v", took)
	}
	v := s.View()
	if v.Running || !v.Decides() || !v.Concluded() || !s.Wanted().On("checkpointing") {
		t.Fatalf("%+v", v)
	}
	return v
}

// One press finds 5 % in at least 90 % of cases within its ten seconds, and an effect that is not there in at most
// 5 %, on iterations of real runs on a machine whose speed swings by itself.
func TestPressesAreDecided(t *testing.T) {
	const runs = 100
	for _, name := range []string{"baseline", "moon"} {
		ns := recorded(t, name)
		for _, factor := range []float64{1, 1.05, 1 / 1.05} {
			found, missed, groups := 0, 0, 0
			for seed := range uint64(runs) {
				v := pressed(t, ns, int(seed)*len(ns)/runs, factor, seed)
				r := &v.Rows[0]
				if j := r.Judge(); j == profiles.Saves || j == profiles.Costs {
					found++
				}
				if r.Low > factor-1 || r.High < factor-1 {
					missed++
				}
				groups += r.Groups
			}
			t.Logf("%-9s ×%.3f: found in %.1f %%, %.1f %% of intervals miss the truth, %.1f groups", name, factor,
				100*float64(found)/runs, 100*float64(missed)/runs, float64(groups)/runs)
			const most = runs * 115 / 1000 // 5 %, and three standard errors
			if missed > most || factor == 1 && found > most || math.Abs(math.Log(factor)) > 0.04 && found < runs*9/10 {
				t.Errorf("%s ×%.3f: found in %d of %d, %d intervals miss the truth", name, factor, found, runs, missed)
			}
		}
	}
}

// What a press that finds an effect reports is right on average, although it ends as soon as 0 is outside of the interval: where
// chance has made the effect large. Of effects that most presses miss, those that find them still report too much.
func TestDecidedEffectsAreHardlyTooLarge(t *testing.T) {
	const presses, fit, noise = 200, 60, 0.06
	for _, tt := range []struct{ effect, most float64 }{{0.02, 1.5}, {0.05, 1.03}, {0.2, 1.02}} {
		random := rand.New(rand.NewPCG(7, 7))
		found, missed, groups, ratio, before := 0, 0, 0, 0.0, 0.0
		for range presses {
			r := row{AblationRow: profiles.AblationRow{Sequential: true}, looks: looksOf(Options{Within: profiles.DecisionTime})}
			for r.judge(); r.Groups < fit && !r.decided(); {
				on := math.Exp(math.Log1p(tt.effect) + noise*random.NormFloat64())
				r.take(&group{medians: [4]float64{1, on, on, 1}})
			}
			raw := r.Effect
			if !r.decided() {
				r.lookLast()
			}
			r.unbias(fit)
			if r.Effect < r.Low || r.Effect > r.High {
				t.Fatalf("%v lies outside of %v to %v", r.Effect, r.Low, r.High)
			}
			groups += r.Groups
			if r.Low > tt.effect || r.High < tt.effect {
				missed++
			}
			if r.Judge() == profiles.Costs {
				found++
				ratio += r.Effect / tt.effect
				before += raw / tt.effect
			}
		}
		ratio /= float64(found)
		t.Logf("×%.2f: found in %.1f %%, after %.1f groups, at %.3f times the effect, %.3f without a correction; %.1f %% of intervals miss it", 1+tt.effect,
			100*float64(found)/presses, float64(groups)/presses, ratio, before/float64(found), 100*float64(missed)/presses)
		if ratio > tt.most || ratio < 0.96 || before/float64(found) < ratio || missed > presses*5/100 {
			t.Errorf("×%.2f: estimates are %.3f times the effect, %d of %d intervals miss it", 1+tt.effect, ratio, missed, presses)
		}
	}
}

// A decision has the time that its first look needs at the pace of its first group, in which iterations with the change
// may take several times as long, unless that is more than anybody would wait for.
func TestAPressOfASlowRunHasTheTimeOfItsFirstLook(t *testing.T) {
	for _, tt := range []struct {
		each   time.Duration // iteration before the press
		factor float64
		groups int
		want   profiles.Judgement
	}{
		{60 * time.Millisecond, 1.05, 9, profiles.Costs},
		{400 * time.Millisecond, 1.05, 9, profiles.Costs},
		{100 * time.Millisecond, 6, 9, profiles.Costs}, // bf16 where no instruction computes with it
		{450 * time.Millisecond, 1.05, 0, profiles.Unjudged},
	} {
		v := pressed(t, []int64{int64(tt.each)}, 0, tt.factor, 3)
		if r := v.Rows[0]; r.Groups != tt.groups || r.Judge() != tt.want {
			t.Errorf("iterations of %v, ×%g: %d groups, %s", tt.each, tt.factor, r.Groups, r.Verdict())
		}
	}
}

// A schedule without anything to compare ends at once, and says so.
func TestNothingToCompareEndsAtOnce(t *testing.T) {
	s := Compare(baseline(t), nil, Options{Seed: 1})
	if v := s.View(); !s.Done() || v.Ended != "nothing can be compared under these settings" || len(v.Rows) > 0 {
		t.Errorf("%+v", v)
	}
}

// A replication that is stopped before its first look is judged by what it has, if that suffices.
func TestAStoppedReplicationIsJudged(t *testing.T) {
	for groups, want := range map[int]profiles.Judgement{5: profiles.Unjudged, 6: profiles.Costs, 8: profiles.Costs} {
		before, on := baseline(t, "checkpointing=false"), baseline(t, "checkpointing=true")
		s := Replicate(on, Pairing{Key: "checkpointing", Off: "false", On: "true", Before: before, After: on}, 40,
			Options{Kinds: prism.Schema().Kinds, Seed: 1})
		it := profiles.Iteration{Kind: prism.KindLaterSample, Unit: 3}
		for s.View().Done < groups {
			if it.Total = 1e6; s.On() {
				it.Total = 3e6
			}
			if s.Add(&it) {
				s.Look(math.NaN(), profiles.Memory{})
			}
			it.Start += it.Total
			it.Index++
		}
		s.End("it was stopped")
		if r := s.View().Rows[0]; r.Judge() != want || math.Abs(r.OnNS/r.OffNS-3) > 0.01 {
			t.Errorf("after %d groups: %s, %v instead of %v", groups, r.Verdict(), r.OnNS, r.OffNS)
		}
	}
}

// A machine that is slow in a rhythm, with a setting that does nothing: the verdict is false as rarely
// as an interval promises, however the rhythm falls on the groups. With orders that alternate, a
// rhythm of two groups made every verdict false.
func TestARhythmOfTheMachineIsNoEffect(t *testing.T) {
	const runs = 200
	for _, period := range []int{52, 104} { // a group has 4 blocks of 3+10 iterations
		wrong := 0
		for seed := range uint64(runs) {
			m := later(seed)
			s := New(baseline(t), Options{Only: []string{"fft_cache"}, Least: 10, Time: 1, Seed: seed + 1})
			for n := 0; !s.Done(); n++ {
				m.scale = 1 + 0.05*math.Sin(2*math.Pi*float64(n)/float64(period))
				if s.Add(m.iterate(s.Wanted())) {
					s.Look(20, profiles.Memory{})
				}
			}
			if r := rowOf(t, s.View(), "fft_cache"); r.Judge() != profiles.Undecided && r.Judge() != profiles.SameTime {
				wrong++
			}
		}
		t.Logf("rhythm of %d iterations: %d of %d verdicts are false", period, wrong, runs)
		if wrong > runs*8/100 { // 3.9 % by the test's exact distribution, and three standard errors
			t.Errorf("rhythm of %d iterations: %d of %d verdicts are false", period, wrong, runs)
		}
	}
}
