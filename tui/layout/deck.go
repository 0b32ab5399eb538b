package layout

import "slices"

// Deck is the panes of a screen, and the arrangements that they may stand in.
type Deck struct {
	Panes        []Entry
	Arrangements []Arrangement // the first has every pane
}

// Arrangement is a choice of panes and the plans by which they may stand.
type Arrangement struct {
	Name  string
	deck  *Deck
	panes []Pane // in the order in which they are kept
	core  []Pane // that come as soon as they fit; nil for all
	plans []plan
}

// plan is where panes may stand on a screen of a width or more.
type plan struct {
	from int
	node
	whole bool // only where every pane that is wanted has room
}

// New is a deck of panes, whose places in the list name them from then on.
func New(panes []Entry) *Deck {
	if len(panes) > MaxPanes {
		panic("layout: more panes than a set holds")
	}
	d := &Deck{Panes: slices.Clone(panes)}
	for i := range d.Panes {
		e := &d.Panes[i]
		if e.Shape.Width.Least == 0 {
			e.Shape = anyShape
		}
		if e.Roomy.Width.Least == 0 {
			e.Roomy = e.Shape
		}
	}
	for _, a := range arranged {
		d.Arrangements = append(d.Arrangements, d.arrangement(a))
	}
	return d
}

// arrangement is a declaration with the panes that there are.
func (d *Deck) arrangement(of declaration) Arrangement {
	a := Arrangement{Name: of.name, deck: d}
	for i, name := range of.panes {
		id := d.Find(name)
		if id == None {
			continue
		}
		a.panes = append(a.panes, id)
		if i < of.core {
			a.core = a.panes
		}
	}
	for id := range d.Panes {
		if slices.Contains(d.Panes[id].Joins, of.name) && !slices.Contains(a.panes, Pane(id)) {
			a.panes = append(a.panes, Pane(id))
		}
	}
	for _, p := range of.plans {
		if n, ok := d.node(p.place); ok {
			a.plans = append(a.plans, plan{p.from, n, p.whole})
		}
	}
	if len(a.plans) == 0 { // of which no pane is there: all that join stand in rows
		a.plans = []plan{{node: node{axis: down}}}
	}
	return a
}

// node is a place with the panes that there are; ok is false where there is none.
func (d *Deck) node(p place) (n node, ok bool) {
	if p.axis == leaf {
		id := d.Find(p.name)
		if id == None {
			return n, false
		}
		shape := &d.Panes[id].Shape
		if p.roomy {
			shape = &d.Panes[id].Roomy
		}
		return node{pane: id, shape: shape}, true
	}
	n.axis = p.axis
	for _, part := range p.parts {
		if q, ok := d.node(part); ok {
			n.parts = append(n.parts, q)
		}
	}
	if len(n.parts) == 1 {
		return n.parts[0], true
	}
	return n, len(n.parts) > 0
}

// Find is the pane of a name, None where there is none.
func (d *Deck) Find(name string) Pane {
	return Pane(slices.IndexFunc(d.Panes, func(e Entry) bool { return e.Name == name }))
}

// Arrangement is the arrangement of a name, the first where there is none.
func (d *Deck) Arrangement(name string) *Arrangement {
	for i := range d.Arrangements {
		if d.Arrangements[i].Name == name {
			return &d.Arrangements[i]
		}
	}
	return &d.Arrangements[0]
}

// order is the panes that are wanted, in the order in which they are kept: those
// that the user shows come before the arrangement's own.
func (a *Arrangement) order(c Choice) []Pane {
	var own Set
	panes := append([]Pane(nil), a.panes...)
	for _, id := range panes {
		own[id] = true
	}
	for id := range a.deck.Panes {
		if !own[id] && c.Show[id] {
			panes = append(panes, Pane(id))
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
		return a.deck.one(order[0])
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
		next := with(p, &keep, a.deck.rows(beneath, w, well))
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
		return under(rows...)
	case len(rows) == 0:
		return q
	case q.axis == down:
		return under(append(q.parts[:len(q.parts):len(q.parts)], rows...)...)
	}
	return under(append([]node{q}, rows...)...)
}

// guest says whether a pane comes only where all panes can use their room well.
func (a *Arrangement) guest(id Pane) bool { return a.core != nil && !slices.Contains(a.core, id) }

// one is a pane of its own shape.
func (d *Deck) one(id Pane) node { return node{pane: id, shape: &d.Panes[id].Shape} }

// rows packs panes side by side, as many in a row as can use their width well,
// or as fit.
func (d *Deck) rows(ids []Pane, w int, well bool) []node {
	var out, line []node
	used := 0
	for _, id := range ids {
		n := d.one(id)
		e := n.extent(across, 0)
		width := e.Least
		if well {
			width = e.Good
		}
		if len(line) > 0 && used+width > w {
			out, line, used = append(out, node{axis: across, parts: line}), nil, 0
		}
		line, used = append(line, n), used+width
	}
	if len(line) > 0 {
		out = append(out, node{axis: across, parts: line})
	}
	return out
}
