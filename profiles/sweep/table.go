package sweep

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// The table of a sweep: what its runs measured, the difference of each arm from the
// reference, and which arms nothing beats.

// Table is the result of a sweep so far.
type Table struct {
	Folder     string
	Reference  string
	Replicates int
	Metric     Metric
	Item       string // of batches, as image, whose times are compared; empty where iterations are
	Arms       []Row
	Factorial  *Factorial // nil if the arms are no factorial design
	NoFactors  string     // why not
	Counts     map[State]int
	Search     *Result // nil unless the sweep searches a value
	Short      int     // runs that failed for memory, which a search expects
	// Judged is the number of differences for which an interval is there. Verdicts of all of them hold together in 95
	// of 100 sweeps (Bonferroni's inequality); the intervals shown hold in 95 of 100 cases each.
	Judged int
}

// Result is what a search has found so far.
type Result struct {
	Key     string   `json:"key"`
	Take    *int     `json:"take"`    // the smallest value that is as fast as the fastest, within the tolerance; null until a run is done
	Optimum *Optimum `json:"optimum"` // likewise
	Edge    *Edge    `json:"edge"`    // of memory; null unless it was searched
}

// Metric is what the quality is.
type Metric struct {
	Name, Unit string
	Less       bool // less is better
}

// Row is an arm.
type Row struct {
	Name       string
	Set        []settings.Assignment
	Counts     map[State]int
	Runs       int      // all of it
	Iterations int64    // of all its runs so far
	Most       int64    // that they may take; 0 if unlimited
	Rate       float64  // iterations a second of those that run, NaN if none does
	NowMS      float64  // as Each, of the newest that runs, NaN if none does
	Changes    []string // of settings by screens, while its runs went on
	MS         Estimate // median time of an iteration
	Each       Estimate // of what is compared: of an iteration, or of an item of its batch
	Seconds    Estimate // running time of a run
	Quality    Estimate
	CPU        Estimate // seconds of processors of a run
	CPUSoFar   float64  // of all its runs
	Faster     Difference
	Better     Difference // of the quality, in its unit
	Front      bool       // no other arm has both less time and better quality
	Errors     []string   // of runs that failed
}

// Estimate is a mean over the runs that are done, and its interval of 95 %; NaN for what is not known.
type Estimate struct {
	Value, Low, High float64
	N                int
}

// Known reports whether there is a value, and Sure whether there is an interval.
func (e Estimate) Known() bool { return !math.IsNaN(e.Value) }

// Sure reports whether there is an interval.
func (e Estimate) Sure() bool {
	return e.Known() && !math.IsNaN(e.Low) && !math.IsInf(e.Low, 0) && !math.IsInf(e.High, 0)
}

// Difference is how an arm differs from the reference.
type Difference struct {
	Estimate
	Finding stats.Finding // of the claim that there is none
	ByTurns bool
}

// unknown is an estimate without a value.
var unknown = Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}

// Make makes the table of a sweep from the states of its runs, in the order of Cells, and the effects of runs by turns.
func Make(f *Folder, all []Status, effects []Effect) *Table {
	t := &Table{Folder: f.Path, Reference: f.Reference, Replicates: f.Replicates, Counts: map[State]int{}}
	m := maker{Table: t, folder: f, all: map[Cell]*Status{}, effects: effects, done: map[Cell]*Status{}}
	for i, c := range f.Cells() {
		m.all[c] = &all[i]
		if f.Search != nil && all[i].OutOfMemory {
			t.Short++
		}
		if all[i].State == Done {
			m.done[c] = &all[i]
			if s := &all[i]; s.Quality != nil && t.Metric.Name == "" {
				t.Metric = Metric{s.QualityIs, s.QualityUnit, s.LessIsBetter}
			}
		}
	}
	t.Item = itemOf(all)
	for a := range f.Arms {
		t.Arms = append(t.Arms, m.row(a))
	}
	if f.Search != nil {
		m.search()
	}
	m.compare()
	m.front()
	t.Factorial, t.NoFactors = m.factorial()
	return t
}

// itemOf returns the item of batches if all runs that were timed have the same.
func itemOf(all []Status) (item string) {
	for i := range all {
		s := &all[i]
		switch {
		case s.MS == nil:
		case s.Items < 1 || s.Item == "" || item != "" && s.Item != item:
			return ""
		default:
			item = s.Item
		}
	}
	return item
}

// Table returns the table of a folder.
func (f *Folder) Table(ctx context.Context) (*Table, error) {
	w := NewWatch(f)
	if _, err := w.Look(ctx); err != nil {
		return nil, err
	}
	effects, err := f.Effects(ctx)
	if err != nil {
		return nil, err
	}
	return Make(f, w.Statuses(), effects), nil
}

// maker makes a table.
type maker struct {
	*Table
	folder  *Folder
	all     map[Cell]*Status
	effects []Effect
	done    map[Cell]*Status
}

