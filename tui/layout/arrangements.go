package layout

// This file is the arrangements that a key goes through: which panes each has,
// and where.

// shape is what a pane wants of the screen, frame included.
type shape struct {
	w, h   extent
	square bool // its drawing is a square: two columns are as wide as a row is high
}

// Rows and columns that a square drawing's pane needs besides it.
const (
	squareRows    = 3
	squareColumns = 4
)

var shapes = [NumPanes]shape{
	Phases:        {w: extent{38, 46, 76, 0, 1}, h: extent{8, 8, 17, 2, 2}},
	Picture:       {w: extent{22, 32, 61, 0, 3}, h: extent{8, 17, 36, 0, 4}, square: true},
	KSpace:        {w: extent{20, 32, 32, 0, 3}, h: extent{8, 17, 36, 0, 4}, square: true},
	IterationTime: {w: extent{36, 52, 140, 0, 6}, h: extent{6, 9, 16, 0, 3}},
	Loss:          {w: extent{36, 48, 120, 0, 5}, h: extent{6, 9, 16, 0, 3}},
	Quality:       {w: extent{36, 48, 100, 0, 5}, h: extent{6, 9, 16, 0, 3}},
	Caches:        {w: extent{34, 38, 52, 0, 1}, h: extent{5, 8, 13, 0, 1}},
	Memory:        {w: extent{22, 36, 48, 0, 1}, h: extent{6, 11, 13, 0, 2}},
	Effects:       {w: extent{34, 44, 100, 0, 4}, h: extent{5, 8, 13, 0, 2}},
	Samples:       {w: extent{32, 34, 44, 0, 1}, h: extent{5, 9, 13, 0, 1}},
	Log:           {w: extent{36, 52, 100, 0, 4}, h: extent{4, 9, 13, 0, 1}},

	Settings: {w: extent{60, 116, 200, 0, 2}, h: extent{8, 24, 60, 0, 2}},
	Ablation: {w: extent{60, 104, 140, 0, 2}, h: extent{6, 16, 20, 0, 1}},
}

// anyShape is that of a pane that says nothing about its own.
var anyShape = shape{w: extent{36, 44, 80, 0, 2}, h: extent{6, 9, 14, 0, 1}}

// extent is what the pane wants along an axis where it has cross cells along the
// other; 0 where that is not known yet.
func (id Pane) extent(a axis, cross int) extent {
	s := shapes[id]
	if s.w.least == 0 {
		s = anyShape
	}
	e := s.extent(a, cross)
	if id == Picture && a == across && cross > 0 { // the truth beside it from one and a half widths on
		e.most, e.leap = 2*e.good-squareColumns+1, e.good/2
	}
	return e
}

// extent is what a pane of this shape wants; a square follows the other axis.
func (s shape) extent(a axis, cross int) extent {
	e := s.w
	if a == down {
		e = s.h
	}
	switch {
	case s.square && cross > 0 && a == down:
		e.good = max(e.least, (cross-squareColumns)/2+squareRows)
		e.most = e.good
	case s.square && cross > 0:
		e.good = max(e.least, 2*(cross-squareRows)+squareColumns)
		e.most = e.good
	}
	return e
}

// The insides of panes from which more stands side by side: of phases, every view in an
// overview; of memory, bars and chart; of effects, the forest beside the table.
const (
	TiledWidth, TiledHeight = 112, 28
	MemoryBothHeight        = 20
	EffectForestFrom        = 142
)

// The panes that lead an arrangement have room for all they can show: phases for
// layers, roofline and waterfall beside the bars, memory for its curve.
var (
	leadPhases = shape{w: extent{38, 60, TiledWidth + 4, TiledWidth + 4 - 60, 2}, h: extent{8, 17, TiledHeight + 8, 0, 3}}
	leadMemory = shape{w: extent{22, 52, 100, 0, 3}, h: extent{6, 12, MemoryBothHeight + 4, 0, 3}}
)

