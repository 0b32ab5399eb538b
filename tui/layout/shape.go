package layout

// Shape describes a pane's size requirements, including its frame.
type Shape struct {
	Width, Height Extent
	Square        bool // the drawing is square, with two columns as wide as one row is high
	Pair          bool // a second square fits beside the first from one and a half times its width
	Twins         bool // with Square: the drawing is two squares side by side
	Listing       bool // as high as its content, where the Choice knows the rows of that
}

// Extent is the size of a part along one axis, in cells: the minimum, a good size, and the
// maximum it can use. Beyond Good it grows by at least Leap, because less would stay empty. Space
// beyond Most is shared by Weight.
type Extent struct{ Least, Good, Most, Leap, Weight int }

// Rows and columns of a square pane outside its drawing.
const (
	squareRows    = 3
	squareColumns = 4
)

// frameRows are the rows of a pane's frame.
const frameRows = 2

// listing returns the shape of a pane whose content has some rows, 0 if that is not known.
func (s *Shape) listing(rows int) *Shape {
	if !s.Listing || rows+frameRows <= s.Height.Good {
		return s
	}
	fits := *s
	fits.Height.Good, fits.Height.Most = rows+frameRows, max(s.Height.Most, rows+frameRows)
	return &fits
}

// anyShape is the default shape.
var anyShape = Shape{Width: Extent{36, 44, 80, 0, 2}, Height: Extent{6, 9, 14, 0, 1}}

// extent returns the extent along an axis, given the pane's size cross along the other; 0 if not
// known yet. The size of a square depends on the other axis.
func (s *Shape) extent(a axis, cross int) Extent {
	e := s.Width
	if a == down {
		e = s.Height
	}
	switch {
	case s.Twins && cross > 0 && a == down:
		e.Good = max(e.Least, (cross-squareColumns-1)/4+squareRows)
		e.Most = e.Good
	case s.Twins && cross > 0:
		e.Good = max(e.Least, 4*(cross-squareRows)+squareColumns+1)
		e.Most = e.Good
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