// row sums up the runs of an arm.
func (m *maker) row(arm int) Row {
	of := &m.folder.Arms[arm]
	r := Row{Name: of.Name, Set: of.Set, Counts: map[State]int{}, Rate: math.NaN(), NowMS: math.NaN()}
	for rep := range m.folder.Replicates {
		s := m.all[Cell{arm, rep + 1}]
		if s == nil { // of a search that left it out
			continue
		}
		r.Runs++
		r.Most += of.Iterations
		r.Counts[s.State]++
		m.Counts[s.State]++
		r.Iterations += s.Iterations
		r.CPUSoFar += s.CPUSeconds
		if s.State == Running && s.Seconds > 0 {
			if math.IsNaN(r.Rate) {
				r.Rate = 0
			}
			r.Rate += float64(s.Iterations) / s.Seconds
		}
		if s.State == Running && s.MS != nil {
			r.NowMS = m.each(s)
		}
		for _, change := range s.Changes {
			r.Changes = append(r.Changes, fmt.Sprintf("run %d: %s", rep+1, change))
		}
		if s.State == Failed && !slices.Contains(r.Errors, s.Error) {
			r.Errors = append(r.Errors, s.Error)
		}
	}
	r.MS, r.Each = logged(m.values(arm, median)), logged(m.values(arm, m.each))
	r.Seconds = logged(m.values(arm, func(s *Status) float64 { return s.Seconds }))
	r.CPU = logged(m.values(arm, func(s *Status) float64 { return s.CPUSeconds }))
	r.Quality = plain(m.values(arm, quality))
	r.Faster, r.Better = Difference{Estimate: unknown}, Difference{Estimate: unknown}
	return r
}

// search finds the value to take, and makes the fastest the reference. Where some values have several runs, one run of
// another has only been tried.
func (m *maker) search() {
	m.Search = &Result{Key: m.folder.Search.Key, Edge: m.folder.Search.Edge}
	rates, most := Rates{}, 0
	for c, s := range m.done {
		if v := m.folder.Arms[c.Arm].Value; m.each(s) > 0 && !m.folder.Arms[c.Arm].Probe {
			if rates[v] == nil {
				rates[v] = map[int]float64{}
			}
			rates[v][c.Replicate] = 1e3 / m.each(s)
			most = max(most, len(rates[v]))
		}
	}
	maps.DeleteFunc(rates, func(_ int, of map[int]float64) bool { return len(of) < min(most, 2) })
	if o := rates.Optimum(m.folder.Search.Tolerance); o != nil {
		m.Search.Optimum, m.Search.Take = o, &o.Flat[0]
		m.Reference = m.folder.Arms[slices.IndexFunc(m.folder.Arms, func(a FrozenArm) bool {
			return a.Value == o.Fastest && !a.Probe
		})].Name
	}
}

// items returns the time of an item; unknown where iterations are no batches.
func (t *Table) items(r *Row) Estimate {
	if t.Item == "" {
		return unknown
	}
	return r.Each
}

func median(s *Status) float64 { return valueOf(s.MS) }

// each returns the median time of what is compared.
func (m *maker) each(s *Status) float64 {
	if m.Item == "" {
		return median(s)
	}
	return median(s) / float64(max(s.Items, 1))
}

func quality(s *Status) float64 { return valueOf(s.Quality) }

