package pane

import "fmt"

// Scroll is which rows of a list are on screen. A pane fits it to what it draws
// and hands it the keys.
type Scroll struct {
	top, rows, n int // first row on screen, rows there are room for, rows there are
}

// Fit adopts the number of rows and the room for them, and returns the rows from
// first on, last excluded, that are on screen.
func (s *Scroll) Fit(n, rows int) (first, last int) {
	s.n, s.rows = max(n, 0), max(rows, 0)
	s.top = min(max(s.top, 0), max(0, s.n-s.rows))
	return s.top, min(s.n, s.top+s.rows)
}

// Move handles a key that scrolls; false where it is not one.
func (s *Scroll) Move(key string) bool {
	by, ok := paged(key, s.rows, s.n)
	if ok {
		s.top += by
		s.Fit(s.n, s.rows)
	}
	return ok
}

// paged is how many rows a key goes down in a list of n of which rows are on
// screen: by a row, a page that keeps one, or to its ends; ok is false where the
// key is not one of these.
func paged(key string, rows, n int) (by int, ok bool) {
	page := max(1, rows-1)
	by, ok = map[string]int{"up": -1, "down": 1, "pgup": -page, "pgdown": page, "home": -n, "end": n}[key]
	return by, ok
}

// Above is how many rows are beyond the upper edge.
func (s *Scroll) Above() int { return s.top }

// Below is how many rows are beyond the lower edge.
func (s *Scroll) Below() int { return max(0, s.n-s.top-s.rows) }

// note tells how much is out of sight, with a word for what is above and one for
// what is below; empty where nothing is.
func (s *Scroll) note(above, below string) string {
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

// picker is a row of a list that is picked, and the part of the list on screen
// about it.
type picker struct {
	Scroll
	at int
}

// fit is scroll's fit with the picked row on screen.
func (c *picker) fit(n, rows int) (first, last int) {
	c.at = min(max(c.at, 0), max(n-1, 0))
	if c.at < c.top {
		c.top = c.at
	}
	if rows > 0 && c.at >= c.top+rows {
		c.top = c.at - rows + 1
	}
	return c.Scroll.Fit(n, rows)
}

// Move moves the picked row; false where the key is another's.
func (c *picker) Move(key string) bool {
	by, ok := paged(key, c.rows, c.n)
	if ok {
		c.at += by
		c.fit(c.n, c.rows)
	}
	return ok
}
