// Package layout is where everything stands: from a size in cells, an arrangement and
// what the user shows and hides to the rectangles of the screen's parts. All of it is
// pure functions; arrangements.go says which panes, divide.go how room is shared.
package layout

import "fmt"

// Pane is a pane by its place in the list that a Deck was made of.
type Pane int

// None is where no pane is.
const None Pane = -1

// MaxPanes is how many panes a deck may have.
const MaxPanes = 32

// Entry is what a layout knows of a pane.
type Entry struct {
	Name string
	// Shape is what the pane wants of the screen. Roomy is what it wants where an arrangement
	// gives it room for all that it can show; its Shape where that is zero.
	Shape, Roomy Shape
	// Joins are the arrangements that the pane is part of though none of their plans names it:
	// it has a row of its own there, beneath the others.
	Joins []string
}

// Set is a set of panes.
type Set [MaxPanes]bool

// Rect is a rectangle of cells; a pane that is not shown has none.
type Rect struct{ X, Y, W, H int }

// Empty says whether the rectangle has no cells.
func (r Rect) Empty() bool { return r.W <= 0 || r.H <= 0 }

// Contains says whether a cell lies in the rectangle.
func (r Rect) Contains(x, y int) bool {
	return x >= r.X && x < r.X+r.W && y >= r.Y && y < r.Y+r.H
}

// The smallest screen, and the height from which settings and actions have lines
// of their own in the footer.
const (
	MinWidth, MinHeight = 60, 15
	twoLineFooter       = 24
)

// Layout is where everything stands on a screen of one size.
type Layout struct {
	W, H     int
	TooSmall bool
	Header   Rect
	Footer   Rect
	Panes    [MaxPanes]Rect
	Wanted   Set // by the arrangement and the user, with or without room
	Put      Set // of the arrangement, and hidden by the user
	Unseen   int // panes that are hidden for want of room or by the user, where none is zoomed
}

// Crowded lists the panes that are wanted and for which there is no room.
func (l *Layout) Crowded() []Pane {
	var ids []Pane
	for id, r := range l.Panes {
		if l.Wanted[id] && r.Empty() {
			ids = append(ids, Pane(id))
		}
	}
	return ids
}

// List is the panes of the set.
func (s *Set) List() (ids []Pane) {
	for id, in := range s {
		if in {
			ids = append(ids, Pane(id))
		}
	}
	return ids
}

// Shown is the number of panes on screen.
func (l *Layout) Shown() int {
	n := 0
	for _, r := range l.Panes {
		if !r.Empty() {
			n++
		}
	}
	return n
}

// At is the pane at a cell, None where there is none.
func (l *Layout) At(x, y int) Pane {
	for id, r := range l.Panes {
		if r.Contains(x, y) {
			return Pane(id)
		}
	}
	return None
}

// Zoom gives all the room of the panes to one.
func (l *Layout) Zoom(id Pane) {
	if l.TooSmall {
		return
	}
	l.Panes = [MaxPanes]Rect{}
	l.Panes[id] = l.Body()
}

// Body is the room between header and footer.
func (l *Layout) Body() Rect { return Rect{0, l.Header.H, l.W, l.Footer.Y - l.Header.H} }

// Choice is what the user shows and hides beside what an arrangement does, and the panes
// that the workload has nothing for.
type Choice struct{ Show, Hide, Without Set }

// Arrange lays the screen out. The header, the footer and the panes tile it
// without gap or overlap.
func Arrange(w, h int, a *Arrangement, c Choice) Layout {
	l := Layout{W: max(w, 0), H: max(h, 0)}
	order := a.order(c)
	for _, id := range order {
		l.Wanted[id] = true
	}
	for _, id := range a.order(Choice{Without: c.Without}) {
		l.Put[id] = !l.Wanted[id]
	}
	if w < MinWidth || h < MinHeight {
		l.TooSmall = true
		return l
	}
	foot := 1
	if h >= twoLineFooter {
		foot = 2
	}
	l.Header = Rect{0, 0, w, 1}
	l.Footer = Rect{0, h - foot, w, foot}
	plan := a.plan(order, c.Show, w, h-1-foot)
	plan.place(l.Body(), &l.Panes)
	l.Unseen = len(l.Crowded()) + len(l.Put.List())
	return l
}

// Check says what is wrong with a layout: a gap, an overlap or a part off the
// screen.
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
	if area != l.W*l.H { // nothing overlaps, so this is a gap
		return fmt.Errorf("%d of %d cells are covered", area, l.W*l.H)
	}
	return nil
}
