package widget

import "fmt"

// Scroll holds the visible part of a list. Its owner fits it to the drawn rows and passes it the keys.
type Scroll struct {
	top, rows, n int // first visible row, room in rows, length of the list
}

// Fit sets the length of the list and the room in rows, and returns the visible rows, from first
// up to but excluding last.
func (s *Scroll) Fit(n, rows int) (first, last int) {
	s.n, s.rows = max(n, 0), max(rows, 0)
	s.top = min(max(s.top, 0), max(0, s.n-s.rows))
	return s.top, min(s.n, s.top+s.rows)
}

// Move handles a key that scrolls; false for other keys.
func (s *Scroll) Move(key string) bool {
	by, ok := Paged(key, s.rows, s.n)
	if ok {
		s.top += by
		s.Fit(s.n, s.rows)
	}
	return ok
}

// Paged returns the number of rows that a key moves down in a list of n with the given number
// visible: one row, a page less one row, or to an end. ok is false for other keys.
func Paged(key string, rows, n int) (by int, ok bool) {
	page := max(1, rows-1)
	by, ok = map[string]int{"up": -1, "down": 1, "pgup": -page, "pgdown": page, "home": -n, "end": n}[key]
	return by, ok
}

// Around returns the row that a key selects in a list of n that is shown whole, from one end on to the other; ok is
// false for other keys.
func Around(key string, row, n int) (to int, ok bool) {
	switch key {
	case "up", "shift+tab":
		return (row + n - 1) % n, true
	case "down", "tab":
		return (row + 1) % n, true
	case "home":
		return 0, true
	case "end":
		return n - 1, true
	}
	return row, false
}

// ToTop scrolls to the beginning.
func (s *Scroll) ToTop() { s.top = 0 }

// Above returns the number of rows above the visible part.
func (s *Scroll) Above() int { return s.top }

// Below returns the number of rows below the visible part.
func (s *Scroll) Below() int { return max(0, s.n-s.top-s.rows) }

// Note formats the number of hidden rows, labelled above and below; empty if none are hidden.
func (s *Scroll) Note(above, below string) string {
	switch up, down := s.Above(), s.Below(); {
	case up > 0 && down > 0:
		return fmt.Sprintf("%d %s, %d %s", up, above, down, below)
	case up > 0:
		return fmt.Sprintf("%d %s", up, above)
	case down > 0:
		return fmt.Sprintf("%d %s", down, below)
	}
	return ""
}

// List is a list with a selected row, which stays visible.
type List struct {
	Scroll
	At int // the selected row
}

// Fit is Scroll.Fit, with the selected row kept visible.
func (c *List) Fit(n, rows int) (first, last int) {
	c.At = min(max(c.At, 0), max(n-1, 0))
	if c.At < c.top {
		c.top = c.At
	}
	if rows > 0 && c.At >= c.top+rows {
		c.top = c.At - rows + 1
	}
	return c.Scroll.Fit(n, rows)
}

// Move moves the selection; false for other keys.
func (c *List) Move(key string) bool {
	by, ok := Paged(key, c.rows, c.n)
	if ok {
		c.At += by
		c.Fit(c.n, c.rows)
	}
	return ok
}

// Select selects a row of a list of n.
func (c *List) Select(at, n int) { c.At, c.n = at, n }

// Follow selects a row of a list of n that was elsewhere before, and keeps it in its place on the screen
// if the list is scrolled.
func (c *List) Follow(at, n int) {
	if c.top > 0 {
		c.top += at - c.At
	}
	c.Select(at, n)
}
