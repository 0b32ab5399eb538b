package recording

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// The tables that are for queries, from events and from what the aggregator concludes from them.

// measured returns a value for SQL, which has no NaN.
func measured(v float64) any {
	if math.IsNaN(v) {
		return nil
	}
	return v
}

// tabulator writes the tables that are for SQL.
type tabulator struct {
	told      told
	schema    profiles.Schema
	layers    layerList
	held      map[string]int64                 // by category of memory, as written last in the start
	startedAt float64                          // seconds since the recording began
	start     int                              // −1 before the first
	begun     bool                             // a start was written
	iterated  bool                             // an iteration of the start came
	origins   func(start int) settings.Origins // of the settings of a start; nil for a restart
}

// begin writes a start of the run.
func (x *tabulator) begin(t *inserts, b *profiles.Begin, at float64) {
	x.start++
	x.begun, x.iterated, x.startedAt, x.schema, x.held = true, false, at, b.Info.Schema, map[string]int64{}
	i := &b.Info
	t.run(insertStart, x.start, at, i.Schema.Workload, i.Object, i.Device, i.Kernels, i.GPUReason,
		int64(i.Seed), i.Parameters, i.Units, max(i.Passes, 1), i.Schema.Unit.One, i.Schema.Quality)
	origins := x.origins(x.start)
	for _, key := range b.Settings.Table().Names() {
		origin := "restart"
		if origins != nil {
			origin = origins[key]
		}
		t.run(insertSetting, x.start, key, b.Settings.Get(key), origin)
	}
	x.metrics(t, &profiles.Schema{}, &i.Schema)
}

// grown writes what a start measures from here on beside what it measured before.
func (x *tabulator) grown(t *inserts, schema *profiles.Schema) {
	x.metrics(t, &x.schema, schema)
	t.run(updateQuality, schema.Quality, x.start)
	x.schema = *schema
}

// metrics writes the numbers of a schema that one before it lacks.
func (x *tabulator) metrics(t *inserts, before, s *profiles.Schema) {
	better := map[profiles.Direction]any{profiles.LessIsBetter: "less", profiles.MoreIsBetter: "more"}
	for _, v := range added(before.Series, s.Series) {
		t.run(insertMetric, x.start, v.Name, "series", v.Title, v.Unit, better[v.Better])
	}
	for _, p := range added(before.Phases, s.Phases) {
		t.run(insertMetric, x.start, p.Name+"_ms", "phase", p.Name, "ms", "less")
	}
	if len(before.Kinds) == 0 {
		t.run(insertMetric, x.start, "iteration_ms", "time", "iteration time", "ms", "less")
	}
	for _, c := range added(before.Caches, s.Caches) {
		t.run(insertMetric, x.start, c.Name+"_hit_rate", "cache", c.Title, "0 to 1", "more")
	}
	for _, m := range added(before.Memory, s.Memory) {
		t.run(insertMetric, x.start, m.Name+"_bytes", "memory", m.Name, "B", "less")
	}
}

// added returns the entries at the end of a list that the one before lacks.
func added[T any](before, after []T) []T { return after[min(len(before), len(after)):] }

// effectWarmup is the number of iterations after a change that are not compared.
const effectWarmup = 5

// changed writes a change.
func (x *tabulator) changed(t *inserts, b *profiles.Changed, at float64) {
	asked := b.At
	if b.Asked > 0 {
		asked = b.Asked
	}
	t.run(insertChange, x.start, b.Iteration, b.Key, b.Before, b.After, asked.Seconds(), b.At.Seconds(), effectWarmup,
		b.Ablation, at)
}

// tabulate writes an event of a kind that has a table.
func (x *tabulator) tabulate(t *inserts, body profiles.Body, at float64) {
	switch b := body.(type) {
	case *profiles.Measurement:
		for i, s := range x.schema.Series {
			if v := b.Values[i]; !s.Each && !math.IsNaN(v) {
				t.run(insertMeasurement, x.start, b.Iteration, s.Name, v, at)
			}
		}
	case *profiles.UnitResult:
		if !x.iterated { // it ended before the checkpoint that the start goes on from
			return
		}
		t.run(insertUnit, x.start, b.Unit, b.Iterations, b.Converged, b.Loss, measured(b.Reached), b.Threshold,
			b.Elapsed.Seconds(), at)
	case *profiles.Note:
		t.run(insertNote, x.start, b.Iteration, b.Author, b.Text, x.startedAt+b.Written.Seconds(), at)
	case *profiles.Memory:
		for i, m := range x.schema.Memory {
			x.holds(t, at, m.Name, b.Parts[i])
		}
		if d := &b.Device; d.Used() {
			x.holds(t, at, "gpu allocated", d.Allocated)
			x.holds(t, at, "gpu context", d.Context)
			x.holds(t, at, "pinned", d.Pinned)
		}
	case *profiles.Sensors:
		tabulateSensors(t, &b.Sensors, at-b.Age.Seconds())
	}
}

