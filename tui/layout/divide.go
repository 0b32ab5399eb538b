package layout

// This file divides space. A plan is a tree of panes, side by side or stacked, each part of which
// has a minimum, a good and a maximum size.

// axis is the direction in which parts are placed.
type axis uint8

const (
	leaf   axis = iota // one pane
	across             // parts side by side
	down               // parts stacked
)

// node is a pane with a shape, or parts that share a rectangle.
type node struct {
	axis  axis
	pane  Pane
	shape *Shape
	parts []node
}

// under stacks parts.
func under(parts ...node) node { return node{axis: down, parts: parts} }

// prune returns the tree with only the panes of a set; ok is false if none is left.
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

// listing returns the tree with panes as high as the rows of their content, where their shape is so.
func (n node) listing(rows *[MaxPanes]int) node {
	if n.axis == leaf {
		n.shape = n.shape.listing(rows[n.pane])
		return n
	}
	parts := make([]node, len(n.parts))
	for i, p := range n.parts {
		parts[i] = p.listing(rows)
	}
	n.parts = parts
	return n
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

// extent returns the extent of the tree along an axis, given its size cross along the other; 0 if
// not known yet.
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
	// A column of known height estimates the width of its squares as if they got all the spare
	// height. The widths of a row's parts are not known yet.
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

// fits reports whether the tree fits in w by h cells at its minimum size; with well, at its good
// size.
func (n node) fits(w, h int, well bool) bool {
	x, y := n.extent(across, 0), n.extent(down, 0)
	if well {
		return x.Good <= w && y.Good <= h
	}
	return x.Least <= w && y.Least <= h
}

// place sets the rectangle of every pane of the tree. The rectangles tile r.
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

// divide shares total cells: first up to each Least, then Good, then Most, then the rest by
// Weight. The shares add up to total.
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

// raise increases the shares towards their targets, in proportion to what each lacks if there is
// not enough for all, and returns the remainder.
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
