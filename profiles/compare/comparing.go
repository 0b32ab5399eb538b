package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
)

// A comparison under way: what is compared, the rows of it, and judging them.

// table is a comparison under way.
type table struct {
	options Options
	samples [][]*Sample
	kept    [][]kept
	kind    string
	columns []column
	rows    []pending
	turns   *Turns // of Alternating sides, nil otherwise
}

// pending is a row to be judged.
type pending struct {
	row   Row
	judge func(row *Row, k int, miss float64)
	fixed bool // it has no interval from blocks or recordings
}

// addFixed appends a row whose interval has no such chance.
func (t *table) addFixed(r Row, judge func(row *Row, k int)) {
	t.rows = append(t.rows, pending{row: r, judge: func(row *Row, k int, _ float64) { judge(row, k) }, fixed: true})
}

// Options of a comparison.
type Options struct {
	// MaxForeign is the share of the processors, 0 to 1, that other programs may take in a block.
	MaxForeign float64
}

// Compare compares the samples of two or more sides, the base first. names are those of the sides.
func Compare(names []string, sides [][]*Sample, o Options) (*Comparison, error) {
	return (&table{options: o, samples: sides}).compare(names)
}

// compare makes the comparison.
func (t *table) compare(names []string) (*Comparison, error) {
	if err := t.check(names); err != nil {
		return nil, err
	}
	c := &Comparison{Design: Separate, Kind: t.choose()}
	if t.turns != nil {
		c.Design = Alternating
	} else if t.allReplicated() {
		c.Design = Replicated
	}
	t.columns = t.timed()
	t.caches()
	t.memory()
	t.quality()
	c.Miss = 0.05 / float64(t.asked(c.Design))
	c.Rows, c.Common = t.times(c.Miss)
	for i := range t.rows {
		t.rows[i].conclude(c.Miss)
		c.Rows = append(c.Rows, t.rows[i].row)
	}
	c.Intervals = t.intervals(c)
	for i, side := range t.samples {
		s := Side{Name: names[i]}
		for _, sample := range side {
			s.Runs = append(s.Runs, sample.run)
		}
		c.Sides = append(c.Sides, s)
	}
	c.Settings, c.Warnings, c.Curves = t.settings(), t.warnings(c), t.curves()
	return c, nil
}

// intervals counts the intervals that are there and have a chance to miss: not those of exact numbers.
func (t *table) intervals(c *Comparison) (n int) {
	for _, m := range c.Common {
		if finite(m.Low) && finite(m.High) {
			n++
		}
	}
	for i := range c.Rows {
		if judged := i - len(t.columns); judged >= 0 && t.rows[judged].fixed {
			continue
		}
		for _, d := range c.Rows[i].Against {
			if finite(d.Low) && finite(d.High) && d.Low != d.High {
				n++
			}
		}
	}
	return n
}

// asked counts the intervals that there are at most, which decides how wide they are.
func (t *table) asked(d Design) (n int) {
	n = len(t.columns)
	if d != Alternating {
		n++ // of what the times did together
	}
	for i := range t.rows {
		if !t.rows[i].fixed {
			n++
		}
	}
	return n * (len(t.samples) - 1)
}

// conclude judges the row of each side.
func (p *pending) conclude(miss float64) {
	p.row.Against = make([]Difference, len(p.row.Values)-1)
	for k := 1; k < len(p.row.Values); k++ {
		d := &p.row.Against[k-1]
		a, b := p.row.Values[0].Value, p.row.Values[k].Value
		if d.Raw = b - a; !p.row.Absolute && a != b {
			d.Raw = b/a - 1
		}
		if !finite(d.Raw) {
			d.Raw = math.NaN()
		}
		p.judge(&p.row, k, miss)
	}
}

// check checks that there is something to compare.
func (t *table) check(names []string) error {
	if len(t.samples) < 2 || len(names) != len(t.samples) {
		return errors.New("two sides or more must be compared")
	}
	first := t.samples[0][0]
	for _, side := range t.samples {
		for _, s := range side {
			if s.schema.Workload != first.schema.Workload {
				return fmt.Errorf("%s ran %s and %s ran %s: runs of two workloads cannot be compared", first.run.Name,
					first.schema.Workload, s.run.Name, s.schema.Workload)
			}
		}
	}
	return nil
}

// replicated reports whether a side and the base have recordings enough to know their spread.
func (t *table) replicated(k int) bool {
	return len(t.samples[0]) >= LeastReplicas && len(t.samples[k]) >= LeastReplicas
}

