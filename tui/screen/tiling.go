package screen

import (
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// tiling places the panes on the screen: the arrangement in use, what the user shows and hides in it, the
// focused pane and the zoomed one. It knows the run only as the snapshot that its panes show.
type tiling struct {
	specs []pane.Spec
	deck  *layout.Deck
	panes []pane.Pane

	layout  layout.Layout
	preset  string               // the arrangement that the user has chosen; empty for none, and not remembered
	own     string               // the arrangement of the run, if the user has chosen none; empty for the first
	without layout.Set           // panes that do not apply to the run
	rows    [layout.MaxPanes]int // of the content of panes in this run
	focus   layout.Pane          // layout.None for none
	zoomed  bool                 // the focused pane fills the screen

	keep    *remembered        // what the user shows and hides
	replays bool               // the run is a recording
	listKey string             // opens the list of panes
	shown   *profiles.Snapshot // nil before the first
}

// show lets the panes show a snapshot.
func (t *tiling) show(s *profiles.Snapshot) {
	for _, p := range t.panes {
		p.Update(s)
	}
}

// adopt notes the snapshot that the panes are about to show, and updates the layout if other panes apply to its run.
func (t *tiling) adopt(s *profiles.Snapshot) {
	t.shown = s
	if without, rows := t.lacking(s), t.content(&s.Run); without != t.without || rows != t.rows {
		t.without, t.rows, t.own = without, rows, ownArrangement(&s.Run.Schema)
		t.relay()
	}
}

// content returns the rows of the content of panes in a run.
func (t *tiling) content(r *profiles.RunInfo) (rows [layout.MaxPanes]int) {
	for id, s := range t.specs {
		if s.Rows != nil {
			rows[id] = s.Rows(r)
		}
	}
	return rows
}

// lacking returns the panes that do not apply to a run, or have nothing to show of it; only
// late ones before the run has described itself.
func (t *tiling) lacking(snap *profiles.Snapshot) (lacks layout.Set) {
	r := &snap.Run
	for id, s := range t.specs {
		if s.Lacks != nil {
			if lacks[id], _ = s.Lacks(snap); lacks[id] {
				continue
			}
		}
		if r.Schema.Workload == "" {
			lacks[id] = s.Late
			continue
		}
		lacks[id] = s.Needs != nil && !s.Needs(r)
	}
	return lacks
}

// whyLacking says why a pane has nothing to show.
func (t *tiling) whyLacking(id layout.Pane) string {
	if s := &t.specs[id]; s.Lacks != nil && t.shown != nil {
		if lacks, why := s.Lacks(t.shown); lacks && why != "" {
			return why
		}
	}
	return "not in this run"
}

// paneName returns a pane's name in this run.
func (t *tiling) paneName(id layout.Pane) string {
	if s := &t.specs[id]; s.Called != nil && t.shown != nil {
		if name := s.Called(&t.shown.Run); name != "" {
			return name
		}
	}
	return t.specs[id].Name
}

func (t *tiling) paneNames(ids []layout.Pane) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = t.paneName(id)
	}
	return strings.Join(names, ", ")
}

// editor returns the pane that edits settings, nil if there is none.
func (t *tiling) editor() (pane.Editor, layout.Pane) {
	for id, p := range t.panes {
		if e, ok := p.(pane.Editor); ok {
			return e, layout.Pane(id)
		}
	}
	return nil, layout.None
}

// editing reports whether a value is typed in the pane that edits settings.
func (t *tiling) editing() bool {
	e, _ := t.editor()
	return e != nil && e.Editing()
}

// settingsChanged redraws the settings pane.
func (t *tiling) settingsChanged() {
	if _, id := t.editor(); id != layout.None {
		t.panes[id].Redraw()
	}
}

// The arrangements of runs whose iterations are batches, and of those of a list of tasks, each
// named after a pane.
const (
	batchArrangement = "throughput"
	taskArrangement  = "task list"
)

// ownArrangement returns the arrangement that a run begins with, "" for the first.
func ownArrangement(s *profiles.Schema) string {
	switch {
	case s.Tasks:
		return taskArrangement
	case s.Item.One != "":
		return batchArrangement
	}
	return ""
}

