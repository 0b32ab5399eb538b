// Package theme holds every colour of the screen: what each means, and how it
// is said to a terminal of 24-bit, 256, 16 or no colours, on a dark or a light
// ground.
//
// Hues are those of Okabe and Ito's palette, which readers with any of the
// common colour deficiencies can tell apart; nothing is told by colour alone.
// Named styles are indexes of the 256-colour palette also where a terminal could
// do more: they are chosen for their contrast, and cost half the bytes of a 24-bit
// colour on every change of style. Pictures, whose levels the palette is too coarse
// for, use what the terminal has.
package theme

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"
)

// Style is what a cell means. Styles below NumStyles are named; the ones made
// by Shade hold the two levels of a half block, the ones made by Image name a
// picture that the terminal draws.
type Style uint16

// The named styles.
const (
	Plain     Style = iota
	Faint           // units, labels, what is off
	Strong          // the number to look at
	Title           // a pane's name
	Border          // a pane's frame
	Brand           // the program's name
	Key             // a key in the footer and the help
	Good            // better, on, converged
	Bad             // worse, failed
	Warn            // not sure, slow, clipped
	Pending         // asked for, not yet in force
	Phase1          // the phases, in the order of the schema
	Phase2          //
	Phase3          //
	Phase4          //
	Phase5          //
	Phase6          //
	Phase7          //
	Phase8          //
	Line            // the one curve of a chart
	Envelope        // its extremes
	LossOld         // loss on what was measured before
	LossNew         // loss on the new measurement
	Threshold       // the stop rule
	Mark            // a change of settings
	Axis            // axes and their labels
	Done            // apertures measured
	Current         // the aperture being trained
	Next            // the one after it
	Frame           // the edge of k-space
	Memory          // a bar of bytes
	Focus           // the frame of the pane that has the keys
	Selected        // text that typing replaces, and the cell of a cursor: in reverse
	NumStyles
)

// Depth is how many colours the theme uses.
type Depth uint8

// The depths.
const (
	NoColor Depth = iota // bold and faint only
	Colors16
	Colors256
	TrueColor // 24 bits, which pictures use
)

// Theme turns styles into terminal sequences. It is immutable.
type Theme struct {
	Depth Depth
	Dark  bool
	// ASCII replaces every character beyond 7 bits by a plain one.
	ASCII bool
	sgr   [NumStyles]string
}

// New is the theme for a terminal's profile and background.
func New(profile colorprofile.Profile, dark, ascii bool) *Theme {
	t := &Theme{Depth: depthOf(profile), Dark: dark, ASCII: ascii}
	for s := Plain; s < NumStyles; s++ {
		t.sgr[s] = opening(t.style(s))
	}
	return t
}

func depthOf(p colorprofile.Profile) Depth {
	switch p {
	case colorprofile.TrueColor:
		return TrueColor
	case colorprofile.ANSI256:
		return Colors256
	case colorprofile.ANSI:
		return Colors16
	}
	return NoColor
}

// Open writes the sequence that begins style s after a reset, and says whether
// there is one.
func (t *Theme) Open(b *strings.Builder, s Style) bool {
	if s < NumStyles {
		b.WriteString(t.sgr[s])
		return t.sgr[s] != ""
	}
	if t.Depth < Colors256 {
		return false
	}
	if id, ok := s.Image(); ok {
		b.WriteString("\x1b[38;" + indexed[id] + "m")
		return true
	}
	m, upper, lower, ok := s.Shades()
	if !ok {
		return false
	}
	if upper == lower { // a space, of which only the background is seen
		b.WriteString("\x1b[48;")
	} else {
		b.WriteString("\x1b[38;")
		b.WriteString(m.ink(t.Depth, upper))
		b.WriteString(";48;")
	}
	b.WriteString(m.ink(t.Depth, lower))
	b.WriteByte('m')
	return true
}

// SGR is what Open writes; empty for Plain.
func (t *Theme) SGR(s Style) string {
	if s < NumStyles {
		return t.sgr[s]
	}
	var b strings.Builder
	t.Open(&b, s)
	return b.String()
}

// Coarse is the theme with pictures in the palette's colours, which cost half of
// 24-bit ones and change less often.
func (t *Theme) Coarse() *Theme {
	coarse := *t
	coarse.Depth = min(t.Depth, Colors256)
	return &coarse
}

// Alike says whether two styles look the same.
func (t *Theme) Alike(a, b Style) bool {
	return a == b || a < NumStyles && b < NumStyles && t.sgr[a] == t.sgr[b]
}

// Pictures says whether the theme has the colours of half-block pictures.
func (t *Theme) Pictures() bool { return t.Depth >= Colors256 && !t.ASCII }

// hue is one style's colour: for 256 colours on dark and on light, and for 16.
// Of the 16, the bright ones lose their brightness on light.
type hue struct {
	dark, light, basic uint8
	bold, faint        bool
}

// none is the terminal's own foreground.
const none = 255

var hues = [NumStyles]hue{
	Plain:     {none, none, none, false, false},
	Faint:     {245, 243, none, false, true},
	Strong:    {none, none, none, true, false},
	Title:     {252, 236, none, true, false},
	Border:    {239, 250, 8, false, true},
	Brand:     {75, 25, 14, true, false},
	Key:       {75, 25, 14, true, false},
	Good:      {79, 29, 10, false, false},
	Bad:       {209, 166, 9, true, false},
	Warn:      {221, 136, 11, false, false},
	Pending:   {221, 136, 11, true, false},
	Phase1:    {75, 25, 14, false, false},
	Phase2:    {72, 29, 10, false, false},
	Phase3:    {221, 136, 11, false, false},
	Phase4:    {209, 166, 9, false, false},
	Phase5:    {175, 132, 13, false, false},
	Phase6:    {247, 242, 8, false, false},
	Phase7:    {141, 61, 12, false, false},
	Phase8:    {180, 94, none, false, false},
	Line:      {75, 25, 14, true, false},
	Envelope:  {24, 153, 8, false, true},
	LossOld:   {75, 25, 14, false, false},
	LossNew:   {209, 166, 9, true, false},
	Threshold: {72, 29, 10, false, false},
	Mark:      {221, 136, 11, false, false},
	Axis:      {242, 246, 8, false, true},
	Done:      {67, 110, 6, false, false},
	Current:   {221, 166, 11, true, false},
	Next:      {175, 132, 13, false, false},
	Frame:     {239, 250, 8, false, true},
	Memory:    {67, 67, 6, false, false},
	Focus:     {75, 25, 14, true, false},
	Selected:  {none, none, none, false, false},
}

func (t *Theme) style(s Style) lipgloss.Style {
	h := hues[s]
	st := lipgloss.NewStyle().Bold(h.bold).Reverse(s == Selected)
	pick := lipgloss.LightDark(t.Dark)
	switch t.Depth {
	case Colors256, TrueColor:
		if h.dark != none {
			st = st.Foreground(pick(index(h.light), index(h.dark)))
		}
	case Colors16:
		if h.basic != none {
			basic := h.basic
			if !t.Dark && basic > 8 {
				basic -= 8
			}
			st = st.Foreground(ansi.BasicColor(basic))
		} else {
			st = st.Faint(h.faint)
		}
	default:
		st = st.Faint(h.faint)
	}
	return st
}

func index(i uint8) lipgloss.ANSIColor { return lipgloss.ANSIColor(i) }

// opening is the sequence with which lipgloss begins the style.
func opening(s lipgloss.Style) string {
	before, _, _ := strings.Cut(s.Render("x"), "x")
	return before
}
