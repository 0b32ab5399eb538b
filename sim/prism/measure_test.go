package prism

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/cpu/host"
	"prismtop/sim/optics"
)

// rig is a system with the parts that a test turns.
type rig struct {
	system *MeasurementSystem
	cache  *MeasurementCache
	now    int64 // the cache's clock, in nanoseconds
	step   int64 // that it moves at each reading
}

func newRig(t testing.TB, limit int64, change func(*SystemOptions)) *rig {
	t.Helper()
	r := &rig{}
	r.cache = NewMeasurementCache(limit, true, func() int64 { r.now += r.step; return r.now })
	o := rigOptions(64, r.cache)
	if change != nil {
		change(&o)
	}
	var err error
	if r.system, err = NewMeasurementSystem(o); err != nil {
		t.Fatal(err)
	}
	return r
}

func rigOptions(n int, c *MeasurementCache) SystemOptions {
	return SystemOptions{
		Truth: testObject(n, 0.3), Size: n, Aperture: optics.Aperture{Radius: 5},
		Host: host.New(host.Options{}), Masks: optics.NewMaskCache(n, 0, true, nil), Cache: c,
	}
}

// testObject is a pattern on the middle quarter of an n×n plane.
func testObject(n int, frequency float64) []float32 {
	x := make([]float32, n*n)
	for i := n / 4; i < 3*n/4; i++ {
		for j := n / 4; j < 3*n/4; j++ {
			x[i*n+j] = float32(0.5 + 0.5*math.Cos(frequency*float64(i))*math.Sin(0.2*float64(j)))
		}
	}
	return x
}

func (r *rig) measure(t testing.TB, reconstruction []float32, centres ...optics.Point) (targetOld, targetNew []float32) {
	t.Helper()
	n := r.system.options.Size
	targetOld, targetNew = make([]float32, n*n), make([]float32, n*n)
	if err := r.system.Measure(t.Context(), reconstruction, centres, targetOld, targetNew); err != nil {
		t.Fatal(err)
	}
	return targetOld, targetNew
}

func fermat(n int) []optics.Point { return optics.FermatSpiral(n, 20) }

// TestRemeasurePatternHitsAsPRISMsBenchmarkDoes is spec/prism.md §9.1: 20 centres
// measured 50 times and 5 more are 985 hits and 20 misses.
func TestRemeasurePatternHitsAsPRISMsBenchmarkDoes(t *testing.T) {
	for _, faithful := range []bool{false, true} {
		r := newRig(t, 0, func(o *SystemOptions) { o.Faithful = faithful })
		centres := fermat(20)
		for range 50 {
			for _, c := range centres {
				r.measure(t, nil, c)
			}
		}
		for _, c := range centres[:5] {
			r.measure(t, nil, c)
		}
		got := r.cache.Counters()
		if got.Hits != 985 || got.Misses != 20 || got.Entries != 20 || got.Bytes != 20*4*64*64 {
			t.Errorf("faithful %v: %+v", faithful, got)
		}
		if rate, ok := got.HitRate(); !ok || math.Abs(rate-0.980) > 0.0005 {
			t.Errorf("faithful %v: hit rate %g", faithful, rate)
		}
	}
}

func TestTrainersPatternNeverHits(t *testing.T) {
	r := newRig(t, 0, nil)
	reconstruction := testObject(64, 0.1)
	for _, c := range fermat(30) {
		r.measure(t, reconstruction, c)
		r.system.AddMask(t.Context(), []optics.Point{c})
	}
	if got := r.cache.Counters(); got.Hits != 0 || got.Misses != 30 {
		t.Errorf("%+v", got)
	}
}

