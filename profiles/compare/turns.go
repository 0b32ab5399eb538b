package compare

import (
	"fmt"
	"math"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Two programs that run by turns: their slices of time, and the comparison of neighbouring ones.

// Slice is the time for which one of two programs ran while the other was stopped.
type Slice struct {
	Side     int // 0 for the base
	From, To time.Time
}

// Quartet is four slices, two of each side, in the order A B B A or B A A B, so that a drift of the
// machine's speed touches both sides alike.
type Quartet [4]Slice

// sliceLeast is the least number of iterations of a slice.
const sliceLeast = 3

// Turns gathers the times of two programs that ran by turns, in one or several starts of both.
type Turns struct {
	starts []*started
	kind   string // that is compared
}

// started is a start of both programs.
type started struct {
	quartets []Quartet
	places   [2][]turn // of each side's slices, in the order of time
	sides    [2]turning
}

// turn is a slice of a side, and what ran in it.
type turn struct {
	Slice
	quartet int
	kinds   map[string]*sliced
}

// turning is a side whose events are taken.
type turning struct {
	began  time.Time
	schema profiles.Schema
	at     int // the newest slice
	fresh  int // the slice whose first iteration was left out, counted from 1
	kind   profiles.Kind
	skip   int
}

// sliced gathers the iterations of a kind in a slice.
type sliced struct {
	from, to int64
	total    []int64
	phases   map[string][]int64
}

// Start begins to gather a start that ran in a schedule. take takes the events of a side's recording:
// an iteration counts if it lies within a slice, and is not the first there, which finds the processor's
// caches filled by the other program.
func (t *Turns) Start(schedule []Quartet) (take func(side int, e *profiles.Event)) {
	s := &started{quartets: schedule}
	for q := range schedule {
		for _, slice := range schedule[q] {
			s.places[slice.Side] = append(s.places[slice.Side],
				turn{Slice: slice, quartet: q, kinds: map[string]*sliced{}})
		}
	}
	t.starts = append(t.starts, s)
	return s.take
}

// take takes the next event of a side.
func (t *started) take(side int, e *profiles.Event) {
	s := &t.sides[side]
	switch b := e.Body.(type) {
	case *profiles.Begin:
		*s = turning{began: e.At, schema: b.Info.Schema, skip: warmUp}
	case *profiles.Iteration:
		if b.Kind != s.kind {
			s.kind, s.skip = b.Kind, warmUp
		}
		from := s.began.Add(time.Duration(b.Start))
		to := from.Add(time.Duration(b.Total + b.Retimed))
		at := t.slice(side, from, to)
		switch {
		case at == nil:
		case s.fresh != s.at+1:
			s.fresh = s.at + 1
		case s.skip > 0 || b.Flags&(profiles.Warmup|profiles.Converged|profiles.Unwatched) != 0 || b.Total <= 0:
		default:
			at.add(b, &s.schema)
		}
		s.skip = max(s.skip-1, 0)
	}
}

// slice returns the slice of a side in which a time lies wholly; nil for none. Times ascend.
func (t *started) slice(side int, from, to time.Time) *turn {
	s, all := &t.sides[side], t.places[side]
	for s.at < len(all) && !all[s.at].To.After(from) {
		s.at++
	}
	if s.at == len(all) || from.Before(all[s.at].From) || to.After(all[s.at].To) {
		return nil
	}
	return &all[s.at]
}

func (u *turn) add(it *profiles.Iteration, s *profiles.Schema) {
	if int(it.Kind) >= len(s.Kinds) {
		return
	}
	name := s.Kinds[it.Kind].Name
	k := u.kinds[name]
	if k == nil {
		k = &sliced{from: it.Start, phases: map[string][]int64{}}
		u.kinds[name] = k
	}
	k.to = it.Start + it.Total + it.Retimed
	k.total = append(k.total, it.Total)
	for p := range s.Phases {
		if ns := it.Phases[p]; ns > 0 {
			k.phases[s.Phases[p].Name] = append(k.phases[s.Phases[p].Name], ns)
		}
	}
}

// of returns what a slice has of a column, NaN for none.
func (u *turn) of(kind string, c *column) float64 {
	k := u.kinds[kind]
	switch {
	case k == nil || len(k.total) < sliceLeast:
		return math.NaN()
	case c.group == Phases && 2*len(k.phases[c.title]) > len(k.total):
		return logMedian(k.phases[c.title])
	case c.group != Speed:
		return math.NaN()
	case c.rate:
		return math.Log(float64(len(k.total)) / (float64(k.to-k.from) / 1e9))
	}
	return logMedian(k.total)
}

// quartet is a column in a quartet: the means of each side's slices, and half the difference of its
// second slice from its first.
type quartet struct {
	mean, self [2]float64
}

// read returns the quartets that have a column in every slice.
func (t *started) read(kind string, c *column) (all []quartet) {
	values := make([][2][]float64, len(t.quartets))
	for side := range t.places {
		for i := range t.places[side] {
			u := &t.places[side][i]
			values[u.quartet][side] = append(values[u.quartet][side], u.of(kind, c))
		}
	}
	for _, v := range values {
		var q quartet
		ok := true
		for side := range v {
			ok = ok && len(v[side]) == 2
			if ok {
				q.mean[side] = (v[side][0] + v[side][1]) / 2
				q.self[side] = (v[side][1] - v[side][0]) / 2
				ok = !math.IsNaN(q.mean[side])
			}
		}
		if ok {
			all = append(all, q)
		}
	}
	return all
}

// choose chooses the kind of iterations of which most quartets are complete, and returns how many.
func (t *Turns) choose() (n int) {
	for _, k := range t.starts[0].sides[0].schema.Kinds {
		found := 0
		for _, s := range t.starts {
			found += len(s.read(k.Name, &column{group: Speed}))
		}
		if found > n {
			n, t.kind = found, k.Name
		}
	}
	return n
}

// Whole returns how many rounds of the newest start are complete in the kind of iterations of which most are.
func (t *Turns) Whole() (n int) {
	newest := t.starts[len(t.starts)-1]
	for _, k := range newest.sides[0].schema.Kinds {
		n = max(n, len(newest.read(k.Name, &column{group: Speed})))
	}
	return n
}

// judge judges the rows of the columns, whose intervals each miss with a chance. They are the wider of
// two: the signed-rank interval of all quartets' differences, whose order is random, so that a drift is as
// likely to favour either side; and Student's of the starts, because two processes of one program differ,
// by where their memory lies.
func (t *Turns) judge(columns []column, rows []Row, miss float64) {
	for i := range columns {
		c, row := &columns[i], &rows[i]
		var all []quartet
		var starts []float64
		for _, s := range t.starts {
			of := s.read(t.kind, c)
			all = append(all, of...)
			if len(of) > 0 {
				starts = append(starts, stats.SignedRank(differences(of)).Value)
			}
		}
		row.Values = make([]Value, 2)
		for side := range row.Values {
			var means, self []float64
			for _, q := range all {
				means, self = append(means, q.mean[side]), append(self, q.self[side])
			}
			own := stats.SignedRank(self)
			v := Value{Value: c.shown(stats.Median(means)), Blocks: 2 * len(all),
				Floor: math.Expm1(max(-own.Low, own.High))}
			if !finite(v.Floor) {
				v.Floor = math.NaN()
			}
			if len(all) == 0 {
				v.Reason = "it was not measured"
			}
			row.Values[side] = v
		}
		d := &row.Against[0]
		centre := stats.SignedRankAt(differences(all), miss)
		d.Raw = math.Expm1(centre.Value)
		if n := float64(len(starts)); n > 1 {
			m := stats.StudentT(n-1, miss) * math.Sqrt(stats.Variance(starts)/n)
			centre.Low, centre.High = min(centre.Low, centre.Value-m), max(centre.High, centre.Value+m)
		}
		if math.IsInf(centre.Low, 0) || math.IsNaN(centre.Value) {
			d.no(fmt.Sprintf("it was measured in %d whole rounds: at least %d are needed", len(all),
				stats.SignedRankNeeds(miss)), "too few rounds")
			continue
		}
		d.Value, d.Low, d.High = d.Raw, math.Expm1(centre.Low), math.Expm1(centre.High)
		d.say(Faster, Slower, c.rate, profiles.EqualWithin)
	}
}

// differences returns those of the sides in each quartet.
func differences(all []quartet) []float64 {
	d := make([]float64, len(all))
	for i, q := range all {
		d[i] = q.mean[1] - q.mean[0]
	}
	return d
}

// Compare compares two programs that ran by turns. names and samples are those of the sides, the base
// first; the samples are of the same recordings as the turns, one for each start.
func (t *Turns) Compare(names [2]string, samples [2][]*Sample) (*Comparison, error) {
	if len(t.starts) == 0 || t.choose() == 0 {
		return nil, fmt.Errorf("no round has %d iterations of one kind in each of its turns: make the turns longer",
			sliceLeast)
	}
	for side := range samples { // the recordings are of the programs alone
		for _, s := range samples[side] {
			s.run.Path, s.run.Name = names[side], names[side]
		}
	}
	table := &table{options: Options{MaxForeign: 1}, samples: samples[:], turns: t}
	c, err := table.compare(names[:])
	if err == nil {
		c.Kind = t.kind
	}
	return c, err
}