func valueOf(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// values returns a number of each run of an arm that is done, NaN for the others.
func (m *maker) values(arm int, of func(s *Status) float64) []float64 {
	all := make([]float64, m.folder.Replicates)
	for r := range all {
		all[r] = math.NaN()
		if s := m.done[Cell{arm, r + 1}]; s != nil {
			all[r] = of(s)
		}
	}
	return all
}

// known drops what is not known.
func known(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
}

// plain returns the mean of values with Student's interval.
func plain(values []float64) Estimate { return meanOf(known(values), chance) }

// chance is that with which an interval misses.
const chance = 0.05

// meanOf returns the mean of values with Student's interval, which misses with the given chance.
func meanOf(v []float64, miss float64) Estimate { return estimated(stats.Student(v, miss), len(v)) }

// estimated returns the estimate from n values, NaN where there is none.
func estimated(c stats.Centre, n int) Estimate {
	e := Estimate{c.Value, c.Low, c.High, n}
	if math.IsInf(c.Low, 0) || math.IsNaN(c.Value) {
		e.Low, e.High = math.NaN(), math.NaN()
	}
	return e
}

// logged is plain for positive numbers whose ratios matter.
func logged(values []float64) Estimate {
	return through(meanOf(logs(known(values)), chance), math.Exp)
}

// logs returns the logarithms of the values that are positive.
func logs(values []float64) (all []float64) {
	for _, v := range values {
		if v > 0 {
			all = append(all, math.Log(v))
		}
	}
	return all
}

// through applies an increasing function to an estimate.
func through(e Estimate, f func(float64) float64) Estimate {
	e.Value, e.Low, e.High = f(e.Value), f(e.Low), f(e.High)
	return e
}

// compare compares each arm with the reference.
func (m *maker) compare() {
	ref := slices.IndexFunc(m.folder.Arms, func(a FrozenArm) bool { return a.Name == m.Reference })
	type judged struct {
		d      *Difference
		at     func(miss float64) Estimate
		margin float64
	}
	var all []judged
	for a := range m.Arms {
		if a == ref {
			continue
		}
		r := &m.Arms[a]
		times, byTurns := m.times(a, ref)
		for _, j := range []judged{
			{&r.Faster, func(miss float64) Estimate { return through(times(miss), math.Expm1) }, profiles.EqualWithin},
			{&r.Better, m.qualities(a, ref), 0},
		} {
			j.d.Estimate = j.at(chance)
			j.d.ByTurns = byTurns && j.d == &r.Faster
			if j.d.Sure() {
				m.Judged++
				all = append(all, j)
			}
		}
	}
	for _, j := range all {
		e := j.at(chance / float64(m.Judged))
		j.d.Finding = stats.Zero(j.margin).Judge(e.Low, e.High)
	}
}

// times returns the difference of two arms' logarithms of an iteration's or an item's time, as a function of the chance
// to miss. By turns, each replicate has one, measured within a task, and a single replicate has that task's interval,
// which whole runs by turns do not have; otherwise the runs are independent, and the interval is Welch's.
func (m *maker) times(arm, ref int) (at func(miss float64) Estimate, byTurns bool) {
	var pairs []float64
	only := unknown
	for _, e := range m.effects {
		if e.Arm == m.folder.Arms[arm].Name && e.Against == m.folder.Arms[ref].Name {
			pairs = append(pairs, math.Log1p(e.Value))
			only = Estimate{math.Log1p(e.Value), math.Log1p(e.Low), math.Log1p(e.High), 1}
		}
	}
	if whole := m.together(arm, ref); len(whole) > 0 {
		return func(miss float64) Estimate { return meanOf(whole, miss) }, true
	}
	switch {
	case len(pairs) == 1: // whose interval is of 95 %, as wide as its turns make it
		return func(miss float64) Estimate {
			e := only
			wider := math.Erfinv(1-miss) / math.Erfinv(1-chance)
			e.Low, e.High = e.Value-(e.Value-e.Low)*wider, e.Value+(e.High-e.Value)*wider
			return e
		}, true
	case len(pairs) > 1:
		return func(miss float64) Estimate { return meanOf(pairs, miss) }, true
	}
	a, b := logs(known(m.values(arm, m.each))), logs(known(m.values(ref, m.each)))
	return func(miss float64) Estimate { return estimated(stats.Welch(a, b, miss), min(len(a), len(b))) }, false
}

// together returns the differences of two arms' logarithms of an iteration's or an item's time by replicates whose
// whole runs took turns in a task, on one machine: a task that was moved to another in between compares nothing.
func (m *maker) together(arm, ref int) (pairs []float64) {
	for i := range m.folder.Tasks {
		if t := &m.folder.Tasks[i]; t.Turns || len(t.Cells) == 1 {
			continue
		}
		for _, c := range m.folder.Tasks[i].Cells {
			a, b := m.done[c], m.done[Cell{ref, c.Replicate}]
			if c.Arm == arm && a != nil && b != nil && a.Host == b.Host &&
				slices.Contains(m.folder.Tasks[i].Cells, Cell{ref, c.Replicate}) {
				pairs = append(pairs, known([]float64{math.Log(m.each(a)) - math.Log(m.each(b))})...)
			}
		}
	}
	return pairs
}

// qualities returns the difference of two arms' qualities as a function of the chance to miss. Replicates of the same
// number have the same seed, so that they are pairs.
func (m *maker) qualities(arm, ref int) func(miss float64) Estimate {
	a, b := m.values(arm, quality), m.values(ref, quality)
	for i := range a {
		a[i] -= b[i]
	}
	pairs := known(a)
	return func(miss float64) Estimate { return meanOf(pairs, miss) }
}

// front marks the arms that no other beats in both time and quality.
func (m *maker) front() {
	sense := 1.0
	if m.Metric.Less {
		sense = -1
	}
	for i := range m.Arms {
		a := &m.Arms[i]
		a.Front = a.Seconds.Known() && a.Quality.Known() && !slices.ContainsFunc(m.Arms, func(b Row) bool {
			if !b.Seconds.Known() || !b.Quality.Known() {
				return false
			}
			time, better := b.Seconds.Value-a.Seconds.Value, sense*(b.Quality.Value-a.Quality.Value)
			return time <= 0 && better >= 0 && (time < 0 || better > 0)
		})
	}
}
