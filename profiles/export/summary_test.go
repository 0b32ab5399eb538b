package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
)

var update = flag.Bool("update", false, "write the golden files anew")

// whole is a run in which everything was measured.
func whole(t *testing.T) *profiles.Snapshot {
	t.Helper()
	times := func(ms float64) profiles.Spread {
		return profiles.Spread{Last: ms * 1e6, Mean: ms * 1e6, Median: ms * 1e6, P10: ms * 0.9e6, P95: ms * 1.2e6, P90: ms * 1.1e6, N: 9000}
	}
	s := &profiles.Snapshot{
		Run: profiles.RunInfo{
			Object: "europa.jpg", Device: "cpu", Kernels: "avx512", GPUReason: "no CUDA device: libcuda.so.1 not found",
			Schema: prism.Schema(), Parameters: 2797431, Seed: 7, Units: 100, Notes: []string{"padded to square"},
			Sampling: &profiles.Sampling{Size: 512, ObjectSize: 128},
		},
		Settings: presetSettings(t, "baseline"), State: profiles.Finished, Elapsed: 102_500 * time.Millisecond,
		Kind: prism.KindLaterSample, Index: 9300, Unit: 99,
		Memory: profiles.MemoryView{
			Memory: profiles.Memory{Parts: [profiles.MaxMemory]int64{
				prism.MemoryWeights: 11 << 20, prism.MemoryGradients: 11 << 20, prism.MemoryMoments: 22 << 20,
				prism.MemoryActivations: 30 << 20, prism.MemoryInputs: 4 << 20, prism.MemoryScratch: 1 << 20,
			}, Caches: 5 << 20},
			RSS: 150 << 20, PeakRSS: 212 << 20,
		},
		Load: profiles.LoadView{Foreign: 0.5, Known: true, Whole: 0.25, WholeKnown: true},
	}
	for series, v := range map[int]float64{
		prism.SeriesLossOld: 0.00091, prism.SeriesLossNew: 0.00098, prism.SeriesPSNR: 24.25, prism.SeriesSSIM: 0.8125, prism.SeriesRMSE: 4.5,
		prism.SeriesCoverage: 0.375, prism.SeriesLearningRate: 1e-3,
	} {
		s.Series[series] = profiles.SeriesView{Latest: v, Has: true, Iteration: 9299}
	}
	s.Whole.Total = times(5.5)
	for p, ms := range []float64{1.25, 0.625, 0.1875, 2.5, 1} {
		s.Whole.Phases[p] = profiles.PhaseView{Spread: times(ms), Share: ms / 5.5}
	}
	for i := range int32(100) {
		s.Results = append(s.Results, profiles.UnitResult{Unit: i, Converged: i != 41 && i != 77, Threshold: 0.005})
	}
	s.Caches[prism.CacheMeasurement].CacheCounters = profiles.CacheCounters{Enabled: true, Misses: 100, Entries: 100, Bytes: 100 << 20, Saved: -1_500_000,
		Spent: 1_500_000, SpentSquares: 100 * 20_000 * 20_000}
	s.Caches[prism.CacheFFTPlans].CacheCounters = profiles.CacheCounters{Enabled: true, Hits: 999, Misses: 1, Entries: 1, Bytes: 8192, Saved: 300_000_000,
		Spent: 10_000_000, SpentSquares: 1000 * 15_000 * 15_000, Price: 310_310, PriceLow: 300_300, PriceHigh: 320_320, PricedBy: 15, Priced: 999,
		Gross: 310_000_000, GrossLow: 300_000_000, GrossHigh: 320_000_000}
	amp := profiles.Change{Key: "amp", Before: "off", After: "bf16", Iteration: 4000, At: 45 * time.Second}
	rate := profiles.Change{Key: "learning_rate", Before: "0.001", After: "0.0005", Iteration: 9290, At: 102 * time.Second}
	masks := profiles.Change{Key: "mask_cache", Before: "true", After: "false", Iteration: 6000, At: 67 * time.Second}
	plans := profiles.Change{Key: "fft_cache", Before: "true", After: "false", Iteration: 6000, At: 67 * time.Second}
	s.Changes = []profiles.Change{amp, masks, plans, rate}
	s.Effects = []profiles.Effect{
		{Change: amp, Enough: true, BeforeNS: 5.875e6, AfterNS: 4.0625e6, Shift: -0.3085, Low: -0.331, High: -0.29, NBefore: 200, NAfter: 200, QualityDrift: 0.125, HasQuality: true, Closed: true, Confounded: "sample advanced 41 → 43"},
		{Change: masks, With: []profiles.Change{plans}, Enough: true, BeforeNS: 4e6, AfterNS: 5e6, Shift: 0.25, Low: 0.22, High: 0.27, NBefore: 200, NAfter: 180, QualityDrift: 0.0625, HasQuality: true, Closed: true},
		{Change: rate, Needed: 15, NBefore: 200, NAfter: 5, Closed: true, Ended: true},
	}
	s.Notes = []profiles.Note{{Author: "pts/1", Text: "looks converged", Iteration: 5000, Written: 56 * time.Second}}
	return s
}