// wideEffects have room for all columns, and for the forest beside them.
var wideEffects = shape{w: extent{34, 100, EffectForestFrom + 4, EffectForestFrom + 4 - 100, 4}, h: extent{5, 12, 18, 0, 3}}

// Arrangement is a choice of panes and the plans by which they may stand. panes
// are in the order in which they are kept: where there is no room, the last ones
// go first.
type Arrangement struct {
	Name  string
	panes []Pane
	// core is how many of the panes come as soon as they fit; those after them
	// only where every pane can use its room well.
	core  int
	plans []plan
}

// plan is where panes may stand on a screen of a width or more.
type plan struct {
	from int
	node
	whole bool // only where every pane that is wanted has room
}

// Widths from which three panes stand side by side, and from which all panes do without
// rows beneath.
const (
	wide     = 104
	veryWide = 180
)

// Arrangements are what the key w goes through.
var Arrangements = []Arrangement{
	{
		Name: "everything",
		panes: []Pane{Phases, Picture, Caches, Effects, Loss, IterationTime, KSpace, Memory,
			Quality, Samples, Log},
		core: 8,
		plans: []plan{
			{from: veryWide, node: stacked(row(Phases, Picture, KSpace), row(IterationTime, Loss, Quality), row(Caches, Memory, Samples),
				beside(sized(Effects, wideEffects), one(Log))), whole: true},
			{from: wide, node: stacked(row(Phases, Picture, KSpace), row(IterationTime, Loss, Quality), row(Caches, Memory, Effects))},
			{from: wide, node: stacked(row(Phases, Picture, KSpace), row(IterationTime, Loss), row(Caches, Memory, Effects))},
			{from: 0, node: stacked(
				beside(column(Phases, Loss, IterationTime), column(Picture, KSpace, Memory)),
				row(Caches, Effects))},
			{from: 0, node: stacked(
				beside(column(Phases, Loss, IterationTime), column(Picture, KSpace, Memory)),
				one(Caches), one(Effects))},
			{from: wide, node: stacked(row(Phases, Picture, KSpace, Loss), row(Caches, Effects, IterationTime, Memory))},
		},
	},
	{
		Name:  "timing",
		panes: []Pane{Phases, Effects, IterationTime, Caches},
		plans: []plan{
			{from: veryWide, node: stacked(beside(sized(Phases, leadPhases), one(IterationTime)), beside(one(Caches), sized(Effects, wideEffects)))},
			{from: wide, node: stacked(beside(sized(Phases, leadPhases), one(IterationTime)), row(Caches, Effects))},
			{from: 0, node: stacked(sized(Phases, leadPhases), one(IterationTime), row(Caches, Effects))},
			{from: 0, node: stacked(sized(Phases, leadPhases), one(IterationTime), one(Effects), one(Caches))},
		},
	},
	{
		Name:  "quality",
		panes: []Pane{Picture, Quality, Loss, KSpace, Samples},
		plans: []plan{
			{from: wide, node: stacked(row(Picture, KSpace, Samples), row(Quality, Loss))},
			{from: 0, node: beside(column(Quality, Loss, Samples), column(Picture, KSpace))},
			{from: 0, node: stacked(row(Picture, KSpace), one(Quality), one(Loss), one(Samples))},
		},
	},
	{
		Name:  "memory",
		panes: []Pane{Memory, Caches, Effects, IterationTime},
		plans: []plan{
			{from: veryWide, node: stacked(beside(sized(Memory, leadMemory), one(IterationTime)), beside(one(Caches), sized(Effects, wideEffects)))},
			{from: wide, node: stacked(beside(sized(Memory, leadMemory), one(IterationTime)), row(Caches, Effects))},
			{from: 0, node: stacked(sized(Memory, leadMemory), one(IterationTime), row(Caches, Effects))},
			{from: 0, node: stacked(sized(Memory, leadMemory), one(IterationTime), one(Caches), one(Effects))},
		},
	},
}