func (t *table) allReplicated() bool {
	for k := range t.samples {
		if !t.replicated(k) {
			return false
		}
	}
	return true
}

// choose chooses what is compared: the kind of iterations of which every recording has most, and in each
// recording the settings under which most of them ran, in blocks or, where there is none, at all. It returns the kind's
// name.
func (t *table) choose() string {
	counts := func(s *Sample, kind string) (under, most int) {
		n := make([]int, len(s.groups))
		for i := range s.blocks {
			if b := &s.blocks[i]; s.schema.Kinds[b.kind].Name == kind {
				n[b.under]++
			}
		}
		for i := range n {
			if n[i] > most {
				under, most = i, n[i]
			}
		}
		if most == 0 {
			under = slices.Index(s.ran, slices.Max(s.ran))
		}
		return under, most
	}
	best := 0
	for _, info := range t.samples[0][0].schema.Kinds {
		least := math.MaxInt
		for _, side := range t.samples {
			for _, s := range side {
				_, n := counts(s, info.Name)
				least = min(least, n)
			}
		}
		if least > best {
			best, t.kind = least, info.Name
		}
	}
	for _, side := range t.samples {
		var of []kept
		for _, s := range side {
			s.under, _ = counts(s, t.kind)
			kind := slices.IndexFunc(s.schema.Kinds, func(k profiles.KindInfo) bool { return k.Name == t.kind })
			k := s.keep(profiles.Kind(kind), s.under, t.options.MaxForeign)
			left := &s.run.LeftOut
			left.Disturbed, left.Kinds, left.Settings = k.disturbed, 0, 0
			for i := range s.blocks {
				switch b := &s.blocks[i]; {
				case int(b.kind) != kind:
					left.Kinds += int64(b.n)
				case b.under != s.under:
					left.Settings += int64(b.n)
				}
			}
			s.run.Blocks = len(k.blocks)
			of = append(of, k)
		}
		t.kept = append(t.kept, of)
	}
	return t.kind
}

// inForce returns the settings of what is compared of a recording. Limits, which make no
// difference to an iteration, are those in force at its end.
func (s *Sample) inForce() settings.Values {
	v := s.groups[s.under]
	for _, key := range v.Differing(s.ending) {
		if k, _ := v.Lookup(key); k.Limit {
			v, _ = v.Set(key, s.ending.Get(key)) // which was in force
		}
	}
	return v
}

// tooShort and othersTook are reasons why times are not comparable.
func tooShort(blocks int) string {
	return fmt.Sprintf("only %s of half a second or more under one set of settings: at least %d are needed",
		unit.Plural(blocks, "block", "blocks"), leastBlocks)
}

func othersTook(all []*block) (reason, brief string) {
	sum, n := 0.0, 0
	for _, b := range all {
		if !math.IsNaN(b.foreign) {
			sum, n = sum+b.foreign, n+1
		}
	}
	took := fmt.Sprintf("others took %.0f %%", 100*sum/float64(n))
	return "other programs took " + took[len("others took "):] + " of the processors, and fewer than " +
		fmt.Sprint(leastBlocks) + " blocks were undisturbed", took
}

// timed lists the columns of times: of the whole iteration, of each phase and of each layer.
func (t *table) timed() []column {
	first := t.samples[0][0]
	of := profiles.Unit{One: "iteration", Many: "iterations"}
	if first.schema.Item.One != "" {
		of = first.schema.Item
	}
	all := []column{{group: Speed, name: "iteration_ms", title: of.One},
		{group: Speed, name: "iterations_per_second", title: of.Many + " a second", rate: true}}
	total := t.blocks(0).levelAt(func(b *block) float64 { return b.total })
	for p, info := range first.schema.Phases {
		share := math.Exp(t.blocks(0).levelAt(func(b *block) float64 { return b.phases[p] }) - total)
		if math.IsNaN(share) && info.Looking {
			continue
		}
		all = append(all, column{group: Phases, name: info.Name + "_ms", title: info.Name,
			yields: !info.Looking && share >= smallest})
	}
	if t.turns != nil { // a profile of the layers is of longer than a turn
		return all
	}
	for _, name := range t.layers() {
		all = append(all, column{group: Layers, name: name, title: name})
	}
	return all
}

// smallest is the share of an iteration below which a phase does not show the machine's speed, and a
// layer has no row.
const smallest = 0.01

