package screen

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/transport"
	"prismtop/tui/words"
)

// header is the line above the panes in one frame. Each of its fields has a slot that depends only on the screen's
// width, so that fields appear, disappear and grow without moving the others.
type header struct {
	snap      *profiles.Snapshot // nil before the first
	width     int
	ascii     bool
	watches   bool               // another screen operates the run
	position  *profiles.Position // of a replay, nil for none
	state     profiles.State     // as requested or as reported
	paused    bool               // likewise
	threads   int
	troubles  []profiles.Alert
	alertsKey string // lists them
}

// headerField names a field of the header.
type headerField int

const (
	brandField  headerField = iota
	objectField             // with its sizes if the slot is wide enough
	deviceField
	precisionField
	unitField
	iterField
	rateField
	othersField
	ablationField
	alertsField
	clockField
	leftField
	stateField
	numHeaderFields
)

// headerSlot is the width of a field on screens with at least from columns. If several slots of a
// field apply, the last one is used.
type headerSlot struct {
	field headerField
	from  int
	w     int
}

// headerSlots lists all slots by the minimum width of their screen: narrower screens drop them in
// reverse order.
var headerSlots = []headerSlot{
	{brandField, 0, 8}, {unitField, 0, 16}, {othersField, 0, 11}, {alertsField, 0, 6}, {stateField, 0, 11},
	{clockField, 68, 8},
	{rateField, rateFrom, 10},
	{objectField, objectFrom, 10},
	{precisionField, 102, 6},
	{alertsField, 110, 13},
	{iterField, 120, 10},
	{ablationField, ablationFrom, 11},
	{objectField, 145, sizedObject},
	{deviceField, 163, 14},
	{leftField, leftFrom, 13},
	{objectField, 184, 27},
	{precisionField, 194, 16},
	{othersField, 200, 19},
	{precisionField, 212, 28},
}

// headerGap is the space between two fields. The two warning fields, which are usually empty, are
// closer to their neighbours on a narrow screen.
const headerGap = 2

func gapBefore(f headerField, w int) int {
	switch {
	case w < 145 && (f == othersField || f == alertsField), w < 94 && f == clockField:
		return headerGap - 1
	}
	return headerGap
}

// headerGroups are the fields in three groups: what runs, its progress, and its state.
var headerGroups = [3][]headerField{
	{brandField, objectField, deviceField, precisionField},
	{unitField, iterField, rateField},
	{othersField, ablationField, alertsField, clockField, leftField, stateField},
}

// headerPlaces returns the positions of the fields on a screen of w columns. A field without a
// slot has zero width.
func headerPlaces(w int) (places [numHeaderFields]layout.Rect) {
	for _, s := range headerSlots {
		if w >= s.from {
			places[s.field] = layout.Rect{W: s.w, H: 1}
		}
	}
	var widths [3]int
	for i, group := range headerGroups {
		for _, f := range group {
			if places[f].W > 0 {
				if widths[i] > 0 {
					widths[i] += gapBefore(f, w)
				}
				widths[i] += places[f].W
			}
		}
	}
	margin, before := 1, gapBefore(othersField, w)
	if widths[0]+widths[1]+widths[2]+headerGap+before+2 > w { // the last slot is wider than most of its contents
		margin = 0
	}
	right := w - margin - widths[2]
	middle := (w - widths[1]) / 2
	middle = max(min(middle, right-before-widths[1]), 1+widths[0]+headerGap)
	for i, x := range []int{1, middle, right} {
		first := true
		for _, f := range headerGroups[i] {
			if places[f].W == 0 {
				continue
			}
			if !first {
				x += gapBefore(f, w)
			}
			places[f].X, first = x, false
			x += places[f].W
		}
	}
	return places
}

// draw draws the line of the header. Two texts with a single cell between them have a line there.
func (h *header) draw(c *chart.Canvas) {
	w := h.width
	line := '│'
	if h.ascii {
		line = '|'
	}
	places, end := headerPlaces(w), 0 // of the text before
	for _, group := range headerGroups {
		for _, f := range group {
			r := places[f]
			if r.W == 0 {
				continue
			}
			if f == objectField {
				r.W += h.besideObject(&places)
			}
			text, style := h.text(f, r.W)
			if text = chart.Cut(text, r.W); text == "" {
				continue
			}
			slot := c.Sub(r.X, 0, r.W, 1)
			slot.Text(0, 0, text, style)
			if end > 0 && end == r.X-1 && text[0] != ' ' {
				c.Set(end, 0, line, theme.Faint)
			}
			end = r.X + chart.Width(text)
		}
	}
}

