package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// Rows of times and rates, judged against how all times of a machine move together.

// column is a time or a rate of every block.
type column struct {
	group  Group
	name   string
	title  string
	rate   bool // more is better, and it moves against the times
	yields bool // it may show how fast the machine is: a phase that is no small part of the iteration
}

// row returns the column's row without values.
func (c *column) row() Row {
	r := Row{Group: c.group, Name: c.name, Title: c.title, Unit: "ms", Better: profiles.LessIsBetter}
	if c.rate {
		r.Unit, r.Better = "it/s", profiles.MoreIsBetter
	}
	return r
}

// shown converts a level to the unit of the row.
func (c *column) shown(l float64) float64 {
	if c.rate {
		return math.Exp(l)
	}
	return math.Exp(l) / 1e6
}

// times are the blocks of a side: recordings, blocks, columns, as logarithms; NaN for none.
type times [][][]float64

// series returns what of gives for each block.
func (t times) series(of func(row []float64) float64) [][]float64 {
	runs := make([][]float64, len(t))
	for r, blocks := range t {
		for _, row := range blocks {
			runs[r] = append(runs[r], of(row))
		}
	}
	return runs
}

// level returns the level of a column.
func (t times) level(c int) level {
	return levelOf(t.series(func(row []float64) float64 { return row[c] }))
}

// has reports whether nearly every block has a column.
func (t times) has(c int) bool {
	for _, blocks := range t {
		n := 0
		for _, row := range blocks {
			if !math.IsNaN(row[c]) {
				n++
			}
		}
		if n < leastBlocks || 10*n < 9*len(blocks) {
			return false
		}
	}
	return len(t) > 0
}

// contest judges the times of a side against those of the base.
//
// A machine that is faster or slower moves all times together, so a time is judged by how it moved
// beside the others: from the logarithm of each block's time, the mean movement of the phases in that
// block is subtracted, that of the phase itself left out. Phases that moved against the others do not
// take part, up to half of them; to find these, the median serves in place of the mean. What remains
// of the machine's drift within a run is also smaller than that of the times themselves.
//
// Two runs of one program still differ, by what the blocks of a run cannot show: the layout of memory,
// and phases that follow the machine's speed to different degrees. The interval allows for both, layout
// and follow, unless the sides are replicated.
type contest struct {
	columns     []column
	base, other times
	replicated  bool
	byTurns     bool // the recordings were made by turns
	miss        float64
	layout      float64 // as in the schema of both sides

	allowance float64 // for what the blocks do not show
	few       bool    // phases: the machine's speed cannot be told from the program's

	refs   []int        // the columns that show the machine's speed
	origin []float64    // of each column, midway between the sides
	floors [][2]float64 // of each column, as it was judged, of both sides
}

const (
	// layout is how far a phase of two runs of one program differs by itself, unless their schema says more.
	layout = 0.01
	// follow is how far a phase differs for each e-fold by which all times moved together.
	follow = 0.1
)

// verdicts returns the difference of each column, and what all times did together.
func (c *contest) verdicts() (all []Difference, common Common) {
	all = make([]Difference, len(c.columns))
	c.origin, c.floors = make([]float64, len(c.columns)), make([][2]float64, len(c.columns))
	c.refs = nil
	for i := range c.columns {
		a, b := c.base.level(i), c.other.level(i)
		c.floors[i] = [2]float64{a.floor, b.floor}
		c.origin[i] = (a.value + b.value) / 2
		all[i].Raw = math.Expm1(b.value - a.value)
		if c.columns[i].yields && c.base.has(i) && c.other.has(i) {
			c.refs = append(c.refs, i)
		}
	}
	if c.few = len(c.refs) < 3; c.few {
		c.refs = []int{0} // the whole iteration
	} else {
		c.settle()
	}
	common = c.together()
	for i := range all {
		d := &all[i]
		switch {
		case math.IsNaN(d.Raw):
			d.no("it was not measured on both sides", "not on both sides")
		case c.few || common.Judged:
			c.judge(d, i, func(row []float64) float64 { return row[i] }, !(c.replicated && c.byTurns))
		default:
			d.Beside = true
			c.judge(d, i, c.beside(i), false)
		}
	}
	return all, common
}

// beside returns the function of a block's time, or rate, beside the others.
func (c *contest) beside(i int) func(row []float64) float64 {
	refs := slices.DeleteFunc(slices.Clone(c.refs), func(r int) bool { return r == i })
	return func(row []float64) float64 {
		if c.columns[i].rate {
			return row[i] + c.moved(row, refs)
		}
		return row[i] - c.moved(row, refs)
	}
}

