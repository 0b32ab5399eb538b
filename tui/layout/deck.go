package layout

import "slices"

// Deck holds the panes of a screen and their arrangements.
type Deck struct {
	Panes        []Entry
	Arrangements []Arrangement // the first contains every pane
}

// Arrangement is a choice of panes with plans for placing them.
type Arrangement struct {
	Name  string
	deck  *Deck
	panes []Pane // in order of priority
	core  []Pane // shown as soon as they fit; nil for all
	plans []plan
}

// plan places panes on a screen of at least a certain width.
type plan struct {
	from int
	node
	whole bool // applies only if all wanted panes fit
}

// New returns a deck of panes. A Pane is an index into the list.
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

// arrangement returns a declared arrangement, restricted to existing panes.
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
	if len(a.plans) == 0 { // none of its panes exists: the joining panes are placed in rows
		a.plans = []plan{{node: node{axis: down}}}
	}
	return a
}

// node returns a place, restricted to existing panes; ok is false if there are none.
func (d *Deck) node(p place) (n node, ok bool) {
	if p.axis == leaf {
		id := d.Find(p.name)
		if id == None {
			return n, false
		}
		shape := &d.Panes[id].Shape
		switch {
		case p.roomy:
			shape = &d.Panes[id].Roomy
		case p.shape != nil:
			shape = p.shape
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

// Find returns the pane with the given name, None if there is none.
func (d *Deck) Find(name string) Pane {
	return Pane(slices.IndexFunc(d.Panes, func(e Entry) bool { return e.Name == name }))
}

// Arrangement returns the arrangement with the given name, the first if there is none.
func (d *Deck) Arrangement(name string) *Arrangement {
	for i := range d.Arrangements {
		if d.Arrangements[i].Name == name {
			return &d.Arrangements[i]
		}
	}
	return &d.Arrangements[0]
}

// order returns the wanted panes in order of priority: of those that the user shows the insisted ones come before the
// arrangement's own, the others after them.
func (a *Arrangement) order(c Choice, insisted *Set) []Pane {
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
		case insisted[id]:
			first = append(first, id)
		default:
			rest = append(rest, id)
		}
	}
	return append(first, rest...)
}

// plan returns the first plan that shows the most panes of an order in w by h cells. Panes are
// added in order until one does not fit, so that a larger screen never shows fewer.
func (a *Arrangement) plan(order []Pane, c *Choice, insisted Set, w, h int) node {
	best, most := node{}, 0
	for _, p := range a.plans {
		if p.from > w {
			continue
		}
		var placed Set
		p.panes(&placed)
		listed := p.node.listing(&c.Rows)
		for _, pack := range []packing{a.deck.goodRows, a.deck.leastRows, a.deck.lowRows} {
			got, n, all := a.fill(listed, placed, order, insisted, w, h, pack)
			if n > most && (!p.whole || n == len(order)) {
				best, most = got, n
			}
			if most == len(order) {
				return best
			}
			if all { // no rows below, so the packing makes no difference
				break
			}
		}
	}
	if most == 0 && len(order) > 0 {
		return a.deck.one(order[0])
	}
	return best
}

// fill returns a plan with as many panes of an order as fit, and their number. Panes without a
// place in the plan go into rows below; all reports that there were none among those tried.
func (a *Arrangement) fill(p node, placed Set, order []Pane, insisted Set, w, h int, pack packing) (filled node,
	n int, all bool) {
	var keep Set
	var beneath []Pane
	for n, id := range order {
		keep[id] = true
		if !placed[id] {
			beneath = append(beneath, id)
		}
		next := with(p, &keep, pack(beneath, w))
		if !next.fits(w, h, false) || a.guest(id) && !insisted[id] && !next.fits(w, h, true) {
			return filled, n, len(beneath) == 0
		}
		filled = next
	}
	return filled, len(order), len(beneath) == 0
}

// with returns a plan restricted to some of its panes, with rows below.
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

// guest reports whether a pane is shown only if every pane gets its Good size.
func (a *Arrangement) guest(id Pane) bool { return a.core != nil && !slices.Contains(a.core, id) }

// one returns a node for a single pane with its default shape.
func (d *Deck) one(id Pane) node { return node{pane: id, shape: &d.Panes[id].Shape} }

// packing packs panes side by side into rows of w cells.
type packing func(ids []Pane, w int) []node

// goodRows packs as many panes per row as fit at their Good width.
func (d *Deck) goodRows(ids []Pane, w int) []node {
	return d.rows(ids, w, func(e Extent) int { return e.Good })
}

// leastRows packs as many panes per row as fit at their Least width.
func (d *Deck) leastRows(ids []Pane, w int) []node {
	return d.rows(ids, w, func(e Extent) int { return e.Least })
}

func (d *Deck) rows(ids []Pane, w int, width func(Extent) int) []node {
	var out, line []node
	used := 0
	for _, id := range ids {
		n := d.one(id)
		needs := width(n.extent(across, 0))
		if len(line) > 0 && used+needs > w {
			out, line, used = append(out, node{axis: across, parts: line}), nil, 0
		}
		line, used = append(line, n), used+needs
	}
	if len(line) > 0 {
		out = append(out, node{axis: across, parts: line})
	}
	return out
}

// lowRows packs panes into the rows of the least height: unlike full rows, they never need more of it
// on a wider screen.
func (d *Deck) lowRows(ids []Pane, w int) []node {
	heights, begins := make([]int, len(ids)+1), make([]int, len(ids)+1) // of the rows up to a pane; of the last of them
	for end := 1; end <= len(ids); end++ {
		used, high := 0, 0
		for begin := end - 1; begin >= 0; begin-- {
			n := d.one(ids[begin])
			used, high = used+n.extent(across, 0).Least, max(high, n.extent(down, 0).Least)
			if used > w && begin < end-1 {
				break
			}
			if total := heights[begin] + high; begin == end-1 || total < heights[end] {
				heights[end], begins[end] = total, begin
			}
		}
	}
	var out []node
	for end := len(ids); end > 0; end = begins[end] {
		var line []node
		for _, id := range ids[begins[end]:end] {
			line = append(line, d.one(id))
		}
		out = append(out, node{axis: across, parts: line})
	}
	slices.Reverse(out)
	return out
}
