package layout

// This file is how room is shared: a plan is a tree of panes beside and under
// each other, and every part of it says how much it needs, how much it can use
// well and how much it can use at all.

// axis is a direction in which parts follow one another.
type axis uint8

const (
	leaf   axis = iota // one pane
	across             // parts side by side
	down               // parts under each other
)

// node is a pane of a shape, or parts that share a rectangle.
type node struct {
	axis  axis
	pane  Pane
	shape *Shape
	parts []node
}

// under is parts under each other.
func under(parts ...node) node { return node{axis: down, parts: parts} }

// prune is the tree with only the panes of a set; ok is false where none is left.
func (n node) prune(keep *Set) (pruned node, ok bool) {
	if n.axis == leaf {
		return n, keep[n.pane]
	}
	out := node{axis: n.axis}
	for _, p := range n.parts {
		if q, ok := p.prune(keep); ok {
			out.parts = append(out.parts, q)
		}
	}
	if len(out.parts) == 1 {
		return out.parts[0], true
	}
	return out, len(out.parts) > 0
}

// panes adds the panes of the tree to a set.
func (n node) panes(to *Set) {
	if n.axis == leaf {
		to[n.pane] = true
	}
	for _, p := range n.parts {
		p.panes(to)
	}
}

// extent is what the tree wants along an axis where it has cross cells along the
// other; 0 where that is not known yet.
func (n node) extent(a axis, cross int) Extent {
	if n.axis == leaf {
		return n.shape.extent(a, cross)
	}
	var sum Extent
	if n.axis == a {
		for _, p := range n.parts {
			e := p.extent(a, cross)
			sum.Least, sum.Good, sum.Most = sum.Least+e.Least, sum.Good+e.Good, sum.Most+e.Most
			sum.Weight = max(sum.Weight, e.Weight)
		}
		return sum
	}
	// A column of a known height says how wide its squares would be, where the
	// others leave them all they can; how wide a row's parts will be is open.
	spare := 0
	if a == across && cross > 0 {
		spare = max(cross-n.extent(other(a), 0).Least, 0)
	}
	for _, p := range n.parts {
		part := 0
		if a == across && cross > 0 {
			part = p.extent(other(a), 0).Least + spare
		}
		e := p.extent(a, part)
		sum.Least, sum.Good, sum.Most = max(sum.Least, e.Least), max(sum.Good, e.Good), max(sum.Most, e.Most)
		sum.Weight = max(sum.Weight, e.Weight)
	}
	return sum
}

func other(a axis) axis { return across + down - a }

// fits says whether the tree has the room that it cannot do without; well asks
// for the room that it can use well.
func (n node) fits(w, h int, well bool) bool {
	x, y := n.extent(across, 0), n.extent(down, 0)
	if well {
		return x.Good <= w && y.Good <= h
	}
	return x.Least <= w && y.Least <= h
}

// place gives every pane of the tree its rectangle. The rectangles tile r.
func (n node) place(r Rect, panes *[MaxPanes]Rect) {
	if n.axis == leaf {
		panes[n.pane] = r
		return
	}
	total, cross := r.W, r.H
	if n.axis == down {
		total, cross = r.H, r.W
	}
	wants := make([]Extent, len(n.parts))
	for i, p := range n.parts {
		wants[i] = p.extent(n.axis, cross)
	}
	for i, given := range divide(total, wants) {
		part := r
		if n.axis == across {
			part.W, r.X = given, r.X+given
		} else {
			part.H, r.Y = given, r.Y+given
		}
		n.parts[i].place(part, panes)
	}
}

// divide shares total cells: first what is needed, then what is used well, then
// what is used at all, then the rest by weight. The shares add up to total.
func divide(total int, wants []Extent) []int {
	given := make([]int, len(wants))
	for i, e := range wants {
		given[i] = min(e.Least, total)
		total -= given[i]
	}
	total = raise(given, total, func(i int) int { return wants[i].Good })
	for i, e := range wants {
		if e.Leap > 0 && given[i] < e.Most && total >= min(e.Leap, e.Most-given[i]) {
			step := min(total, e.Most-given[i])
			given[i], total = given[i]+step, total-step
		}
	}
	total = raise(given, total, func(i int) int {
		if wants[i].Leap > 0 {
			return 0
		}
		return wants[i].Most
	})
	weights := 0
	for _, e := range wants {
		weights += max(e.Weight, 1)
	}
	for i, e := range wants {
		step := total * max(e.Weight, 1) / weights
		given[i], total, weights = given[i]+step, total-step, weights-max(e.Weight, 1)
	}
	return given
}

// raise lifts every share towards a target, in proportion to what it lacks where
// there is not enough for all, and returns what is left.
func raise(given []int, spare int, target func(int) int) int {
	lacks := 0
	for i := range given {
		lacks += max(target(i)-given[i], 0)
	}
	for i := range given {
		lack := max(target(i)-given[i], 0)
		if lack == 0 {
			continue
		}
		step := min(lack, (spare*lack+lacks/2)/lacks)
		given[i], spare, lacks = given[i]+step, spare-step, lacks-lack
	}
	return spare
}