// moved returns the mean movement of some columns in a block.
func (c *contest) moved(row []float64, refs []int) float64 {
	sum, n := 0.0, 0
	for _, r := range refs {
		if !math.IsNaN(row[r]) {
			sum += row[r] - c.origin[r]
			n++
		}
	}
	return sum / float64(n)
}

// settle drops the phases that moved against the others from those that show the machine's speed.
func (c *contest) settle() {
	if !c.replicated {
		var moves []float64
		for _, i := range c.refs {
			moves = append(moves, c.other.level(i).value-c.base.level(i).value)
		}
		c.allowance = cmp.Or(c.layout, layout) + follow*math.Abs(stats.Median(moves))
	}
	type mover struct {
		column int
		by     float64 // in margins
	}
	var movers []mover
	for _, i := range c.refs {
		beside := func(row []float64) float64 {
			var others []float64
			for _, r := range c.refs {
				if r != i && !math.IsNaN(row[r]) {
					others = append(others, row[r]-c.origin[r])
				}
			}
			return row[i] - stats.Median(others)
		}
		a, b := levelOf(c.base.series(beside)), levelOf(c.other.series(beside))
		if by := math.Abs(b.value-a.value) / (margin(a, b, c.replicated, c.miss) + c.allowance); by > 1 {
			movers = append(movers, mover{i, by})
		}
	}
	slices.SortStableFunc(movers, func(x, y mover) int {
		if x.by > y.by {
			return -1
		}
		return 1
	})
	for _, m := range movers[:min(len(movers), len(c.refs)/2)] {
		c.refs = slices.DeleteFunc(c.refs, func(r int) bool { return r == m.column })
	}
}

// together returns what the times did together.
func (c *contest) together() Common {
	of := func(row []float64) float64 { return c.moved(row, c.refs) }
	a, b := levelOf(c.base.series(of)), levelOf(c.other.series(of))
	d, m := b.value-a.value, margin(a, b, c.replicated, c.miss)
	t := Common{Move: math.Expm1(d), Low: math.Expm1(d - m), High: math.Expm1(d + m),
		Moved: stats.Zero(0).Judge(d-m, d+m).Excluded()}
	if !t.Moved {
		return t
	}
	moved := fmt.Sprintf("all times moved together by %s %% [%s, %s]", unit.Signed(100*t.Move, 1),
		unit.Signed(100*t.Low, 1), unit.Signed(100*t.High, 1))
	switch {
	case c.replicated && c.byTurns:
		t.Judged, t.Text = true, moved+", more than the recordings of a side differ"
	case math.Abs(d) > m+math.Log(Swing):
		t.Judged, t.Text = true, moved+fmt.Sprintf(", more than the factor of %g by which a machine's speed may "+
			"differ between two recordings", Swing)
	case c.few:
		t.Text = moved + fmt.Sprintf(", as on a machine at another speed: of fewer than three phases, times are "+
			"judged beyond a factor of %g alone", Swing)
	default:
		t.Text = moved + ", as on a machine at another speed: every time is judged by how it moved beside the others"
	}
	return t
}

// judge judges a column by a function of its blocks. swing allows for the machine's speed.
func (c *contest) judge(d *Difference, i int, of func(row []float64) float64, swing bool) {
	a, b := levelOf(c.base.series(of)), levelOf(c.other.series(of))
	c.floors[i] = [2]float64{a.floor, b.floor}
	m := margin(a, b, c.replicated, c.miss) + c.allowance
	if swing {
		m += math.Log(Swing)
	}
	v := b.value - a.value
	d.Value, d.Low, d.High = math.Expm1(v), math.Expm1(v-m), math.Expm1(v+m)
	if !finite(d.Low) || !finite(d.High) || !finite(v) {
		d.no("too few blocks of it were measured", "too short")
		return
	}
	d.say(Faster, Slower, c.columns[i].rate, EqualWithin)
}

// say gives the verdict of an interval: better if it is below 0, or above if more is better.
func (d *Difference) say(better, worse Verdict, moreIsBetter bool, equal float64) {
	below, above := better, worse
	if moreIsBetter {
		below, above = worse, better
	}
	switch stats.Zero(equal).Judge(d.Low, d.High) {
	case stats.Within:
		d.Verdict, d.Within = Equal, stats.Reach(d.Low, d.High)
	case stats.Below:
		d.Verdict = below
	case stats.Above:
		d.Verdict = above
	default:
		d.Verdict = InNoise
	}
}

// no says that a difference is not comparable, and why.
func (d *Difference) no(reason, brief string) {
	nan := math.NaN()
	d.Value, d.Low, d.High, d.Beside = nan, nan, nan, false
	d.Verdict, d.Reason, d.Briefly = NotComparable, reason, brief
}