// arrangement returns the arrangement in use: the user's, else the run's own.
func (t *tiling) arrangement() *layout.Arrangement {
	if t.preset == "" && t.own != "" {
		return t.deck.Arrangement(t.own)
	}
	return t.deck.Arrangement(t.preset)
}

// choice returns the user's choice in the current arrangement, with the panes that do not apply
// to the run.
func (t *tiling) choice() layout.Choice {
	c := t.keep.choice(t.deck, t.arrangement().Name)
	c.Without, c.Replays, c.Rows = t.without, t.replays, t.rows
	return c
}

// arranged returns the unzoomed layout for a choice of panes.
func (t *tiling) arranged(c layout.Choice) layout.Layout {
	return layout.Arrange(t.layout.W, t.layout.H, t.arrangement(), c)
}

// resize places the panes on a screen of w by h cells.
func (t *tiling) resize(w, h int) {
	t.layout = layout.Arrange(w, h, t.arrangement(), t.choice())
	if t.zoomed {
		t.layout.Zoom(t.focus)
	} else if t.focus != layout.None && t.layout.Panes[t.focus].Empty() {
		t.setFocus(layout.None)
	}
	last := t.layout.At(w-1, t.layout.Footer.Y-1)
	for id, p := range t.panes {
		r := t.layout.Panes[id]
		p.SetSize(r.W, r.H)
		corner := ""
		if layout.Pane(id) == last && !t.zoomed {
			corner = t.hiddenPanes((r.W - 4) / 2)
		}
		p.SetCorner(corner)
	}
}

// relay recomputes the layout at the current size.
func (t *tiling) relay() { t.resize(t.layout.W, t.layout.H) }

// repaint draws the panes in other colours.
func (t *tiling) repaint(th *theme.Theme) {
	for _, p := range t.panes {
		p.SetTheme(th)
	}
}

// rearrange changes to the next arrangement, without those named after a pane that does not apply to the run,
// and returns its name.
func (t *tiling) rearrange() string {
	at := 0
	for i := range t.deck.Arrangements {
		if &t.deck.Arrangements[i] == t.arrangement() {
			at = i
		}
	}
	t.zoomed = false
	for range t.deck.Arrangements {
		at = (at + 1) % len(t.deck.Arrangements)
		t.preset = t.deck.Arrangements[at].Name
		if id := t.deck.Find(t.preset); id == layout.None || !t.without[id] {
			break
		}
	}
	t.relay()
	return t.preset
}

// togglePane hides a pane that is on screen, or shows one that is not, with priority over the
// others. Only differences from the arrangement are stored. It returns why that cannot be done, "" if it can.
func (t *tiling) togglePane(id layout.Pane) (why string) {
	a := t.arrangement()
	if t.without[id] {
		if why := t.whyLacking(id); t.specs[id].Lacks != nil {
			return t.paneName(id) + ": " + why
		}
		return noData(t.paneName(id))
	}
	c := t.choice()
	plain := c
	plain.Show[id], plain.Hide[id] = false, false
	whole, without := t.arranged(c), t.arranged(plain)
	switch {
	case !whole.Panes[id].Empty() && whole.Shown() == 1:
		return lastPane
	case !whole.Panes[id].Empty() && !without.Panes[id].Empty():
		c.Show[id], c.Hide[id] = false, true
	case whole.Panes[id].Empty() && c.Show[id] && (t.layout.W < c.ShownAt[0] || t.layout.H < c.ShownAt[1]):
		c.ShownAt = [2]int{t.layout.W, t.layout.H} // here, too
	case !whole.Panes[id].Empty(), c.Show[id], !without.Panes[id].Empty():
		c = plain
	default:
		c.Show[id], c.Hide[id] = true, false
		c.ShownAt = [2]int{t.layout.W, t.layout.H}
	}
	kept := c
	kept.Without, kept.Rows = layout.Set{}, [layout.MaxPanes]int{} // depend on the run, not on the user
	t.keep.choose(t.deck, a.Name, kept)
	if after := t.arranged(c); id == t.focus && !after.Wanted[id] {
		t.zoomed = false
	}
	t.relay()
	if whole = t.arranged(c); c.Show[id] && whole.Panes[id].Empty() {
		return noRoom(t.paneName(id))
	}
	return ""
}

