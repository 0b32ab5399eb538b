package tui

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

var shapes = [numPanes]shape{
	phasesPane:  {w: extent{38, 46, 76, 0, 1}, h: extent{8, 8, 17, 2, 2}},
	picturePane: {w: extent{22, 32, 61, 0, 3}, h: extent{8, 17, 36, 0, 4}, square: true},
	kspacePane:  {w: extent{20, 32, 32, 0, 3}, h: extent{8, 17, 36, 0, 4}, square: true},
	timePane:    {w: extent{36, 52, 140, 0, 6}, h: extent{6, 9, 16, 0, 3}},
	lossPane:    {w: extent{36, 48, 120, 0, 5}, h: extent{6, 9, 16, 0, 3}},
	qualityPane: {w: extent{36, 48, 100, 0, 5}, h: extent{6, 9, 16, 0, 3}},
	cachesPane:  {w: extent{34, 38, 52, 0, 1}, h: extent{5, 8, 13, 0, 1}},
	memoryPane:  {w: extent{22, 36, 48, 0, 1}, h: extent{6, 11, 13, 0, 2}},
	effectsPane: {w: extent{34, 44, 100, 0, 4}, h: extent{5, 8, 13, 0, 2}},
	samplesPane: {w: extent{32, 34, 44, 0, 1}, h: extent{5, 9, 13, 0, 1}},
	logPane:     {w: extent{36, 52, 100, 0, 4}, h: extent{4, 9, 13, 0, 1}},

	settingsPane: {w: extent{60, 116, 200, 0, 2}, h: extent{8, 24, 60, 0, 2}},
	ablationPane: {w: extent{60, 104, 140, 0, 2}, h: extent{6, 16, 20, 0, 1}},
}

// anyShape is that of a pane that says nothing about its own.
var anyShape = shape{w: extent{36, 44, 80, 0, 2}, h: extent{6, 9, 14, 0, 1}}

