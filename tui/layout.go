package tui

import "strings"

// This file is where everything stands: from a size in cells, an arrangement and
// what the user shows and hides to the rectangles of the screen's parts. All of
// it is pure functions; arrangements.go says which panes, divide.go how room is
// shared.

// paneID names a pane.
type paneID int

const (
	phasesPane paneID = iota
	picturePane
	cachesPane
	lossPane
	effectsPane
	timePane
	kspacePane
	memoryPane
	qualityPane
	samplesPane
	logPane
	settingsPane
	ablationPane
	numPanes
)

var paneNames = [numPanes]string{
	"phases", "reconstruction", "caches", "loss", "effects", "iteration time", "k-space", "memory",
	"quality", "samples", "log", "settings", "ablation",
}

// paneSet is a set of panes.
type paneSet [numPanes]bool

// rect is a rectangle of cells; a pane that is not shown has none.
type rect struct{ x, y, w, h int }

func (r rect) empty() bool { return r.w <= 0 || r.h <= 0 }

func (r rect) contains(x, y int) bool {
	return x >= r.x && x < r.x+r.w && y >= r.y && y < r.y+r.h
}

// The smallest screen, and the height from which settings and actions have lines
// of their own in the footer.
const (
	minWidth, minHeight = 60, 15
	twoLineFooter       = 24
)

// layout is where everything stands on a screen of one size.
type layout struct {
	w, h     int
	tooSmall bool
	header   rect
	footer   rect
	panes    [numPanes]rect
	wanted   paneSet // by the arrangement and the user, with or without room
	put      paneSet // of the arrangement, and hidden by the user
	unseen   int     // panes that are hidden for want of room or by the user, where none is zoomed
}

// crowded lists the panes that are wanted and for which there is no room.
func (l *layout) crowded() []paneID {
	var ids []paneID
	for id := range numPanes {
		if l.wanted[id] && l.panes[id].empty() {
			ids = append(ids, id)
		}
	}
	return ids
}

// hidden says in at most w cells which panes there is no room for and which the user
// hides, or how many; empty where there are none.
func (l *layout) hidden(w int) string {
	if l.unseen == 0 {
		return ""
	}
	var parts []string
	if crowded := l.crowded(); len(crowded) > 0 {
		parts = append(parts, "no room for "+namesOf(crowded))
	}
	if put := l.put.list(); len(put) > 0 {
		parts = append(parts, "by choice "+namesOf(put))
	}
	all := itoa(l.unseen) + " hidden"
	n := plural(int64(l.unseen), "pane", "panes") + " hidden"
	return fitting(w, all+": "+strings.Join(parts, " · ")+" (P)", n+", P lists them", n+": P", all)
}

// list is the panes of the set.
func (s *paneSet) list() (ids []paneID) {
	for id, in := range s {
		if in {
			ids = append(ids, paneID(id))
		}
	}
	return ids
}

// shown is the number of panes on screen.
func (l *layout) shown() int {
	n := 0
	for _, r := range l.panes {
		if !r.empty() {
			n++
		}
	}
	return n
}

// at is the pane at a cell, noPane where there is none.
func (l *layout) at(x, y int) paneID {
	for id, r := range l.panes {
		if r.contains(x, y) {
			return paneID(id)
		}
	}
	return noPane
}

// zoom gives all the room of the panes to one.
func (l *layout) zoom(id paneID) {
	if l.tooSmall {
		return
	}
	l.panes = [numPanes]rect{}
	l.panes[id] = l.body()
}

// body is the room between header and footer.
func (l *layout) body() rect { return rect{0, l.header.h, l.w, l.footer.y - l.header.h} }

// choice is what the user shows and hides beside what an arrangement does, and the panes
// that the workload has nothing for.
type choice struct{ show, hide, without paneSet }

// arrange lays the screen out. The header, the footer and the panes tile it
// without gap or overlap.
func arrange(w, h int, a *arrangement, c choice) layout {
	l := layout{w: max(w, 0), h: max(h, 0)}
	order := a.order(c)
	for _, id := range order {
		l.wanted[id] = true
	}
	for _, id := range a.order(choice{without: c.without}) {
		l.put[id] = !l.wanted[id]
	}
	if w < minWidth || h < minHeight {
		l.tooSmall = true
		return l
	}
	foot := 1
	if h >= twoLineFooter {
		foot = 2
	}
	l.header = rect{0, 0, w, 1}
	l.footer = rect{0, h - foot, w, foot}
	plan := a.plan(order, c.show, w, h-1-foot)
	plan.place(l.body(), &l.panes)
	l.unseen = len(l.crowded()) + len(l.put.list())
	return l
}