// holds writes a category of memory, unless it is as before. That of the caches, which fill from one report to the
// next, is in the readings.
func (x *tabulator) holds(t *inserts, at float64, part string, bytes int64) {
	if before, known := x.held[part]; !known || before != bytes {
		t.run(insertMemory, x.start, at, part, bytes)
		x.held[part] = bytes
	}
}

// layerList is the list of layers to which samples refer.
type layerList struct {
	row    int64
	layers []profiles.Layer
	roofs  *profiles.Roofs
}

// storedLayers is a list in the file. Compute and memory are the times in nanoseconds that the layer
// would take at the machine's peak rates: a share is one of them over the layer's own.
type storedLayers struct {
	Layers []storedLayer   `json:"layers"`
	Roofs  *profiles.Roofs `json:"roofs,omitempty"`
}

type storedLayer struct {
	Name    string         `json:"name"`
	Phase   profiles.Phase `json:"phase"`
	FLOPs   int64          `json:"flops"`
	Bytes   int64          `json:"bytes"`
	Judged  bool           `json:"judged,omitempty"`
	Compute float64        `json:"compute_ns,omitempty"`
	Memory  float64        `json:"memory_ns,omitempty"`
}

// same reports whether a profile is of the layers of a list.
func (l *layerList) same(b *profiles.LayerTimes) bool {
	return l.row > 0 && l.roofs == b.Roofs && slices.EqualFunc(l.layers, b.Layers, func(x, y profiles.Layer) bool {
		return x.Name == y.Name && x.Phase == y.Phase && x.FLOPs == y.FLOPs && x.Bytes == y.Bytes &&
			x.Judged == y.Judged
	})
}

// layerTimes writes a profile of the layers and returns its row, 0 for the end of the profile.
func (l *layerList) put(t *inserts, start int, b *profiles.LayerTimes, at float64) (row int64, err error) {
	if len(b.Layers) == 0 {
		return 0, nil
	}
	if !l.same(b) {
		list := storedLayers{Roofs: b.Roofs}
		for _, y := range b.Layers {
			list.Layers = append(list.Layers, storedLayer{y.Name, y.Phase, y.FLOPs, y.Bytes, y.Judged,
				y.Compute * y.Nanos, y.Memory * y.Nanos})
		}
		text, err := json.Marshal(list)
		if err != nil {
			return 0, err
		}
		*l = layerList{row: t.run(insertLayerList, nil, string(text)), layers: b.Layers, roofs: b.Roofs}
	}
	ns := make([]float64, len(b.Layers))
	for i, y := range b.Layers {
		ns[i] = math.Round(10*y.Nanos) / 10
	}
	text, err := json.Marshal(ns)
	if err != nil {
		return 0, err
	}
	return t.run(insertLayerSample, nil, start, at, l.row, string(text)), t.err
}

