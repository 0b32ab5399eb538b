package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	mathrand "math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
)

// A search over the values of one setting: its plan, the arms that it adds to a folder, and what their runs say of
// memory. What chooses the next value is sim/bench/executor.

// Search is a plan's search for the fastest value of a whole number, and the largest that memory allows. The plan has
// one arm, or none for that of its base, which runs with each value: {value} in its command or program's arguments, or
// else the setting of the key.
type Search struct {
	Key       string   `json:"key"`
	Values    []int    `json:"values,omitempty"` // measured in any case
	From      int      `json:"from"`             // least and greatest value that are searched; To is 0 for none
	To        int      `json:"to"`
	Limit     int64    `json:"limit,omitempty"` // bytes that a run may report; 0 for the plan's MemoryLimit
	Most      int      `json:"most,omitempty"`  // largest value of the search for the edge of memory; 0 for none
	Margin    float64  `json:"margin"`          // share of the limit that is left free, 0 to 1
	Tolerance float64  `json:"tolerance"`       // share of speed, 0 to 1, for which a smaller value is preferred
	Seed      uint64   `json:"seed,omitempty"`  // of the order of runs; 0 for one of the plan
	Probe     []string `json:"probe,omitempty"` // command of a value that is tried only; empty for its first replicate
}

// Searched is a search with what it has come to.
type Searched struct {
	Search
	Of   FrozenArm `json:"of"`             // that runs with each value
	Edge *Edge     `json:"edge,omitempty"` // nil until it was searched
	Over bool      `json:"over"`           // no value is left to try
}

// MostValue bounds the values of a search.
const MostValue = 4096

// placeOfValue is where an arm's arguments take the value.
const placeOfValue = "{value}"

// Defaults of a search.
const (
	DefaultTolerance = 0.05
	DefaultMargin    = 0.05
)

// search takes the table of a search: a setting, and the least and the greatest value.
func (t *table) search() *Search {
	s := &Search{Tolerance: DefaultTolerance, Margin: DefaultMargin}
	for _, a := range t.rest() {
		if s.Key != "" {
			t.fail(a.Key, fmt.Errorf("%s is searched already: must be one setting", s.Key))
		}
		if err := s.Parse(a.Key, a.Value, ","); err != nil {
			t.fail(a.Key, err)
		}
	}
	if s.Key == "" {
		t.fail("", errors.New("is empty: must be a setting and its bounds, as batch_size = [1, 256]"))
	}
	return s
}

// Parse sets the setting and the bounds of a search, which a separator divides.
func (s *Search) Parse(key, bounds, between string) error {
	from, to, ok := strings.Cut(bounds, between)
	low, first := strconv.Atoi(from)
	high, second := strconv.Atoi(to)
	if !ok || first != nil || second != nil || low < 1 || high <= low || high > MostValue {
		return fmt.Errorf("%q: must be the least and the greatest value, from 1 to %d, as 1%s256", bounds, MostValue,
			between)
	}
	s.Key, s.From, s.To, s.Most = key, low, high, high
	return nil
}

// checkSearch checks a plan with a search.
func (p *Plan) checkSearch(presets preset.Shelves) error {
	s := p.Search
	switch {
	case len(p.Arms) > 1:
		return p.wrong("search", errors.New("runs one arm with each value: must be with one [[arm]], or with none for "+
			"that of [base]"))
	case p.Pairing != Apart || p.Reference != "" || len(p.Arms) == 1 && p.Arms[0].Pair != "":
		return p.wrong("search", errors.New("cannot be joined with pairing, pair or reference: values take turns by "+
			"replicates, and are compared with the fastest"))
	case p.Budget > 0:
		return p.wrong("budget", errors.New("cannot be joined with search, whose runs are not known before: set "+
			"max_seconds"))
	}
	a := &p.Arms[0]
	switch a.Kind() {
	case "command":
		if !takesValue(a.Command) {
			return p.wrong(a.path+".command", errors.New("must take the value: "+placeOfValue))
		}
	case "settings":
		for _, v := range []int{s.From, s.To} {
			of := *a
			of.path, of.Set = "search", append(slices.Clone(a.Set), s.at(v))
			if _, err := p.Settings(&of, presets); err != nil {
				return err
			}
		}
	}
	return nil
}

// takesValue reports whether arguments have a place for the value.
func takesValue(args []string) bool {
	return slices.ContainsFunc(args, func(word string) bool { return strings.Contains(word, placeOfValue) })
}

// at sets the value.
func (s *Search) at(v int) settings.Assignment {
	return settings.Assignment{Key: s.Key, Value: strconv.Itoa(v)}
}

// Bound returns the bytes that a run may report, 0 for no limit.
func (f *Folder) Bound() int64 {
	if f.Search != nil && f.Search.Limit > 0 {
		return f.Search.Limit
	}
	return f.MemoryLimit
}

// Value returns the arm of a value, or of one that is tried only, which it adds if it is not there.
func (f *Folder) Value(v int, probe bool) int {
	a := f.Search.Of
	a.From, a.Name, a.Value = a.Name, fmt.Sprintf("%s=%d", fileName(f.Search.Key), v), v
	if probe && f.Search.Probe != nil {
		a.Name, a.Args, a.Probe = a.Name+",probe", f.Search.Probe, true
	}
	if i := slices.IndexFunc(f.Arms, func(b FrozenArm) bool { return b.Name == a.Name }); i >= 0 {
		return i
	}
	if a.Set = slices.Clone(a.Set); !takesValue(a.Args) {
		a.Set = append(a.Set, f.Search.at(v))
	}
	f.Arms = append(f.Arms, a)
	return len(f.Arms) - 1
}

