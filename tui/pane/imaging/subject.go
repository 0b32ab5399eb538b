package imaging

import (
	_ "embed"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/layout"
	"prismtop/tui/pane"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// What panes of pictures show: amplitude, phase, slices, raw data and diffraction patterns, with the specs of all but
// the first.

// Phase specifies the pane of the phase of a complex reconstruction, the true phase and their
// difference.
var Phase = pane.Spec{
	Name:  "phase",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 32, Most: 61, Weight: 3}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 4}, Square: true, Pair: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(phasePicture) >= 0 },
	Late:  true,
	New:   func(h pane.Host) pane.Pane { return pictureOn(h, phaseSubject) },
}

// Slices specifies the pane of a plane of a volume that the network predicts, its target and their
// difference, and Raw that of the image it is predicted from.
var (
	Slices = pane.Spec{
		Name:  "slices",
		Shape: Reconstruction.Shape,
		Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(predictionPicture) >= 0 },
		Late:  true,
		New:   func(h pane.Host) pane.Pane { return pictureOn(h, slicesSubject) },
	}
	Raw = pane.Spec{
		Name:  "raw",
		Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 28, Most: 61, Weight: 2}, Height: layout.Extent{Least: 8, Good: 14, Most: 36, Weight: 4}, Square: true},
		Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(rawPicture) >= 0 },
		Late:  true,
		New:   func(h pane.Host) pane.Pane { return pictureOn(h, rawSubject) },
	}
)

// Diffraction specifies the pane of a measured diffraction pattern.
var Diffraction = pane.Spec{
	Name:  "diffraction",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 32, Most: 61, Weight: 2}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 3}, Square: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(diffractionPicture) >= 0 },
	Late:  true,
	New:   func(h pane.Host) pane.Pane { return pictureOn(h, diffractionSubject) },
}

// subject is what a pane of pictures shows.
type subject struct {
	name, title    string
	picture, truth string  // their names in the schema; truth is empty for pictures without one
	first          int     // slot in the terminal of the first panel
	white          float32 // the value drawn white; 0 for the truth's largest
	countsErrors   bool    // says how many pixels differ much from the truth
	residual       bool    // has a view of the spectrum of the difference

	// ends describes the ends of the scale in the lower edge, given the colour of the upper one.
	ends func(p *picture, bright string) string
	// foot writes the last row and returns the column after it.
	foot func(p *picture, c *chart.Canvas, s *profiles.Snapshot) int
}

var amplitudeSubject = &subject{
	name: "reconstruction", title: "Reconstruction", picture: reconstructionPicture, truth: truthPicture,
	countsErrors: true, residual: true,
	ends: func(p *picture, bright string) string {
		return bright + " " + strings.TrimSpace(amplitude(p.scale.white))
	},
	foot: (*picture).quality,
}

var phaseSubject = &subject{
	name: "phase", title: "Phase", picture: phasePicture, truth: phaseTruthPicture, first: numPanels,
	white: 2 * math.Pi,
	ends: func(_ *picture, bright string) string {
		if dark, yellow, both := strings.Cut(bright, " 0, "); both {
			return dark + " −π, " + yellow + " π"
		}
		return "black −π, " + bright + " π"
	},
	foot: (*picture).phaseError,
}

var slicesSubject = &subject{
	name: "prediction", title: "Prediction", picture: predictionPicture, truth: targetPicture,
	first: 2 * numPanels, white: 1, ends: func(_ *picture, bright string) string { return bright + " 1" },
	foot: (*picture).similarity,
}

var rawSubject = &subject{
	name: "image", title: "Image", picture: rawPicture, first: 3 * numPanels, white: 1,
	ends: func(_ *picture, bright string) string { return bright + ": the volume's largest value" },
	foot: func(*picture, *chart.Canvas, *profiles.Snapshot) int { return 0 },
}

// similarity writes the newest quality into the last row and returns the column after it.
func (p *picture) similarity(c *chart.Canvas, s *profiles.Snapshot) int {
	w, h := c.Size()
	text := words.QualityText(s)
	if text == "" {
		text = words.FittingOrLast(w, "quality: not measured"+words.Yet(s), "not measured"+words.Yet(s))
		return c.Text(0, h-1, chart.Cut(text, w), theme.Faint)
	}
	return c.Text(0, h-1, chart.Cut(text, w), theme.Strong)
}

var diffractionSubject = &subject{
	name: "diffraction", title: "Diffraction", picture: diffractionPicture, first: 4 * numPanels,
	ends: func(p *picture, bright string) string {
		return bright + " " + strings.TrimSpace(amplitude(p.scale.white))
	},
	foot: func(_ *picture, c *chart.Canvas, _ *profiles.Snapshot) int {
		_, h := c.Size()
		return c.Text(0, h-1, "ln(1 + amplitude)", theme.Faint)
	},
}

//go:embed explain.md
var explainMarkdown string

// explanations are the texts of the panes of pictures.
var explanations = pane.ParseExplanations(explainMarkdown)

// caveat writes why the picture is no result into the last row, and returns the column after it; ok
// is false if it is one.
func (p *picture) caveat(c *chart.Canvas, s *profiles.Snapshot) (x int, ok bool) {
	text := s.Run.Caveat.Text
	if text == "" {
		return 0, false
	}
	w, h := c.Size()
	brief, _, _ := strings.Cut(text, ":")
	return c.Text(0, h-1, chart.Cut(words.FittingOrLast(w, text, brief), w), theme.Warn), true
}

// phaseError writes the newest difference of the phases into the last row and returns the column
// after it.
func (p *picture) phaseError(c *chart.Canvas, s *profiles.Snapshot) int {
	if x, ok := p.caveat(c, s); ok {
		return x
	}
	w, h := c.Size()
	v := s.Of(phaseErrorSeries)
	if !v.Has {
		text := words.FittingOrLast(w, "phase error: not measured"+words.Yet(s), "not measured"+words.Yet(s))
		return c.Text(0, h-1, chart.Cut(text, w), theme.Faint)
	}
	x := 0
	if w >= 26 {
		x = c.Text(0, h-1, "error ", theme.Faint)
	}
	return c.Text(x, h-1, strings.TrimSpace(unit.Fixed(v.Latest, 5))+" rad", theme.Strong)
}