// spread returns the extremes and the median of a number of each iteration; NaN is left out.
func spread(all []profiles.Iteration, of func(*profiles.Iteration) float64) (low, median, high any) {
	values := make([]float64, 0, len(all))
	for i := range all {
		if v := of(&all[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil, nil, nil
	}
	slices.Sort(values)
	return short(values[0]), short(stats.Quantile(values, 0.5)), short(values[len(values)-1])
}

// short returns a number to four significant digits.
func short(v float64) float64 {
	if v == 0 {
		return 0
	}
	digit := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	if rounded := math.Round(v*digit) / digit; !math.IsNaN(rounded) && !math.IsInf(rounded, 0) {
		return rounded
	}
	return v
}

// summaryOf returns the summary of a block as JSON: for each phase its median in milliseconds, for
// each series the smallest value, the median and the largest, for each cache its hits and misses so
// far.
func summaryOf(s *profiles.Schema, all []profiles.Iteration) string {
	last := &all[len(all)-1]
	phases, series, caches := map[string]any{}, map[string]any{}, map[string]any{}
	for p, info := range s.Phases {
		if _, median,
			high := spread(all,
			func(it *profiles.Iteration) float64 { return float64(it.Phases[p]) / 1e6 }); high != 0.0 {
			phases[info.Name] = median
		}
	}
	for i, info := range s.Series {
		if low, median,
			high := spread(all, func(it *profiles.Iteration) float64 { return it.Series[i] }); info.Each && low != nil {
			series[info.Name] = [3]any{low, median, high}
		}
	}
	for i, info := range s.Caches {
		if c := &last.Caches[i]; c.Hits+c.Misses > 0 {
			caches[info.Name] = [2]int64{c.Hits, c.Misses}
		}
	}
	text, err := json.Marshal(map[string]any{"phases_ms": phases, "series": series, "caches": caches})
	if err != nil {
		return "" // which cannot happen: the numbers are finite
	}
	return string(text)
}

// told is what was written of the aggregator's conclusions.
type told struct {
	start   int
	log     []profiles.LogLine
	alerts  map[alertKey]toldAlert // those that stand
	effects map[int64]bool         // by iteration: whether it was final
	shown   []profiles.Effect
	read    float64 // time of the last reading
}

type alertKey struct {
	id    string
	since time.Duration
}

// toldAlert is an alert's row, and what it says.
type toldAlert struct {
	row  int64
	what string
}

// readEvery is the time between two rows of readings, in seconds.
const readEvery = 1

// conclude writes the lines of the log and the alerts that a snapshot added.
func (x *tabulator) conclude(t *inserts, s *profiles.Snapshot, now float64) {
	if x.told.alerts == nil || x.told.start != x.start {
		x.endAlerts(t, nil, now)
		x.told = told{start: x.start, log: x.told.log, alerts: map[alertKey]toldAlert{}, effects: map[int64]bool{}}
	}
	for _, line := range profiles.NewLines(x.told.log, s.Log) {
		t.run(insertLog, x.start, x.startedAt+line.At.Seconds(), line.Text, line.Refused)
	}
	x.told.log = s.Log
	x.endAlerts(t, s.Alerts, now)
	for _, a := range s.Alerts {
		key := alertKey{a.ID, a.Since}
		switch before, told := x.told.alerts[key]; {
		case !told:
			x.told.alerts[key] = toldAlert{t.run(insertAlert, x.start, a.ID, a.Severity.String(), a.Iteration, a.What,
				a.Try.Text(nil), x.startedAt+a.Since.Seconds(), nil), a.What}
		case before.what != a.What: // its numbers are newer
			t.run(updateAlert, a.What, a.Try.Text(nil), before.row)
			x.told.alerts[key] = toldAlert{before.row, a.What}
		}
	}
}

// conclusions writes effects and, once a second, readings.
func (x *tabulator) conclusions(t *inserts, s *profiles.Snapshot, now float64) {
	x.putEffects(t, s)
	if now-x.told.read < readEvery {
		return
	}
	x.told.read = now
	var others, rss, peak any
	if s.Load.Known {
		others = s.Load.Foreign
	}
	if s.Memory.RSS > 0 {
		rss, peak = s.Memory.RSS, s.Memory.PeakRSS
	}
	t.run(insertReading, now, s.Index, rss, peak, s.Memory.Caches, others, s.Own.Aggregator, s.Own.Dropped)
}

// endAlerts notes when alerts were cleared that do not stand any more.
func (x *tabulator) endAlerts(t *inserts, standing []profiles.Alert, now float64) {
	for key, a := range x.told.alerts {
		if !slices.ContainsFunc(standing, func(a profiles.Alert) bool { return alertKey{a.ID, a.Since} == key }) {
			t.run(clearAlert, now, a.row)
			delete(x.told.alerts, key)
		}
	}
}

// replicated are the verdicts of changes that were switched back and forth.
var replicated = map[profiles.Judgement]profiles.Verdict{
	profiles.Saves: profiles.Faster, profiles.Costs: profiles.Slower, profiles.SameTime: profiles.Equal,
	profiles.Undecided: profiles.InNoise, profiles.SoFar: profiles.InNoise,
}

// putEffects writes the effects that changed, of a change that was switched back and forth what that has shown.
func (x *tabulator) putEffects(t *inserts, s *profiles.Snapshot) {
	all := s.Effects
	if n := len(all); n == len(x.told.shown) && (n == 0 || &all[0] == &x.told.shown[0]) {
		return
	}
	x.told.shown = all
	for i := range all {
		e := &all[i]
		if x.told.effects[e.Iteration] && e.Replica == nil && e.Fork == nil {
			continue
		}
		x.told.effects[e.Iteration] = e.Closed
		var keys []string
		for _, c := range e.Changes() {
			keys = append(keys, c.Key+": "+c.Before+" → "+c.After)
		}
		reason, _ := e.Incomparable()
		var shift, low, high, drift, before, after, quality, words any
		if e.Enough {
			drift = measured(e.Drift)
			before, after = e.BeforeNS/1e6, e.AfterNS/1e6
		}
		if e.Comparable() {
			shift, low, high = measured(e.Shift), measured(e.Low), measured(e.High)
		}
		verdict := e.Verdict()
		if r := e.Replica; r != nil && r.Judge() != profiles.Unjudged {
			verdict, reason = replicated[r.Judge()], ""
			shift, low, high = measured(r.Effect), measured(r.Low), measured(r.High)
			before, after = r.OffNS/1e6, r.OnNS/1e6
		}
		if e.Replica != nil {
			words = e.Replica.Verdict()
		}
		if e.HasQuality {
			quality = measured(e.QualityDrift)
		}
		t.run(putEffect, x.start, e.Iteration, strings.Join(keys, ", "), verdict.Name(), reason, shift, low, high,
			drift, before, after, e.NBefore, e.NAfter, e.LeftOut, quality, words,
			e.Closed)
	}
}