// Rounds returns the tasks of every replicate of some arms, which it adds if they are not there: in an order by chance,
// and in the next replicate backwards, so that a drift of the machine touches all alike.
func (f *Folder) Rounds(arms []int, replicates int) (rounds [][]int) {
	at := map[Cell]int{}
	for i := range f.Tasks {
		at[f.Tasks[i].Cells[0]] = i
	}
	order, random := slices.Clone(arms), mathrand.New(mathrand.NewPCG(cmp.Or(f.Search.Seed, seedOf(f.Digest)), 0))
	for r := 1; r <= replicates; r++ {
		if r%2 == 1 {
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		} else {
			slices.Reverse(order)
		}
		var round []int
		for _, arm := range order {
			c := Cell{arm, r}
			if _, there := at[c]; !there {
				at[c], f.Tasks = len(f.Tasks), append(f.Tasks, Task{Cells: []Cell{c}})
			}
			round = append(round, at[c])
		}
		rounds = append(rounds, round)
	}
	return rounds
}

// Save writes the frozen plan with the arms and tasks that a search has added.
func (f *Folder) Save() error { return writeJSON(f.at(planFile), f.Frozen) }

// Tried is what the runs of a value say.
type Tried struct {
	Done, Failed, OutOfMemory bool
	Reason                    string    // why it failed
	Rate                      float64   // iterations or items of batches a second, of the first run; 0 if unknown
	Bytes                     []float64 // peaks of memory, of each run in which it is known
	Bend                      int       // as of Status
}

// Tried sums up the runs of each value of a search.
func (f *Folder) Tried(ctx context.Context) (map[int]*Tried, error) {
	all := map[int]*Tried{}
	for _, c := range f.Cells() {
		s, err := f.Read(ctx, c)
		if err != nil {
			return nil, err
		}
		if s.State != Done && s.State != Failed {
			continue
		}
		t := all[f.Arms[c.Arm].Value]
		if t == nil {
			t = &Tried{}
			all[f.Arms[c.Arm].Value] = t
		}
		if s.State == Failed {
			t.Failed, t.OutOfMemory, t.Reason = true, s.OutOfMemory, s.Error
			continue
		}
		if t.Done = true; s.MS != nil && *s.MS > 0 && t.Rate == 0 {
			t.Rate = 1e3 * float64(max(s.Items, 1)) / *s.MS
		}
		if s.PeakBytes > 0 {
			t.Bytes = append(t.Bytes, float64(s.PeakBytes))
		}
		t.Bend = max(t.Bend, s.Bend)
	}
	return all, nil
}

// Line is the memory of a run as a line over the value, by least squares.
type Line struct {
	FixedBytes float64
	BytesEach  float64 // of one more
	R2         float64 // share of the variance that the line explains
	Sizes      int     // values that it runs through
	Smallest   int     // of these
	Largest    int
}

// Within returns the largest value whose memory is within a limit, 0 for none.
func (l *Line) Within(limit float64) int {
	return int(min(max(math.Floor((limit-l.FixedBytes)/l.BytesEach), 0), MostValue))
}

// MemoryLine fits the line through the values from the bend on, or, if the limit lies below, through the smaller ones;
// nil for fewer than two values, or memory that does not grow. A limit of 0 is none.
func MemoryLine(all map[int]*Tried, limit int64) *Line {
	bend := 0
	for _, t := range all {
		bend = max(bend, t.Bend)
	}
	beyond := line(all, func(v int) bool { return v >= bend })
	if beyond != nil && (limit == 0 || beyond.Within(float64(limit)) >= bend) {
		return beyond
	}
	if below := line(all, func(v int) bool { return v <= bend }); below != nil {
		return below
	}
	return line(all, func(int) bool { return true })
}

// line fits a line through the chosen values.
func line(all map[int]*Tried, chosen func(v int) bool) *Line {
	var x, y []float64
	for _, v := range slices.Sorted(maps.Keys(all)) { // so that sums are the same in every run
		if t := all[v]; t.Done && !t.Failed && len(t.Bytes) > 0 && chosen(v) {
			x, y = append(x, float64(v)), append(y, stats.Median(t.Bytes))
		}
	}
	fixed, slope, r2 := stats.Line(x, y, nil)
	if !(slope > 0) {
		return nil
	}
	return &Line{fixed, slope, r2, len(x), int(slices.Min(x)), int(slices.Max(x))}
}

// Edge is where memory ends.
type Edge struct {
	// Predicted is the largest value whose memory, by the line through the measurements, is within the limit; Target
	// the one within the limit less the margin.
	Predicted int `json:"predicted"`
	Target    int `json:"target"`
	// Verified is the largest value that ran within the limit, Failed the smallest that did not; null if none was
	// tried.
	Verified *int `json:"verified"`
	Failed   *int `json:"failed"`
	// Sentence says what was found.
	Sentence string `json:"sentence"`
}
