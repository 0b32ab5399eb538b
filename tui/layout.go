package tui

// This file is the arithmetic of the screen: from a size in cells to the
// rectangles of its parts. Everything here is a pure function.

// paneID names a pane. The order is the order in which panes are kept: where
// there is no room, the last ones go first.
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
	numPanes
)

var paneNames = [numPanes]string{
	"phases", "reconstruction", "caches", "loss", "effects", "iteration time", "k-space", "memory",
	"quality", "samples", "log",
}

// rect is a rectangle of cells; a pane that is not shown has none.
type rect struct{ x, y, w, h int }

func (r rect) empty() bool { return r.w <= 0 || r.h <= 0 }

// The smallest screen, and the sizes from which it grows.
const (
	minWidth, minHeight = 60, 15
	wideWidth           = 104 // three panes side by side
	wideHeight          = 22  // three rows of panes
	twoLineFooter       = 24  // settings and actions on lines of their own
	effectsWidth        = 80  // caches and effects side by side
)

// The smallest panes, borders included.
const (
	phasesMinW, phasesMinH = 38, 8
	phasesWideW            = 46
	phasesFullH            = 10 // with the iteration as one bar
	pictureMinW            = 22
	chartMinH              = 6
	cachesMinH             = 5
	kspaceMinW, kspaceMinH = 20, 10
	memoryMinH             = 8
	squareRows             = 3 // rows that a square picture's pane needs besides it
	squareColumns          = 4 // and columns
)

// layout is where everything stands on a screen of one size.
type layout struct {
	w, h     int
	tooSmall bool
	header   rect
	footer   rect
	panes    [numPanes]rect
}

// hidden lists the panes for which there is no room.
func (l *layout) hidden() []paneID {
	var ids []paneID
	for id := range numPanes {
		if l.panes[id].empty() {
			ids = append(ids, id)
		}
	}
	return ids
}

// zoom gives all the room of the panes to one.
func (l *layout) zoom(id paneID) {
	if l.tooSmall {
		return
	}
	l.panes = [numPanes]rect{}
	l.panes[id] = rect{0, l.header.h, l.w, l.footer.y - l.header.h}
}

// arrange lays the screen out. The header, the footer and the panes tile it
// without gap or overlap.
func arrange(w, h int) layout {
	l := layout{w: max(w, 0), h: max(h, 0)}
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
	body := rect{0, 1, w, h - 1 - foot}
	if w >= wideWidth && h >= wideHeight {
		l.wide(body)
	} else {
		l.narrow(body)
	}
	return l
}

// wide has three rows: phases, picture, k-space; two charts; caches, memory,
// effects.
func (l *layout) wide(b rect) {
	bottom := min(max(b.h*30/100, 6), 13)
	middle := min(max(b.h*27/100, chartMinH), b.h-bottom-phasesMinH)
	top := b.h - bottom - middle

	square := 2*(top-squareRows) + squareColumns // width at which a square picture fills the height
	phases := min(max(phasesWideW, b.w-2*square), 76)
	side := max(kspaceMinW, min(square, (b.w-phases)/2))
	picture := b.w - phases - side
	if room := b.w - phasesWideW - side; room >= square*3/2 { // for the truth beside it
		picture = min(room, 2*square-squareColumns+1)
		phases = b.w - picture - side
	} else if picture > square {
		side += (picture - square) / 2
		picture = b.w - phases - side
	}
	l.row(b.x, b.y, top, cell{phasesPane, phases}, cell{picturePane, picture}, cell{kspacePane, side})

	time := b.w * 54 / 100
	l.row(b.x, b.y+top, middle, cell{timePane, time}, cell{lossPane, b.w - time})

	caches := min(b.w*34/100, 52)
	memory := min(b.w*30/100, 48)
	l.row(b.x, b.y+top+middle, bottom,
		cell{cachesPane, caches}, cell{memoryPane, memory}, cell{effectsPane, b.w - caches - memory})
}

// narrow has phases and charts in a column beside the picture, and caches and
// effects beneath. Tall screens put more under each.
func (l *layout) narrow(b rect) {
	bottom := min(max(b.h*27/100, cachesMinH), 9)
	upper := b.h - bottom

	right := min(max(2*(upper-squareRows)+squareColumns, pictureMinW), b.w-phasesMinW, b.w*2/5)
	left := b.w - right
	column := []cell{{phasesPane, phasesMinH}}
	if upper >= phasesFullH+2*chartMinH {
		column[0].extent = phasesFullH
	}
	for _, id := range []paneID{lossPane, timePane} {
		if upper >= phasesMinH+chartMinH*len(column) {
			column = append(column, cell{id, chartMinH})
		}
	}
	l.column(b.x, b.y, left, upper, column...)

	square := (right-squareColumns)/2 + squareRows // height at which a square picture fills the width
	column = []cell{{picturePane, upper}}
	switch {
	case upper >= 2*kspaceMinH+memoryMinH:
		picture := min(square, upper-kspaceMinH-memoryMinH)
		column = []cell{{picturePane, picture}, {kspacePane, min(square, upper-picture-memoryMinH)}, {memoryPane, memoryMinH}}
	case upper >= 2*kspaceMinH:
		column = []cell{{picturePane, min(square, upper-kspaceMinH)}, {kspacePane, kspaceMinH}}
	}
	l.column(b.x+left, b.y, right, upper, column...)

	caches := b.w
	if b.w >= effectsWidth {
		caches = max(36, b.w*44/100)
	}
	l.row(b.x, b.y+upper, bottom, cell{cachesPane, caches}, cell{effectsPane, b.w - caches})
}

// cell is a pane and its extent along a row or a column.
type cell struct {
	id     paneID
	extent int
}

func (l *layout) row(x, y, h int, cells ...cell) {
	for _, c := range cells {
		if c.extent > 0 {
			l.panes[c.id] = rect{x, y, c.extent, h}
			x += c.extent
		}
	}
}

// column stacks panes over height h; what is left over is shared among those
// after the first, or goes to the first where it is alone.
func (l *layout) column(x, y, w, h int, cells ...cell) {
	spare := h
	for _, c := range cells {
		spare -= c.extent
	}
	for i, c := range cells {
		grow := spare / (len(cells) - i)
		if i == 0 && len(cells) > 1 {
			grow = 0
		}
		spare -= grow
		l.panes[c.id] = rect{x, y, w, c.extent + grow}
		y += c.extent + grow
	}
}