// besideObject returns the cells after the object's slot that it may take as well: those of
// the precision, in a workload that has none.
func (h *header) besideObject(places *[numHeaderFields]layout.Rect) int {
	object, precision := places[objectField], places[precisionField]
	if h.snap == nil || precision.W == 0 || places[deviceField].W > 0 || words.Precision(h.snap, precision.W) != "" {
		return 0
	}
	return precision.X + precision.W - object.X - object.W
}

// text returns a field's text for w cells, "" if it has none.
func (h *header) text(f headerField, w int) (string, theme.Style) {
	s := h.snap
	switch {
	case f == brandField && h.watches:
		return "watching", theme.Warn
	case f == brandField:
		return "prismtop", theme.Brand
	case f == stateField && h.position != nil:
		return transport.Lamp(*h.position, h.ascii)
	case s == nil && f == stateField:
		return stateLamp(profiles.Preparing, h.ascii)
	case s == nil:
		return "", theme.Plain
	}
	switch f {
	case objectField:
		return objectText(s, w), theme.Strong
	case deviceField:
		if s.Run.Device != "" && s.Run.Device != "cpu" { // the threads compute only what surrounds the plans
			return s.Run.Device + " " + s.Run.Kernels, theme.Faint
		}
		if s.Run.Device != "" {
			kernels := fmt.Sprintf("%s ×%d", s.Run.Kernels, h.threads)
			return words.FittingOrLast(w, s.Run.Device+" "+kernels, kernels, s.Run.Kernels), theme.Faint
		}
	case precisionField:
		return words.Precision(s, w), theme.Faint
	case unitField:
		text := unitText(s, w)
		if text == "" && h.width < objectFrom { // a program without epochs
			text = objectText(s, w)
		}
		return text, theme.Strong
	case iterField:
		return words.Fitting(w, fmt.Sprintf("iter %d", s.Index), "iter "+unit.Count(s.Index)), theme.Plain
	case rateField:
		return h.rateText()
	case othersField:
		return h.sharedText(w)
	case ablationField:
		return ablationText(s, w), theme.Pending
	case alertsField:
		if h.leftBesideOthers(w) {
			return h.leftText()
		}
		return h.alertLamp(w)
	case clockField:
		return fmt.Sprintf("%*s", w, unit.Clock(s.Elapsed)), theme.Plain
	case leftField:
		return h.leftText()
	case stateField:
		if s.CatchingUp {
			return words.CatchingUp, theme.Warn
		}
		if r := &s.Recording; h.state == profiles.Running && r.Path != "" && r.Err == "" {
			return recordingLamp, theme.Good
		}
		return stateLamp(h.state, h.ascii)
	}
	return "", theme.Plain
}

// recordingLamp shows that the run goes on and is recorded.
const recordingLamp = "● rec      "

// Minimum widths at which the time left, the rate and an ablation have their own slots; below,
// they share the slot for other programs. objectFrom is that of the object.
const (
	rateFrom     = 80
	objectFrom   = 94
	leftFrom     = 178
	ablationFrom = 134
)

// sharedText returns the most important of those that do not have their own slots: an ablation,
// other programs, the rate and the time left.
func (h *header) sharedText(w int) (string, theme.Style) {
	if text := ablationText(h.snap, w); text != "" && h.width < ablationFrom {
		return text, theme.Pending
	}
	switch text := othersText(h.snap, w); {
	case text != "" && h.paused: // from the last reading, not updated while paused
		return text, theme.Faint
	case text != "":
		return text, theme.Warn
	case h.width < rateFrom:
		return h.rateText()
	case h.width < leftFrom:
		text, style := h.leftText()
		return words.Fitting(w, text, strings.ReplaceAll(text, " min", "min")), style
	}
	return "", theme.Plain
}

// leftBesideOthers reports whether the time left, in whose place other programs are shown, is in the place of
// alerts, w cells wide: there are none.
func (h *header) leftBesideOthers(w int) bool {
	text, _ := h.leftText()
	width := h.width
	ablates := width < ablationFrom && ablationText(h.snap, w) != ""
	return width >= rateFrom && width < leftFrom && !ablates && othersText(h.snap, w) != "" && len(h.troubles) == 0 &&
		chart.Width(text) <= w
}