// extent is what the pane wants along an axis where it has cross cells along the
// other; 0 where that is not known yet.
func (id paneID) extent(a axis, cross int) extent {
	s := shapes[id]
	if s.w.least == 0 {
		s = anyShape
	}
	e := s.extent(a, cross)
	if id == picturePane && a == across && cross > 0 { // the truth beside it from one and a half widths on
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

// The panes that lead an arrangement have room for all they can show: phases for
// layers, roofline and waterfall beside the bars, memory for its curve.
var (
	leadPhases = shape{w: extent{38, 60, tiledWidth + 4, tiledWidth + 4 - 60, 2}, h: extent{8, 17, tiledHeight + 8, 0, 3}}
	leadMemory = shape{w: extent{22, 52, 100, 0, 3}, h: extent{6, 12, memoryBothHeight + 4, 0, 3}}
)

// wideEffects have room for all columns, and for the forest beside them.
var wideEffects = shape{w: extent{34, 100, effectForestFrom + 4, effectForestFrom + 4 - 100, 4}, h: extent{5, 12, 18, 0, 3}}

// arrangement is a choice of panes and the plans by which they may stand. panes
// are in the order in which they are kept: where there is no room, the last ones
// go first.
type arrangement struct {
	name  string
	panes []paneID
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

// arrangements are what the key w goes through.
var arrangements = []arrangement{
	{
		name: "everything",
		panes: []paneID{phasesPane, picturePane, cachesPane, effectsPane, lossPane, timePane, kspacePane, memoryPane,
			qualityPane, samplesPane, logPane},
		core: 8,
		plans: []plan{
			{from: veryWide, node: stacked(row(phasesPane, picturePane, kspacePane), row(timePane, lossPane, qualityPane), row(cachesPane, memoryPane, samplesPane),
				beside(sized(effectsPane, wideEffects), one(logPane))), whole: true},
			{from: wide, node: stacked(row(phasesPane, picturePane, kspacePane), row(timePane, lossPane, qualityPane), row(cachesPane, memoryPane, effectsPane))},
			{from: wide, node: stacked(row(phasesPane, picturePane, kspacePane), row(timePane, lossPane), row(cachesPane, memoryPane, effectsPane))},
			{from: 0, node: stacked(
				beside(column(phasesPane, lossPane, timePane), column(picturePane, kspacePane, memoryPane)),
				row(cachesPane, effectsPane))},
			{from: 0, node: stacked(
				beside(column(phasesPane, lossPane, timePane), column(picturePane, kspacePane, memoryPane)),
				one(cachesPane), one(effectsPane))},
			{from: wide, node: stacked(row(phasesPane, picturePane, kspacePane, lossPane), row(cachesPane, effectsPane, timePane, memoryPane))},
		},
	},
	{
		name:  "timing",
		panes: []paneID{phasesPane, effectsPane, timePane, cachesPane},
		plans: []plan{
			{from: veryWide, node: stacked(beside(sized(phasesPane, leadPhases), one(timePane)), beside(one(cachesPane), sized(effectsPane, wideEffects)))},
			{from: wide, node: stacked(beside(sized(phasesPane, leadPhases), one(timePane)), row(cachesPane, effectsPane))},
			{from: 0, node: stacked(sized(phasesPane, leadPhases), one(timePane), row(cachesPane, effectsPane))},
			{from: 0, node: stacked(sized(phasesPane, leadPhases), one(timePane), one(effectsPane), one(cachesPane))},
		},
	},
	{
		name:  "quality",
		panes: []paneID{picturePane, qualityPane, lossPane, kspacePane, samplesPane},
		plans: []plan{
			{from: wide, node: stacked(row(picturePane, kspacePane, samplesPane), row(qualityPane, lossPane))},
			{from: 0, node: beside(column(qualityPane, lossPane, samplesPane), column(picturePane, kspacePane))},
			{from: 0, node: stacked(row(picturePane, kspacePane), one(qualityPane), one(lossPane), one(samplesPane))},
		},
	},
	{
		name:  "memory",
		panes: []paneID{memoryPane, cachesPane, effectsPane, timePane},
		plans: []plan{
			{from: veryWide, node: stacked(beside(sized(memoryPane, leadMemory), one(timePane)), beside(one(cachesPane), sized(effectsPane, wideEffects)))},
			{from: wide, node: stacked(beside(sized(memoryPane, leadMemory), one(timePane)), row(cachesPane, effectsPane))},
			{from: 0, node: stacked(sized(memoryPane, leadMemory), one(timePane), row(cachesPane, effectsPane))},
			{from: 0, node: stacked(sized(memoryPane, leadMemory), one(timePane), one(cachesPane), one(effectsPane))},
		},
	},
}

// findArrangement is the arrangement of a name, the first where there is none.
func findArrangement(name string) *arrangement {
	for i := range arrangements {
		if arrangements[i].name == name {
			return &arrangements[i]
		}
	}
	return &arrangements[0]
}

// everything says whether the arrangement shows every pane for which there is
// room.
func (a *arrangement) everything() bool { return a == &arrangements[0] }

// onDemand says whether a pane has a key of its own, which shows it on the whole
// screen; it stands among the others only where the user shows it.
func (id paneID) onDemand() bool { return id == settingsPane || id == ablationPane }

// order is the panes that are wanted, in the order in which they are kept: those
// that the user shows come before the arrangement's own.
func (a *arrangement) order(c choice) []paneID {
	var own paneSet
	panes := append([]paneID(nil), a.panes...)
	for _, id := range panes {
		own[id] = true
	}
	for id := range numPanes {
		if !own[id] && (c.show[id] || a.everything() && !id.onDemand()) {
			panes = append(panes, id)
		}
	}
	var first, rest []paneID
	for _, id := range panes {
		switch {
		case c.hide[id], c.without[id]:
		case c.show[id]:
			first = append(first, id)
		default:
			rest = append(rest, id)
		}
	}
	return append(first, rest...)
}

// plan is the first of the plans that shows most panes of an order in w by h
// cells. It takes panes as long as they fit, so that more room never costs one.
func (a *arrangement) plan(order []paneID, insisted paneSet, w, h int) node {
	best, most := node{}, 0
	for _, p := range a.plans {
		if p.from > w {
			continue
		}
		var placed paneSet
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
func (a *arrangement) fill(p node, placed paneSet, order []paneID, insisted paneSet, w, h int, well bool) (filled node, n int, all bool) {
	var keep paneSet
	var beneath []paneID
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
func with(p node, keep *paneSet, rows []node) node {
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
func (a *arrangement) guest(id paneID) bool {
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
func rows(ids []paneID, w int, well bool) []node {
	var out []node
	var line []paneID
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