// layers lists the layers of all sides that are no small part of the iteration.
func (t *table) layers() (names []string) {
	for k, side := range t.samples {
		for r, s := range side {
			of := blocksOf{t.kept[k][r]}
			total := of.levelAt(func(b *block) float64 { return b.total })
			for i, name := range s.layers.names {
				ns := of.levelAt(func(b *block) float64 {
					if i < len(b.layers) {
						return b.layers[i]
					}
					return math.NaN()
				})
				if math.Exp(ns-total) >= smallest && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// blocksOf are the kept blocks of a side.
type blocksOf []kept

func (t *table) blocks(k int) blocksOf { return t.kept[k] }

// levelAt returns the median of a number over all blocks, NaN for none.
func (b blocksOf) levelAt(of func(*block) float64) float64 {
	var all []float64
	for _, k := range b {
		for _, x := range k.blocks {
			if v := of(x); !math.IsNaN(v) {
				all = append(all, v)
			}
		}
	}
	return stats.Median(all)
}

// read returns the times of a side.
func (t *table) read(k int) times {
	var all times
	for r, s := range t.samples[k] {
		var rows [][]float64
		for _, b := range t.kept[k][r].blocks {
			row := make([]float64, len(t.columns))
			for i := range t.columns {
				row[i] = s.timeOf(&t.columns[i], b)
			}
			rows = append(rows, row)
		}
		all = append(all, rows)
	}
	return all
}

// timeOf returns what a block has of a column.
func (s *Sample) timeOf(c *column, b *block) float64 {
	switch c.group {
	case Speed:
		if c.rate {
			return b.rate
		}
		return b.total
	case Phases:
		if p := slices.IndexFunc(s.schema.Phases, func(p profiles.PhaseInfo) bool {
			return p.Name == c.title
		}); p >= 0 {
			return b.phases[p]
		}
	case Layers:
		if i := slices.Index(s.layers.names, c.name); i >= 0 && i < len(b.layers) {
			return b.layers[i]
		}
	}
	return math.NaN()
}

// times judges the times and returns their rows.
func (t *table) times(miss float64) (rows []Row, common []Common) {
	sides := make([]times, len(t.samples))
	for k := range sides {
		sides[k] = t.read(k)
	}
	for i := range t.columns {
		row := t.columns[i].row()
		row.Against = make([]Difference, len(sides)-1)
		for k := range sides {
			l := sides[k].level(i)
			v := Value{Value: t.columns[i].shown(l.value), Blocks: l.blocks, Floor: math.Expm1(l.floor)}
			if l.blocks == 0 {
				v.Reason = "it was not measured"
			}
			row.Values = append(row.Values, v)
		}
		rows = append(rows, row)
	}
	for k := 1; k < len(sides); k++ {
		if t.turns != nil {
			t.turns.judge(t.columns, rows, miss)
			continue
		}
		c := contest{columns: t.columns, base: sides[0], other: sides[k], replicated: t.replicated(k),
			byTurns: t.byTurns(k), miss: miss,
			layout: max(t.samples[0][0].schema.Layout, t.samples[k][0].schema.Layout)}
		all, together := c.verdicts()
		reason, brief := t.unfit(k)
		if reason != "" {
			together = Common{Move: math.NaN(), Low: math.NaN(), High: math.NaN()}
		}
		common = append(common, together)
		for i := range rows {
			d := &rows[i].Against[k-1]
			if *d = all[i]; reason != "" {
				d.no(reason, brief)
				continue
			}
			for side, f := range c.floors[i] {
				if v := &rows[i].Values[side*k]; side == 1 || k == 1 {
					v.Floor = math.Expm1(f)
				}
			}
		}
	}
	return rows, common
}

// unfit returns why the times of a side and the base cannot be compared; empty if they can.
func (t *table) unfit(k int) (reason, brief string) {
	for _, side := range []int{0, k} {
		for r, kept := range t.kept[side] {
			if kept.reason != "" {
				return t.samples[side][r].run.Name + ": " + kept.reason, kept.brief
			}
		}
	}
	return "", ""
}

// byTurns reports whether the recordings of a side and the base were made by turns, so that a drift of
// the machine's speed touches both.
func (t *table) byTurns(k int) bool {
	type made struct {
		at   int64
		side int
	}
	var all []made
	for _, side := range []int{0, k} {
		for _, s := range t.samples[side] {
			all = append(all, made{s.run.Began.UnixNano(), side})
		}
	}
	slices.SortFunc(all, func(a, b made) int {
		if a.at < b.at {
			return -1
		}
		return 1
	})
	switches := 0
	for i := 1; i < len(all); i++ {
		if all[i].side != all[i-1].side {
			switches++
		}
	}
	return switches >= min(len(t.samples[0]), len(t.samples[k]))
}