// Find is the arrangement of a name, the first where there is none.
func Find(name string) *Arrangement {
	for i := range Arrangements {
		if Arrangements[i].Name == name {
			return &Arrangements[i]
		}
	}
	return &Arrangements[0]
}

// everything says whether the arrangement shows every pane for which there is
// room.
func (a *Arrangement) everything() bool { return a == &Arrangements[0] }

// OnDemand says whether a pane has a key of its own, which shows it on the whole
// screen; it stands among the others only where the user shows it.
func (id Pane) OnDemand() bool { return id == Settings || id == Ablation }

// order is the panes that are wanted, in the order in which they are kept: those
// that the user shows come before the arrangement's own.
func (a *Arrangement) order(c Choice) []Pane {
	var own Set
	panes := append([]Pane(nil), a.panes...)
	for _, id := range panes {
		own[id] = true
	}
	for id := range NumPanes {
		if !own[id] && (c.Show[id] || a.everything() && !id.OnDemand()) {
			panes = append(panes, id)
		}
	}
	var first, rest []Pane
	for _, id := range panes {
		switch {
		case c.Hide[id], c.Without[id]:
		case c.Show[id]:
			first = append(first, id)
		default:
			rest = append(rest, id)
		}
	}
	return append(first, rest...)
}

// plan is the first of the plans that shows most panes of an order in w by h
// cells. It takes panes as long as they fit, so that more room never costs one.
func (a *Arrangement) plan(order []Pane, insisted Set, w, h int) node {
	best, most := node{}, 0
	for _, p := range a.plans {
		if p.from > w {
			continue
		}
		var placed Set
		p.panes(&placed)
		for _, well := range []bool{true, false} {
			got, n, all := a.fill(p.node, placed, order, insisted, w, h, well)
			if n > most && (!p.whole || n == len(order)) {
				best, most = got, n
			}
			if most == len(order) {
				return best
			}
			if all { // none beneath: packing is all the same
				break
			}
		}
	}
	if most == 0 && len(order) > 0 {
		return one(order[0])
	}
	return best
}

// fill is a plan with as many panes of an order as fit, and their number. Panes
// that the plan has no place for stand in rows beneath, packed well or tight; all
// says that there were none among those tried.
func (a *Arrangement) fill(p node, placed Set, order []Pane, insisted Set, w, h int, well bool) (filled node, n int, all bool) {
	var keep Set
	var beneath []Pane
	for n, id := range order {
		keep[id] = true
		if !placed[id] {
			beneath = append(beneath, id)
		}
		next := with(p, &keep, rows(beneath, w, well))
		if !next.fits(w, h, false) || a.guest(id) && !insisted[id] && !next.fits(w, h, true) {
			return filled, n, len(beneath) == 0
		}
		filled = next
	}
	return filled, len(order), len(beneath) == 0
}

// with is a plan with only some of its panes, and rows beneath.
func with(p node, keep *Set, rows []node) node {
	q, ok := p.prune(keep)
	switch {
	case !ok:
		return stacked(rows...)
	case len(rows) == 0:
		return q
	case q.axis == down:
		return stacked(append(q.parts[:len(q.parts):len(q.parts)], rows...)...)
	}
	return stacked(append([]node{q}, rows...)...)
}

// guest says whether a pane comes only where all panes can use their room well.
func (a *Arrangement) guest(id Pane) bool {
	if !a.everything() {
		return false
	}
	for _, core := range a.panes[:a.core] {
		if core == id {
			return false
		}
	}
	return true
}

// rows packs panes side by side, as many in a row as can use their width well,
// or as fit.
func rows(ids []Pane, w int, well bool) []node {
	var out []node
	var line []Pane
	used := 0
	for _, id := range ids {
		e := id.extent(across, 0)
		width := e.least
		if well {
			width = e.good
		}
		if len(line) > 0 && used+width > w {
			out, line, used = append(out, row(line...)), nil, 0
		}
		line, used = append(line, id), used+width
	}
	if len(line) > 0 {
		out = append(out, row(line...))
	}
	return out
}