// leftText returns the time left, "" if unknown or the run is over.
func (h *header) leftText() (string, theme.Style) {
	switch s := h.snap; {
	case !s.ETAKnown || words.Ended(s.State):
		return "", theme.Plain
	case h.paused:
		return "left (paused)", theme.Faint
	default:
		return "left " + unit.Estimate(s.ETA), theme.Plain
	}
}

// rateText returns the iterations per second, a dash if paused or not known yet, "" if the run is over.
func (h *header) rateText() (string, theme.Style) {
	s := h.snap
	switch {
	case words.Ended(s.State) || s.Index <= 0:
		return "", theme.Plain
	case h.paused || s.CatchingUp:
		return unit.Rate(math.NaN()), theme.Faint
	}
	return unit.Rate(s.Rate), theme.Plain
}

// alertLamp returns the number of active alerts and the key that lists them, in w cells.
func (h *header) alertLamp(w int) (string, theme.Style) {
	alerts := h.troubles
	if len(alerts) == 0 {
		return "", theme.Plain
	}
	worst := alerts[0].Severity
	n, key := int64(len(alerts)), h.alertsKey
	text := words.FittingOrLast(w, unit.About(n, "alert", "alerts")+": "+key, fmt.Sprintf("%d: %s", n, key), key)
	glyph := '▴' // a notice's dot would look like a separator
	if worst == profiles.Critical {
		glyph = pane.AlertGlyph(worst)
	}
	return string(glyph) + " " + text, pane.AlertStyle(worst)
}

// sizedObject is the minimum width at which an object is shown with its sizes.
const sizedObject = 21

// objectText returns the name of the reconstructed object, with its sizes if they fit in w cells.
func objectText(s *profiles.Snapshot, w int) string {
	k := s.Run.KSpace()
	if w < sizedObject || k.Size <= 0 {
		return visible.Text(s.Run.Object)
	}
	sizes := fmt.Sprintf(" %d/%d", k.Size, k.ObjectSize)
	return chart.Cut(visible.Text(s.Run.Object), w-len(sizes)) + sizes
}

// unitText returns the current unit of work and the total number.
func unitText(s *profiles.Snapshot, w int) string {
	switch {
	case !s.InUnits():
		return s.Stage()
	case s.Run.AllUnits() <= 0:
		return ""
	}
	all := s.Run.AllUnits()
	one, now := s.Run.Schema.Unit.One, min(s.Unit+1, all)
	return words.FittingOrLast(w, fmt.Sprintf("%s %*d/%d", one, len(strconv.Itoa(all)), now, all),
		fmt.Sprintf("%s %d/%s", one, now, unit.Count(int64(all))),
		fmt.Sprintf("%s %d", one, now))
}

// stateLamp returns a run's state, padded to a fixed width.
func stateLamp(s profiles.State, ascii bool) (string, theme.Style) {
	lamp, style := "●", theme.Good
	switch s {
	case profiles.Preparing:
		lamp, style = "◌", theme.Faint
	case profiles.Paused:
		if style = theme.Warn; ascii {
			return fmt.Sprintf("|| %-8s", s), style
		}
		lamp = "‖"
	case profiles.Finished:
		lamp = "✓"
	case profiles.Stopped:
		lamp, style = "○", theme.Faint
	case profiles.Failed:
		lamp, style = "✗", theme.Bad
	}
	return fmt.Sprintf("%s %-9s", lamp, s), style
}

// ablationText returns the progress of an ablation in w cells of the header, "" if none is under way.
func ablationText(s *profiles.Snapshot, w int) string {
	a := s.Ablation
	if a == nil || !a.Running {
		return ""
	}
	switch {
	case a.Replication:
		done := fmt.Sprintf("%d/%d", a.Done, a.Groups)
		return words.Fitting(w, "deciding "+done, "decide "+done, "dec. "+done, done)
	case a.Tuning != nil:
		return words.FittingOrLast(w, fmt.Sprintf("tuning, trial %d", a.Done), fmt.Sprintf("tuning %d", a.Done))
	}
	done := fmt.Sprintf("%*d/%d", len(strconv.Itoa(a.Groups)), a.Done, a.Groups)
	return words.FittingOrLast(w, "ablation "+done, "ablate "+done, "abl. "+done, done)
}

// othersText returns the CPU share of other programs for the header, "" if it is not
// considerable.
func othersText(s *profiles.Snapshot, w int) string {
	if !s.Load.Considerable || words.Ended(s.State) {
		return ""
	}
	share := fmt.Sprintf(" %2.0f %%", min(100*s.Load.Foreign, 99))
	return words.FittingOrLast(w, "other programs"+share, "others"+share)
}
