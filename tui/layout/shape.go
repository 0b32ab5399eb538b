package layout

// Shape is what a pane wants of the screen, frame included.
type Shape struct {
	Width, Height Extent
	Square        bool // its drawing is a square: two columns are as wide as a row is high
	Pair          bool // from one and a half widths on another square may stand beside it
}

// Extent is what a part wants along one axis, in cells: what it cannot do
// without, what it can use well, and what it can use at all. From Good to Most it
// takes a step of at least Leap: less would stay empty. What nobody can use is
// shared by Weight.
type Extent struct{ Least, Good, Most, Leap, Weight int }

// Rows and columns that a square drawing's pane needs besides it.
const (
	squareRows    = 3
	squareColumns = 4
)

// anyShape is that of a pane that says nothing about its own.
var anyShape = Shape{Width: Extent{36, 44, 80, 0, 2}, Height: Extent{6, 9, 14, 0, 1}}

// extent is what a pane of this shape wants along an axis where it has cross cells along
// the other; 0 where that is not known yet. A square follows the other axis.
func (s *Shape) extent(a axis, cross int) Extent {
	e := s.Width
	if a == down {
		e = s.Height
	}
	switch {
	case s.Square && cross > 0 && a == down:
		e.Good = max(e.Least, (cross-squareColumns)/2+squareRows)
		e.Most = e.Good
	case s.Square && cross > 0:
		e.Good = max(e.Least, 2*(cross-squareRows)+squareColumns)
		e.Most = e.Good
		if s.Pair {
			e.Most, e.Leap = 2*e.Good-squareColumns+1, e.Good/2
		}
	}
	return e
}
