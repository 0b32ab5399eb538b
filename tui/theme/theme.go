// Package theme defines the colours of the screen: their meaning, and their sequences for
// terminals with 24-bit, 256, 16 or no colours, on dark and light backgrounds.
//
// The hues are those of Okabe and Ito's palette, which readers with any of the common colour
// deficiencies can distinguish; no information is carried by colour alone. Named styles are
// indexes into the 256-colour palette even on terminals that support more: they are chosen for
// contrast, and take half the bytes of a 24-bit colour at every change of style. Pictures, for
// which the palette is too coarse, use whatever the terminal supports.
package theme

import (
	"slices"
	"strconv"
	"strings"

	"github.com/charmbracelet/colorprofile"
)

// Style is the meaning of a cell. Styles below NumStyles are named; those made by Shade hold the
// two levels of a half block, and those made by Image the id of a picture drawn by the terminal.
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

// Depth is the number of colours that the theme uses.
type Depth uint8

// The depths.
const (
	NoColor Depth = iota // bold and faint only
	Colors16
	Colors256
	TrueColor // 24 bits, used by pictures
)

// Theme converts styles to terminal sequences. It is immutable.
type Theme struct {
	Depth Depth
	Dark  bool
	// ASCII replaces every non-ASCII character by a plain one.
	ASCII bool
	looks [NumStyles]Look
	first [NumStyles]Style // the first style of the same look
}

// Look is a style as SGR parameters: bold or faint, the colours, and all others.
type Look struct{ Weight, Fore, Back, Other string }

// Parameters returns all parameters of the look.
func (l Look) Parameters() string {
	var set []string
	for _, part := range []string{l.Other, l.Weight, l.Fore, l.Back} {
		if part != "" {
			set = append(set, part)
		}
	}
	return strings.Join(set, ";")
}

// New returns the theme for a terminal's profile and background.
func New(profile colorprofile.Profile, dark, ascii bool) *Theme {
	t := &Theme{Depth: depthOf(profile), Dark: dark, ASCII: ascii}
	for s := Plain; s < NumStyles; s++ {
		t.looks[s] = t.named(s)
		t.first[s] = Style(slices.Index(t.looks[:s+1], t.looks[s]))
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

// Look returns the parameters of a style.
func (t *Theme) Look(s Style) (l Look) {
	if s < NumStyles {
		return t.looks[s]
	}
	if t.Depth < Colors256 {
		return l
	}
	if id, ok := s.Image(); ok {
		return Look{Fore: indexed[id].fore}
	}
	m, upper, lower, ok := s.Shades()
	if !ok {
		return l
	}
	d := t.Depth
	if s&coarseShade != 0 {
		d = Colors256
	}
	l.Back = m.ink(d, lower).back
	if upper != lower { // else it is a space, of which only the background is visible
		l.Fore = m.ink(d, upper).fore
	}
	return l
}

// Seen returns the style that stands for all that look like s.
func (t *Theme) Seen(s Style) Style {
	switch {
	case s < NumStyles:
		return t.first[s]
	case t.Depth < Colors256:
		return Plain
	}
	return s
}

// Coarse returns the theme with pictures in the palette's colours, which take half the bytes of
// 24-bit ones and change less often.
func (t *Theme) Coarse() *Theme {
	coarse := *t
	coarse.Depth = min(t.Depth, Colors256)
	return &coarse
}

// Pictures reports whether the theme has the colours for half-block pictures.
func (t *Theme) Pictures() bool { return t.Depth >= Colors256 && !t.ASCII }

// hue is one style's colour: for 256 colours on dark and light backgrounds, and for 16. Bright
// colours of the 16 lose their brightness on a light background.
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

// named returns the look of a named style.
func (t *Theme) named(s Style) (l Look) {
	h := hues[s]
	if h.bold {
		l.Weight = "1"
	}
	if s == Selected {
		l.Other = "7"
	}
	switch {
	case t.Depth >= Colors256:
		colour := h.light
		if t.Dark {
			colour = h.dark
		}
		if colour != none {
			l.Fore = indexed[colour].fore
		}
	case t.Depth == Colors16 && h.basic != none:
		basic := int(h.basic)
		if !t.Dark && basic > 8 {
			basic -= 8
		}
		if l.Fore = strconv.Itoa(30 + basic); basic >= 8 {
			l.Fore = strconv.Itoa(90 + basic - 8)
		}
	case h.faint:
		l.Weight = "2"
	}
	return l
}