// notBegunRun is a run that ended in its preparation, when only its workload was known.
func notBegunRun() *profiles.Snapshot {
	s := &profiles.Snapshot{Run: profiles.RunInfo{Schema: prism.Schema()}, Unit: -1}
	for i := range s.Series {
		s.Series[i].Latest = math.NaN()
	}
	return s
}

// shelves hold the presets of reconstructions.
var shelves = preset.Shelves{prism.Presets()}

func presetSettings(t *testing.T, name string) settings.Values {
	t.Helper()
	v, _, err := preset.Resolve(preset.Sources{Shelves: shelves, Preset: name})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// set is values with one of them changed.
func set(t *testing.T, v settings.Values, key, text string) settings.Values {
	t.Helper()
	v, err := v.Set(key, text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func source() Source {
	return Source{Version: "1.2.3", Preset: "baseline", CPU: machine.CPU{Model: "AMD EPYC 9654 96-Core Processor"}, Threads: 2}
}

func jsonOf(t *testing.T, s *Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteJSON(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; -update writes it anew:\n%s", path, got)
	}
}

func TestSummaryOfAWholeRun(t *testing.T) {
	sum := Summarize(whole(t), source())
	golden(t, "whole.json", jsonOf(t, sum))
}

// What ended a run, a limit or a loss that is no number, is a separate field; a run that reached its last sample,
// or ended otherwise, has none.
func TestSummaryNamesWhatEndedTheRun(t *testing.T) {
	for _, c := range []struct {
		state            profiles.State
		limit, err, want string
	}{
		{profiles.Finished, "max_iterations = 300", "", `"ended_by": "max_iterations = 300",`},
		{profiles.Finished, "", "", ""},
		{profiles.Stopped, "max_iterations = 300", "", ""},
		{profiles.Failed, "", "diverged: the loss is not a number; a lower learning_rate may help", `"ended_by": "diverged",`},
		{profiles.Failed, "", "the disk is full", ""},
	} {
		s := whole(t)
		s.State, s.EndedBy, s.Err = c.state, c.limit, c.err
		got := string(jsonOf(t, Summarize(s, source())))
		if has := strings.Contains(got, `"ended_by"`); has != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%v by %q: want %q in\n%.300s", c.state, c.limit, c.want, got)
		}
	}
}

// The alerts that stand at the end are in the summary as JSON, as they are in that in words.
func TestSummaryHasTheAlerts(t *testing.T) {
	s := whole(t)
	s.Alerts = []profiles.Alert{{ID: "leak", Severity: profiles.Warning, Since: 90 * time.Second, Iteration: 412, What: "It grows.", Try: "Restart {restart}."}}
	want := []Alert{{"leak", "warning", 412, 90, "It grows.", "Restart."}}
	if got := Summarize(s, source()).Alerts; !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Summarize(&profiles.Snapshot{}, source()).Alerts; got == nil || len(got) > 0 {
		t.Errorf("%+v without alerts", got)
	}
}

func TestSummaryOfARunThatNeverIterated(t *testing.T) {
	s := notBegunRun()
	s.State, s.Err = profiles.Failed, "radius = 0: must be above 0"
	s.Memory.Reason = "/proc/self/status: permission denied"
	sum := Summarize(s, Source{Version: "1.2.3", CPU: machine.CPU{Reason: "not named in /proc/cpuinfo"}})
	golden(t, "empty.json", jsonOf(t, sum))
}

func TestJSONReadsBackAsItWasWritten(t *testing.T) {
	for name, s := range map[string]*profiles.Snapshot{"whole": whole(t), "not begun": notBegunRun(), "empty": {}} {
		sum := Summarize(s, source())
		back := readBack(t, jsonOf(t, sum))
		sameSettings(t, name, sum.Settings, back.Settings)
		sum.Settings, back.Settings = nil, nil
		if !reflect.DeepEqual(*sum, back) {
			t.Errorf("%s: written %+v\nread back as %+v", name, *sum, back)
		}
	}
}

// sameSettings compares settings that were read with those that were written. Their tables
// differ.
func sameSettings(t *testing.T, name string, written, read *settings.Values) {
	t.Helper()
	if written == nil || read == nil {
		if written != read {
			t.Errorf("%s: settings %v were read back as %v", name, written, read)
		}
		return
	}
	if got, want := read.Table().Names(), written.Table().Names(); !slices.Equal(got, want) {
		t.Errorf("%s: settings %q, want %q", name, got, want)
	}
	for _, k := range written.Keys() {
		if got, want := read.Get(k.Name), written.Get(k.Name); got != want {
			t.Errorf("%s: %s reads back as %q, want %q", name, k.Name, got, want)
		}
	}
}

// readBack reads a summary. Objects whose fields the schema names are read in the order in
// which they stand.
func readBack(t *testing.T, text []byte) Summary {
	t.Helper()
	var back struct {
		Summary
		PhasesMS json.RawMessage `json:"phases_ms"`
		Caches   json.RawMessage `json:"caches"`
		Memory   json.RawMessage `json:"memory_bytes"`
		Quality  json.RawMessage `json:"quality"`
	}
	strictly(t, text, &back)
	sum := back.Summary
	for _, f := range fieldsOf(t, back.PhasesMS) {
		p := NamedPhase{Name: f.name, Reason: f.reason}
		strictly(t, f.value, &p.Phase)
		sum.PhasesMS = append(sum.PhasesMS, p)
	}
	if string(back.Caches) != "null" {
		sum.Caches = Caches{}
	}
	for _, f := range fieldsOf(t, back.Caches) {
		c := NamedCache{Name: f.name}
		strictly(t, f.value, &c.Cache)
		sum.Caches = append(sum.Caches, c)
	}
	for _, f := range fieldsOf(t, back.Memory) {
		var v *int64
		strictly(t, f.value, &v)
		sum.Memory = append(sum.Memory, Value{f.name, v, f.reason})
	}
	for _, f := range fieldsOf(t, back.Quality) {
		if f.name == "iteration" {
			var v *int64
			strictly(t, f.value, &v)
			sum.Quality = append(sum.Quality, Value{f.name, v, f.reason})
			continue
		}
		var v *float64
		strictly(t, f.value, &v)
		sum.Quality = append(sum.Quality, Value{f.name, v, f.reason})
	}
	return sum
}

// strictly decodes JSON, of which every field must be known.
func strictly(t *testing.T, text []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// field is a field of an object, with its reason.
type field struct {
	name, reason string
	value        json.RawMessage
}

// fieldsOf lists the fields of an object; those of null are none.
func fieldsOf(t *testing.T, text []byte) (all []field) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	if start, err := d.Token(); err != nil || start == nil {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		f := field{name: key.(string)}
		if err := d.Decode(&f.value); err != nil {
			t.Fatal(err)
		}
		name, isReason := strings.CutSuffix(f.name, "_reason")
		if !isReason {
			all = append(all, f)
			continue
		}
		last := len(all) - 1
		if last < 0 || all[last].name != name || all[last].reason != "" {
			t.Fatalf("%s does not stand behind its value:\n%s", f.name, text)
		}
		if err := json.Unmarshal(f.value, &all[last].reason); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// Every float of the snapshot is NaN or infinite in turn, and the JSON is still
// JSON: null, with a reason.
func TestNothingThatIsNotFiniteReachesTheJSON(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		s := whole(t)
		for i := range s.Series {
			s.Series[i].Latest = bad
		}
		s.Effects[0].QualityDrift = bad
		var object map[string]any
		if err := json.Unmarshal(jsonOf(t, Summarize(s, source())), &object); err != nil {
			t.Fatalf("%v: %v", bad, err)
		}
		quality := object["quality"].(map[string]any)
		for _, key := range []string{"loss_old", "loss_new", "psnr_db", "ssim", "rmse_percent", "coverage"} {
			if reason, _ := quality[key+"_reason"].(string); quality[key] != nil || reason == "" {
				t.Errorf("%v: %s is %v, reason %q", bad, key, quality[key], reason)
			}
		}
	}
	s := whole(t)
	s.Series[prism.SeriesPSNR].Latest = math.Inf(1)
	if _, got := Summarize(s, source()).Quality.Of("psnr_db"); got != "infinite: the reconstruction equals the truth" {
		t.Errorf("PSNR is missing because %q", got)
	}
}

// Null without a reason and a value with a reason are both defects, except where
// a rate is 0 for a reason.
func TestEveryNullHasAReason(t *testing.T) {
	seedless := whole(t) // as of a Python program
	seedless.Settings = settings.NewTable("loop", nil, settings.Switch("Loop", "autocast", "autocast")).Zero()
	if sum := Summarize(seedless, source()); sum.Seed != nil || sum.SeedReason != "the workload has no seed" {
		t.Errorf("seed %v, %q without such a setting", sum.Seed, sum.SeedReason)
	}
	for _, s := range []*profiles.Snapshot{whole(t), notBegunRun(), {}, seedless} {
		var object map[string]any
		if err := json.Unmarshal(jsonOf(t, Summarize(s, source())), &object); err != nil {
			t.Fatal(err)
		}
		checkReasons(t, "", object)
	}
}

func checkReasons(t *testing.T, path string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			checkReasons(t, path+"[]", e)
		}
	case map[string]any:
		for key, e := range v {
			checkReasons(t, path+"."+key, e)
			_, hasReason := v[key+"_reason"]
			if (e == nil) != hasReason && key != "hit_rate" {
				t.Errorf("%s.%s is %v, has a reason: %v", path, key, e, hasReason)
			}
		}
	}
}

// The iteration of the newest comparison has no reason if one of the metrics was measured, in any order.
func TestTheIterationOfAComparisonHasNoReason(t *testing.T) {
	metrics := []int{prism.SeriesPSNR, prism.SeriesSSIM, prism.SeriesRMSE}
	for _, known := range metrics {
		s := whole(t)
		for _, series := range metrics {
			if series != known {
				s.Series[series] = profiles.SeriesView{Latest: math.NaN()}
			}
		}
		quality := Summarize(s, source()).Quality
		if at, reason := quality.Of("iteration"); reason != "" || *at.(*int64) != 9299 {
			t.Errorf("with series %d alone: %v, reason %q", known, at, reason)
		}
	}
}

// The iteration is that in which the schema's quality was measured; what was measured in another has its own, and a metric
// that gets better in neither direction is no quality.
func TestTheIterationIsThatOfTheQuality(t *testing.T) {
	s := whole(t)
	schema := &s.Run.Schema
	schema.Series = slices.Clone(schema.Series)
	s.Series[prism.SeriesPSNR].Iteration, s.Series[prism.SeriesRMSE].Iteration = 97, 117
	s.Series[prism.SeriesSSIM].Iteration = 97
	schema.Series[prism.SeriesCoverage].Better = profiles.NoBetter
	quality := Summarize(s, source()).Quality
	for name, want := range map[string]int64{"iteration": 97, "rmse_percent_iteration": 117} {
		if at, _ := quality.Of(name); at == nil || *at.(*int64) != want {
			t.Errorf("%s is %v, want %d", name, at, want)
		}
	}
	for _, name := range []string{"ssim_iteration", "psnr_db_iteration", "coverage"} {
		if at, reason := quality.Of(name); at != nil {
			t.Errorf("%s is %v, %s", name, at, reason)
		}
	}
}

func TestTheTrainersPatternExplainsItsHitRate(t *testing.T) {
	s := whole(t)
	m := Summarize(s, source()).Caches.Of("measurement")
	if *m.HitRate != 0 || m.HitRateReason != "every sample asks once, at a centre of its own (pattern=trainer)" {
		t.Errorf("hit rate %v, reason %q", *m.HitRate, m.HitRateReason)
	}
	s.Settings = set(t, s.Settings, "pattern", "remeasure")
	s.Caches[prism.CacheMeasurement].Hits, s.Caches[prism.CacheMeasurement].Misses = 985, 20
	if m := Summarize(s, source()).Caches.Of("measurement"); m.HitRateReason != "" || math.Abs(*m.HitRate-0.980) > 5e-4 {
		t.Errorf("hit rate %v, reason %q; want 98.0 %%", *m.HitRate, m.HitRateReason)
	}
}

func TestEverySettingIsInTheJSON(t *testing.T) {
	for _, name := range shelves.Names() {
		v := presetSettings(t, name)
		written, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := json.Unmarshal(written, &object); err != nil {
			t.Fatal(err)
		}
		if len(object) != len(v.Keys()) {
			t.Errorf("%s: %d settings, want %d", name, len(object), len(v.Keys()))
		}
		var back settings.Values
		if err := json.Unmarshal(written, &back); err != nil {
			t.Fatal(err)
		}
		sameSettings(t, name, &v, &back)
	}
	var back settings.Values
	if err := json.Unmarshal([]byte(`{"sise":null}`), &back); err == nil || !strings.Contains(err.Error(), "sise") {
		t.Errorf("a setting without a value gave %v", err)
	}
}

// An effect that cannot be compared has no shift, and says why; one with too few timings has
// no interval.
func TestNumbersThatCannotBeTrustedAreNull(t *testing.T) {
	s := whole(t)
	changes := Summarize(s, source()).Changes
	if len(changes) != len(s.Effects) {
		t.Fatalf("%d changes of %d effects", len(changes), len(s.Effects))
	}
	const why = "not comparable: sample advanced 41 → 43"
	if e := changes[0].Effect; e.Shift != nil || e.Low != nil || e.High != nil || e.ShiftReason != why || e.LowReason != why || e.HighReason != why || e.BeforeMS != 5.875 {
		t.Errorf("%+v", e)
	}
	if got := changes[0].Medians(); got != "–" {
		t.Errorf("the times of what is not comparable are given: %s", got)
	}
	both := changes[1]
	if both.Medians() == "–" || both.Key != "mask_cache, fft_cache" || both.Before != "true, true" || len(both.Settings) != 2 || both.Settings[1] != (Setting{"fft_cache", "true", "false"}) || *both.Effect.Shift != 0.25 {
		t.Errorf("%+v", both)
	}
	if last := changes[2]; last.Effect != nil || last.EffectReason != "not enough comparable iterations: 200 before, 5 after; the run ended first" {
		t.Errorf("%+v", last)
	}
	plans := Summarize(s, source()).Caches.Of("fft_plans")
	// 10.02 ms: 10 of the price and 1.96·√1000·11.2 µs of the lookups.
	if *plans.SavedMS != 300 || math.Abs(*plans.SavedLow-300+10.02) > 0.01 || math.Abs(*plans.SavedHigh-300-10.02) > 0.01 {
		t.Errorf("saved %v [%v, %v]", *plans.SavedMS, *plans.SavedLow, *plans.SavedHigh)
	}
	s.Caches[prism.CacheFFTPlans].PricedBy = 3
	if plans = Summarize(s, source()).Caches.Of("fft_plans"); plans.SavedMS == nil || plans.SavedLow != nil || !strings.Contains(plans.SavedHighReason, "3 computations were timed") {
		t.Errorf("%+v", plans)
	}
}

// The document names every field, and no field besides.
func TestTheDocumentDescribesEveryField(t *testing.T) {
	doc, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]bool{}
	collectFields(reflect.TypeFor[Summary](), fields)
	var written struct {
		PhasesMS json.RawMessage `json:"phases_ms"`
		Caches   json.RawMessage `json:"caches"`
		Memory   json.RawMessage `json:"memory_bytes"`
		Quality  json.RawMessage `json:"quality"`
	}
	if err := json.Unmarshal(jsonOf(t, Summarize(whole(t), source())), &written); err != nil {
		t.Fatal(err)
	}
	for _, object := range []json.RawMessage{written.PhasesMS, written.Caches, written.Memory, written.Quality} {
		for _, f := range fieldsOf(t, object) {
			fields[f.name] = true
		}
	}
	for f := range fields {
		if !strings.HasSuffix(f, "_reason") && !strings.Contains(string(doc), "`"+f+"`") {
			t.Errorf("docs/json.md does not describe %s", f)
		}
	}
	for _, row := range strings.Split(string(doc), "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(row, "| `"), "`"); ok && strings.HasPrefix(row, "| `") {
			if !fields[name] {
				t.Errorf("docs/json.md describes %s, which is no field", name)
			}
		}
	}
}

func collectFields(t reflect.Type, into map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[settings.Values]() {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			into[name] = true
		}
		collectFields(f.Type, into)
	}
}

// A threshold that is out of force is a number like any other in the settings, and the
// summary says which losses it stands between.
func TestASuspendedThresholdIsInTheJSON(t *testing.T) {
	s := whole(t)
	s.Settings = set(t, s.Settings.Settled(), "loss", "l2")
	sum := Summarize(s, Source{})
	if want := "given for normalised l1, and the loss is normalised l2"; !sum.ThresholdSuspended || sum.ThresholdSuspendedReason != want {
		t.Errorf("suspended %v, %q", sum.ThresholdSuspended, sum.ThresholdSuspendedReason)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, sum); err != nil {
		t.Fatal(err)
	}
	if read := readBack(t, b.Bytes()); read.Settings.Number("threshold") != s.Settings.Number("threshold") {
		t.Errorf("reads back: %+v", read.Settings)
	}
}

// A limit that changed while the run went on is among the changes, in its place, without
// an effect and with the reason.
func TestALimitIsAChangeWithoutAnEffect(t *testing.T) {
	s := whole(t)
	limit := profiles.Change{Key: "max_iterations", Before: "0", After: "9999", Iteration: 5000, At: time.Minute, Limit: true}
	s.Changes = append([]profiles.Change{s.Changes[0], limit}, s.Changes[1:]...)
	changes := describeChanges(s)
	if len(changes) != 4 || changes[1].Key != "max_iterations" || changes[1].Effect != nil || changes[1].EffectReason == "" || changes[1].Drift != nil || changes[1].DriftReason == "" {
		t.Errorf("%+v", changes)
	}
}

// A press is decided by blocks that begin at once, so that the windows around the change stay empty: the result of the
// blocks counts in every output.
func TestADecidedPressIsInEveryOutput(t *testing.T) {
	s := whole(t)
	e := s.Effects[0]
	e.Enough, e.NBefore, e.NAfter = false, 20, 0
	e.Replica = &profiles.AblationRow{OffNS: 10e6, OnNS: 14e6, Effect: 0.4, Low: 0.3, High: 0.5, Groups: 21, Final: true, Sequential: true}
	s.Effects = []profiles.Effect{e}
	c := &describeChanges(s)[0]
	if !strings.HasPrefix(c.EffectReason, "replicated has the effect; ") {
		t.Errorf("the JSON has no effect because %q", c.EffectReason)
	}
	if r := c.Replicated; r == nil || r.Groups != 21 || *r.Effect != 0.4 || *r.Interval != [2]float64{0.3, 0.5} {
		t.Fatalf("the JSON has %+v", r)
	}
	if got := c.Verdict() + "; " + c.Shift() + "; " + c.Medians(); got != "replicated: costs 40 %; 40 % [30, 50]; 10 ms → 14 ms" {
		t.Errorf("tables say %q", got)
	}
}