func TestResultsHaveTheSameBitsWithCacheOnAndOff(t *testing.T) {
	run := func(enabled bool) (all [][]float32) {
		noise, err := optics.NewNoise(optics.NoiseOptions{Kind: "composite", SNR: 30, ReadoutSigma: 0.01, Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 0, func(o *SystemOptions) { o.Noise = noise })
		r.cache.SetEnabled(enabled)
		line := []optics.Point{{Y: -4, X: 1}, {Y: 0, X: 1}, {Y: 4, X: 1}}
		for range 3 {
			for _, c := range fermat(4) {
				targetOld, targetNew := r.measure(t, testObject(64, 0.1), c)
				all = append(all, targetOld, targetNew)
			}
			targetOld, targetNew := r.measure(t, testObject(64, 0.1), line...)
			all = append(all, targetOld, targetNew)
			r.system.AddMask(t.Context(), line)
		}
		if hits := r.cache.Counters().Hits; (hits == 10) != enabled {
			t.Errorf("enabled %v: %d hits", enabled, hits)
		}
		return all
	}
	on, off := run(true), run(false)
	for i := range on {
		if !slices.Equal(on[i], off[i]) {
			t.Fatalf("measurement %d differs", i)
		}
	}
	if slices.Equal(on[1], on[9]) {
		t.Error("the noise of a cached measurement is not fresh")
	}
}

// TestNothingStaleIsAnswered shares one cache between systems that differ in one
// thing each, and compares with systems that have their own cache.
func TestNothingStaleIsAnswered(t *testing.T) {
	shared := NewMeasurementCache(0, true, nil)
	centre := optics.Point{Y: 2, X: -3}
	variants := map[string]func(*SystemOptions){
		"as it was":     func(*SystemOptions) {},
		"picture":       func(o *SystemOptions) { o.Truth = testObject(64, 0.5) },
		"one pixel":     func(o *SystemOptions) { o.Truth[64*20+20] += 1e-3 },
		"radius":        func(o *SystemOptions) { o.Aperture.Radius = 5.5 },
		"kind":          func(o *SystemOptions) { o.Aperture.Kind = optics.Hexagonal },
		"obstruction":   func(o *SystemOptions) { o.Aperture = optics.Aperture{Kind: optics.Obscured, Radius: 5, InnerRadius: 2} },
		"shape":         func(o *SystemOptions) { *o = rigOptions(32, o.Cache) },
		"blank":         func(o *SystemOptions) { o.Truth = make([]float32, 64*64) },
		"blank, shaped": func(o *SystemOptions) { *o = rigOptions(32, o.Cache); o.Truth = make([]float32, 32*32) },
	}
	for name, change := range variants {
		measure := func(c *MeasurementCache) []float32 {
			o := rigOptions(64, c)
			change(&o)
			s, err := NewMeasurementSystem(o)
			if err != nil {
				t.Fatal(err)
			}
			n := o.Size * o.Size
			targetOld, targetNew := make([]float32, n), make([]float32, n)
			if err := s.Measure(t.Context(), nil, []optics.Point{centre}, targetOld, targetNew); err != nil {
				t.Fatal(err)
			}
			return targetNew
		}
		if !slices.Equal(measure(shared), measure(NewMeasurementCache(0, true, nil))) {
			t.Errorf("%s: answered with another's measurement", name)
		}
	}
	if got := shared.Counters(); got.Hits != 0 || got.Misses != int64(len(variants)) {
		t.Errorf("%+v", got)
	}
}

func TestChangingTheSystemIsSeen(t *testing.T) {
	r := newRig(t, 0, nil)
	centre := optics.Point{Y: 2, X: -3}
	_, first := r.measure(t, nil, centre)
	if err := r.system.setTruth(testObject(64, 0.5)); err != nil {
		t.Fatal(err)
	}
	_, picture := r.measure(t, nil, centre)
	r.system.options.Aperture.Radius = 6
	_, wider := r.measure(t, nil, centre)
	if slices.Equal(first, picture) || slices.Equal(picture, wider) {
		t.Error("a changed picture or radius gave the old measurement")
	}
	if err := r.system.setTruth(testObject(64, 0.3)); err != nil { // the first content, elsewhere
		t.Fatal(err)
	}
	r.system.options.Aperture.Radius = 5
	_, again := r.measure(t, nil, centre)
	if got := r.cache.Counters(); got.Hits != 1 || got.Misses != 3 || !slices.Equal(again, first) {
		t.Errorf("%+v, same: %v", got, slices.Equal(again, first))
	}
}

func TestFaithfulKeyIgnoresTheApertureAsPRISMDoes(t *testing.T) {
	r := newRig(t, 0, func(o *SystemOptions) { o.Faithful = true })
	centre := optics.Point{Y: 2, X: -3}
	_, first := r.measure(t, nil, centre)
	r.system.options.Aperture.Radius = 6
	_, stale := r.measure(t, nil, centre)
	if !slices.Equal(first, stale) || r.cache.Counters().Hits != 1 {
		t.Error("the faithful key distinguishes radii")
	}
}

func TestMeasurementsAreEvictedByBytes(t *testing.T) {
	const entry = 4 * 64 * 64
	r := newRig(t, 3*entry+1, nil)
	centres := fermat(4)
	for _, c := range centres {
		r.measure(t, nil, c)
	}
	if got := r.cache.Counters(); got.Entries != 3 || got.Bytes != 3*entry {
		t.Errorf("%+v", got)
	}
	r.measure(t, nil, centres[0]) // evicted
	r.measure(t, nil, centres[3]) // kept
	if got := r.cache.Counters(); got.Hits != 1 || got.Misses != 5 {
		t.Errorf("%+v", got)
	}
	r.cache.SetLimit(entry)
	if got := r.cache.Counters(); got.Entries != 1 {
		t.Errorf("after lowering the limit: %+v", got)
	}
}

// TestSavedTimeIsMeasuredByTheClock counts readings of a clock that moves by 1 ns
// each: what each span holds besides is 0 there.
func TestSavedTimeIsMeasuredByTheClock(t *testing.T) {
	r := newRig(t, 0, nil)
	r.step = 1
	centre := optics.Point{}
	r.measure(t, nil, centre)
	// The lookup, the copy into the cache and the store cost 1 each.
	if got := r.cache.Counters().Saved; got != -3 {
		t.Errorf("after a miss: saved %d, want −3", got)
	}
	r.measure(t, nil, centre)
	// The computation, 1, was saved; the lookup and the copy cost 1 each.
	if got := r.cache.Counters().Saved; got != -3+1-2 {
		t.Errorf("after a hit: saved %d, want −4", got)
	}
}

// What is computed again to be timed changes no bit and no counter of hits.
func TestTimingEntriesAgainChangesNothing(t *testing.T) {
	line := []optics.Point{{Y: -4, X: 1}, {Y: 0, X: 1}, {Y: 4, X: 1}}
	run := func(often bool) (all [][]float32, counters [3]profiles.CacheCounters, retimed int64) {
		noise, err := optics.NewNoise(optics.NoiseOptions{Kind: "composite", SNR: 30, ReadoutSigma: 0.01, Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, 0, func(o *SystemOptions) { o.Noise = noise })
		r.step = 1
		for i := range 60 {
			if often { // computing takes a few readings of the clock, and much time passes
				r.now += 1_000_000
			}
			r.system.SetTransforms(optics.Transforms{Fused: i >= 30}) // kept ones differ in their rounding from new ones
			_, one := r.measure(t, nil, fermat(3)[i%3])
			_, several := r.measure(t, nil, line...)
			all = append(all, one, several)
		}
		o := r.system.options
		counters = [3]profiles.CacheCounters{r.cache.Counters(), o.Host.Plans().Counters(), o.Masks.Counters()}
		for i := range counters { // times are of the clock
			c := counters[i]
			counters[i] = profiles.CacheCounters{Enabled: c.Enabled, Hits: c.Hits, Misses: c.Misses, Entries: c.Entries, Bytes: c.Bytes, Priced: c.Priced}
		}
		return all, counters, r.cache.Retimed()
	}
	seldom, counted, none := run(false)
	often, counters, some := run(true)
	if none != 0 && some <= none || some == 0 {
		t.Fatalf("%d ns and %d ns went into timing", none, some)
	}
	if counters != counted {
		t.Errorf("counters %+v, without timing %+v", counters, counted)
	}
	for i := range often {
		if !slices.Equal(often[i], seldom[i]) {
			t.Fatalf("measurement %d has other bits", i)
		}
	}
}

func TestPicturesAreHashedOnceOrAtEveryLookup(t *testing.T) {
	for _, faithful := range []bool{false, true} {
		r := newRig(t, 0, func(o *SystemOptions) { o.Faithful = faithful })
		r.measure(t, nil, optics.Point{})
		r.system.options.Truth[64*30+30] = 9 // against the rules: seen only by hashing again
		r.measure(t, nil, optics.Point{})
		if hits := r.cache.Counters().Hits; (hits == 0) != faithful {
			t.Errorf("faithful %v: %d hits", faithful, hits)
		}
	}
}

func TestPictureHashIsSHA256OfItsBytes(t *testing.T) {
	x := testObject(48, 0.3)
	var raw []byte
	for _, v := range x {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	if got := NewMeasurementCache(0, true, nil).hashPicture(t.Context(), x); got != sha256.Sum256(raw) {
		t.Error("another digest")
	}
}

func TestOldTargetIsTheReconstructionThroughEarlierApertures(t *testing.T) {
	r := newRig(t, 0, nil)
	reconstruction := testObject(64, 0.1)
	centres := fermat(3)
	targetOld, targetNew := r.measure(t, reconstruction, centres[0])
	if !slices.Equal(targetOld, targetNew) {
		t.Error("the first sample's targets differ")
	}
	r.system.AddMask(t.Context(), centres[:1])
	r.system.AddMask(t.Context(), centres[1:2])
	targetOld, _ = r.measure(t, reconstruction, centres[2])
	telescope, err := host.New(host.Options{}).Telescope(64)
	if err != nil {
		t.Fatal(err)
	}
	mask, want := make([]float32, 64*64), make([]float32, 64*64)
	for _, c := range centres[:2] {
		optics.Aperture{Radius: 5}.Add(t.Context(), mask, optics.Coordinates(64), c)
	}
	telescope.Measure(t.Context(), want, reconstruction, mask, optics.Support{})
	if !slices.Equal(targetOld, want) || !slices.Equal(r.system.CumulativeMask(), mask) {
		t.Error("the old target is something else")
	}
	if r.system.Samples() != 2 || r.system.Coverage() != optics.Coverage(mask) || r.system.Coverage() == 0 {
		t.Errorf("%d samples, coverage %g", r.system.Samples(), r.system.Coverage())
	}
	targetOld, targetNew = r.measure(t, nil, centres[2])
	if !slices.Equal(targetOld, targetNew) {
		t.Error("without a reconstruction the targets differ")
	}
}

func TestALineIsTheMeanOfItsApertures(t *testing.T) {
	line := []optics.Point{{Y: -4, X: 1}, {Y: 0, X: 1}, {Y: 4, X: 1}}
	r := newRig(t, 0, nil)
	want := make([]float64, 64*64)
	for _, c := range line {
		_, one := r.measure(t, nil, c)
		for i, v := range one {
			want[i] += float64(v) / 3
		}
	}
	_, got := r.measure(t, nil, line...)
	for i, w := range want {
		if math.Abs(float64(got[i])-w) > 1e-6 {
			t.Fatalf("pixel %d: %g, want %g", i, got[i], w)
		}
	}
	r.system.AddMask(t.Context(), line)
	if r.system.Samples() != 1 {
		t.Errorf("a line is %d samples", r.system.Samples())
	}
}

// PRISM's line mode measures |Fc⁻¹(M·Fc(x))|², which is the square of the point
// mode's amplitude moved by one pixel (spec/prism.md §2.2, §9.2).
func TestFaithfulLinesAreUnflippedIntensities(t *testing.T) {
	const n = 64
	line := []optics.Point{{Y: -4, X: 1}, {Y: 0, X: 1}, {Y: 4, X: 1}}
	want := make([]float64, n*n)
	r := newRig(t, 0, nil)
	for _, c := range line {
		_, one := r.measure(t, nil, c)
		for i := range n {
			for j := range n {
				v := float64(one[(i+n-1)%n*n+(j+n-1)%n])
				want[i*n+j] += v * v / 3
			}
		}
	}
	r = newRig(t, 0, func(o *SystemOptions) { o.Faithful = true })
	_, got := r.measure(t, nil, line...)
	for i, w := range want {
		if math.Abs(float64(got[i])-w) > 2e-6 {
			t.Fatalf("pixel %d: %g, want %g", i, got[i], w)
		}
	}
}

func TestImpossibleSystemsAreErrors(t *testing.T) {
	for name, change := range map[string]func(*SystemOptions){
		"radius 0":  func(o *SystemOptions) { o.Aperture.Radius = 0 },
		"size 0":    func(o *SystemOptions) { o.Size = 0 },
		"too small": func(o *SystemOptions) { o.Truth = o.Truth[1:] },
	} {
		o := rigOptions(64, NewMeasurementCache(0, true, nil))
		change(&o)
		if _, err := NewMeasurementSystem(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r := newRig(t, 0, nil)
	if err := r.system.Measure(t.Context(), nil, nil, nil, nil); err == nil {
		t.Error("no apertures: no error")
	}
}

func TestMeasuringAllocatesNothing(t *testing.T) {
	for _, enabled := range []bool{true, false} {
		r := newRig(t, 2*4*64*64, nil)
		r.cache.SetEnabled(enabled)
		centres := fermat(4)
		targetOld, targetNew := make([]float32, 64*64), make([]float32, 64*64)
		reconstruction := testObject(64, 0.1)
		i := 0
		run := func() {
			// Two hits of three lookups, and an eviction at the third.
			c := centres[i/3%4 : i/3%4+1]
			i++
			if err := r.system.Measure(t.Context(), reconstruction, c, targetOld, targetNew); err != nil {
				t.Fatal(err)
			}
		}
		for range 24 {
			run()
		}
		if n := testing.AllocsPerRun(24, run); n != 0 {
			t.Errorf("enabled %v: %v allocations", enabled, n)
		}
	}
}

func BenchmarkMeasureTruth512(b *testing.B) {
	for name, change := range map[string]func(*SystemOptions){
		"hit":          func(*SystemOptions) {},
		"faithful hit": func(o *SystemOptions) { o.Faithful = true },
	} {
		b.Run(name, func(b *testing.B) { benchmarkMeasure(b, true, change) })
	}
	b.Run("off", func(b *testing.B) { benchmarkMeasure(b, false, func(*SystemOptions) {}) })
}

func benchmarkMeasure(b *testing.B, enabled bool, change func(*SystemOptions)) {
	cache := NewMeasurementCache(0, enabled, nil)
	o := rigOptions(512, cache)
	change(&o)
	s, err := NewMeasurementSystem(o)
	if err != nil {
		b.Fatal(err)
	}
	targetOld, targetNew := make([]float32, 512*512), make([]float32, 512*512)
	for b.Loop() {
		if err := s.Measure(b.Context(), nil, []optics.Point{{Y: 3}}, targetOld, targetNew); err != nil {
			b.Fatal(err)
		}
	}
	if c := cache.Counters(); c.Hits > 0 {
		b.ReportMetric(float64(c.Saved)/float64(c.Hits), "ns-saved/hit")
	}
}
