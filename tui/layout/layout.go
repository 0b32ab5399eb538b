// Package layout computes the rectangles of the screen's parts from its size in cells, an
// arrangement, and the panes that the user shows and hides. All of it is pure functions;
// arrangements.go declares the arrangements, divide.go divides the space.
package layout

import "fmt"

// Pane is a pane's index in the list of its Deck.
type Pane int

// None is no pane.
const None Pane = -1

// MaxPanes is the maximum number of panes in a deck.
const MaxPanes = 32

// Entry describes a pane to the layout.
type Entry struct {
	Name string
	// Shape is the pane's size requirements. Roomy replaces it in arrangements that give the pane
	// extra space; if zero, Shape is used.
	Shape, Roomy Shape
	// Joins names the arrangements that include the pane even though none of their plans places
	// it: it goes into a row below the others.
	Joins []string
}

// Set is a set of panes.
type Set [MaxPanes]bool

// Rect is a rectangle of cells; a hidden pane has an empty one.
type Rect struct{ X, Y, W, H int }

// Empty reports whether the rectangle has no cells.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Contains reports whether a cell lies in the rectangle.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// The minimum size of a screen, and the minimum height for a footer with a line for a replay's
// position.
const (
	MinWidth, MinHeight = 60, 15
	twoLineFooter       = 24
)

// Layout is the arrangement of a screen of one size.
type Layout struct {
	W, H     int
	TooSmall bool
	Header   Rect
	Footer   Rect
	Panes    [MaxPanes]Rect
	Wanted   Set // by the arrangement and the user, whether or not they fit
	Put      Set // panes of the arrangement hidden by the user
	Unseen   int // panes that do not fit or are hidden by the user; zooming does not count
}

// Crowded returns the wanted panes that do not fit.
func (l *Layout) Crowded() []Pane {
	var ids []Pane
	for id, r := range l.Panes {
		if l.Wanted[id] && r.Empty() {
			ids = append(ids, Pane(id))
		}
	}
	return ids
}

// List returns the panes of the set.
func (s *Set) List() (ids []Pane) {
	for id, in := range s {
		if in {
			ids = append(ids, Pane(id))
		}
	}
	return ids
}

// Shown returns the number of panes on screen.
func (l *Layout) Shown() int {
	n := 0
	for _, r := range l.Panes {
		if !r.Empty() {
			n++
		}
	}
	return n
}

// At returns the pane at a cell, None if there is none.
func (l *Layout) At(x, y int) Pane {
	for id, r := range l.Panes {
		if r.Contains(x, y) {
			return Pane(id)
		}
	}
	return None
}

// Zoom gives the whole body to one pane.
func (l *Layout) Zoom(id Pane) {
	if l.TooSmall {
		return
	}
	l.Panes = [MaxPanes]Rect{}
	l.Panes[id] = l.Body()
}

// Body returns the area between header and footer.
func (l *Layout) Body() Rect { return Rect{0, l.Header.H, l.W, l.Footer.Y - l.Header.H} }

// Choice is the panes that the user shows and hides, relative to the arrangement, and those that
// do not apply to the workload.
type Choice struct {
	Show, Hide, Without Set
	// ShownAt is the width and height of the screen on which panes were last shown. On a smaller one they come after
	// the arrangement's own, and only where there is room to spare.
	ShownAt [2]int
	// Replays gives the footer a line for a replay's position, where the screen is high enough.
	Replays bool
	// Rows are those of the content of panes, as far as they are known: 0 for a pane that takes what it gets.
	Rows [MaxPanes]int
}

// Arrange lays out the screen. The header, the footer and the panes tile it without gaps or
// overlaps.
func Arrange(w, h int, a *Arrangement, c Choice) Layout {
	l := Layout{W: max(w, 0), H: max(h, 0)}
	insisted := c.Show
	if w < c.ShownAt[0] || h < c.ShownAt[1] {
		insisted = Set{}
	}
	order := a.order(c, &insisted)
	for _, id := range order {
		l.Wanted[id] = true
	}
	for _, id := range a.order(Choice{Without: c.Without}, &Set{}) {
		l.Put[id] = !l.Wanted[id]
	}
	if w < MinWidth || h < MinHeight {
		l.TooSmall = true
		return l
	}
	foot := 1
	if c.Replays && h >= twoLineFooter {
		foot = 2
	}
	l.Header = Rect{0, 0, w, 1}
	l.Footer = Rect{0, h - foot, w, foot}
	plan := a.plan(order, &c, insisted, w, h-1-foot)
	plan.place(l.Body(), &l.Panes)
	l.Unseen = len(l.Crowded()) + len(l.Put.List())
	return l
}

// Check returns an error if parts overlap, leave a gap or extend beyond the screen.
func (l *Layout) Check() error {
	parts := append([]Rect{l.Header, l.Footer}, l.Panes[:]...)
	area := 0
	for i, r := range parts {
		if r.Empty() {
			continue
		}
		if r.X < 0 || r.Y < 0 || r.X+r.W > l.W || r.Y+r.H > l.H {
			return fmt.Errorf("%+v is off the screen", r)
		}
		area += r.W * r.H
		for _, q := range parts[:i] {
			if !q.Empty() && r.X < q.X+q.W && q.X < r.X+r.W && r.Y < q.Y+q.H && q.Y < r.Y+r.H {
				return fmt.Errorf("%+v overlaps %+v", r, q)
			}
		}
	}
	if area != l.W*l.H { // nothing overlaps, so there is a gap
		return fmt.Errorf("%d of %d cells are covered", area, l.W*l.H)
	}
	return nil
}