// hiddenPanes describes in at most w cells the panes that do not fit and those hidden by the
// user, by name or by number; "" if there are none.
func (t *tiling) hiddenPanes(w int) string {
	l := &t.layout
	if l.Unseen == 0 {
		return ""
	}
	var parts []string
	if crowded := l.Crowded(); len(crowded) > 0 {
		parts = append(parts, "no room for "+t.paneNames(crowded))
	}
	if put := l.Put.List(); len(put) > 0 {
		parts = append(parts, "by choice "+t.paneNames(put))
	}
	all := strconv.Itoa(l.Unseen) + " hidden"
	n := unit.About(int64(l.Unseen), "pane", "panes") + " hidden"
	return words.Fitting(w, all+": "+strings.Join(parts, " · ")+" ("+t.listKey+")", n+", "+t.listKey+" lists them",
		n+": "+t.listKey, all)
}

// setFocus focuses a pane, or none.
func (t *tiling) setFocus(id layout.Pane) {
	t.focus = id
	for i, p := range t.panes {
		p.SetFocus(layout.Pane(i) == id)
	}
}

// cycleFocus moves the focus to the next or previous pane on screen in reading order. If a pane
// is zoomed, the newly focused one replaces it.
func (t *tiling) cycleFocus(step int) {
	order := t.readingOrder()
	if len(order) == 0 {
		return
	}
	at := -1
	for i, id := range order {
		if id == t.focus {
			at = i
		}
	}
	if at < 0 && step < 0 {
		at = 0
	}
	t.setFocus(order[(at+step+len(order))%len(order)])
	if t.zoomed {
		t.relay()
	}
}

// hints returns the focused pane's own keys as the user has them.
func (t *tiling) hints(b *bindings) []pane.Hint {
	hints := slices.Clone(t.panes[t.focus].Hints())
	for i, h := range hints {
		hints[i].Key = b.Hint(h.Key)
	}
	return hints
}

// toggleSettings opens the settings pane, or closes it.
func (t *tiling) toggleSettings() {
	id := t.deck.Find(settingsPane)
	if t.focus == id {
		t.closePane()
		return
	}
	t.openPane(id)
}

// readingOrder returns the panes on screen, row by row. If a pane is zoomed, it returns those of
// the unzoomed screen, then those that do not fit.
func (t *tiling) readingOrder() []layout.Pane {
	l := &t.layout
	var crowded []layout.Pane
	if t.zoomed {
		whole := t.arranged(t.choice())
		l, crowded = &whole, whole.Crowded()
	}
	var order []layout.Pane
	for id, r := range l.Panes {
		if r.Empty() {
			continue
		}
		at := len(order)
		for at > 0 {
			before := l.Panes[order[at-1]]
			if before.Y < r.Y || before.Y == r.Y && before.X < r.X {
				break
			}
			at--
		}
		order = append(order[:at], append([]layout.Pane{layout.Pane(id)}, order[at:]...)...)
	}
	return append(order, crowded...)
}

// toggleZoom zooms the focused pane, or unzooms it.
func (t *tiling) toggleZoom() {
	if t.focus == layout.None {
		t.cycleFocus(1)
	}
	if t.focus == layout.None {
		return
	}
	t.zoomed = !t.zoomed
	t.relay()
}

// openPane focuses a pane, and zooms it if it does not fit. None means that this screen does not
// have the pane.
func (t *tiling) openPane(id layout.Pane) {
	if id == layout.None {
		return
	}
	t.setFocus(id)
	if t.layout.Panes[id].Empty() || t.zoomed {
		t.zoomed = true
		t.relay()
	}
}

// closePane removes the focus and the zoom.
func (t *tiling) closePane() {
	t.zoomed = false
	t.setFocus(layout.None)
	t.relay()
}

// draw draws the panes, which tile the frame between header and footer.
func (t *tiling) draw(frame *chart.Canvas) {
	for id, r := range t.layout.Panes {
		if !r.Empty() {
			frame.Lay(t.panes[id].Cells(), r.X, r.Y)
		}
	}
}
