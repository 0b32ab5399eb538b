package imaging

import (
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

// Phase specifies the pane of the phase of a complex reconstruction, the true phase and their
// difference.
var Phase = pane.Spec{
	Name:  "phase",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 32, Most: 61, Weight: 3}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 4}, Square: true, Pair: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(phasePicture) >= 0 },
	Late:  true,
	New:   func(h pane.Host) pane.Pane { return newPicture(h.Now, h.Graphics(), phaseSubject) },
}

// Slices specifies the pane of a plane of a volume that the network predicts, its target and their
// difference, and Raw that of the image it is predicted from.
var (
	Slices = pane.Spec{
		Name:  "slices",
		Shape: Reconstruction.Shape,
		Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(predictionPicture) >= 0 },
		Late:  true,
		New:   func(h pane.Host) pane.Pane { return newPicture(h.Now, h.Graphics(), slicesSubject) },
	}
	Raw = pane.Spec{
		Name:  "raw",
		Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 28, Most: 61, Weight: 2}, Height: layout.Extent{Least: 8, Good: 14, Most: 36, Weight: 4}, Square: true},
		Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(rawPicture) >= 0 },
		Late:  true,
		New:   func(h pane.Host) pane.Pane { return newPicture(h.Now, h.Graphics(), rawSubject) },
	}
)

// Diffraction specifies the pane of a measured diffraction pattern.
var Diffraction = pane.Spec{
	Name:  "diffraction",
	Shape: layout.Shape{Width: layout.Extent{Least: 22, Good: 32, Most: 61, Weight: 2}, Height: layout.Extent{Least: 8, Good: 17, Most: 36, Weight: 3}, Square: true},
	Needs: func(r *profiles.RunInfo) bool { return r.Schema.PictureNamed(diffractionPicture) >= 0 },
	Late:  true,
	New:   func(h pane.Host) pane.Pane { return newPicture(h.Now, h.Graphics(), diffractionSubject) },
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
	foot    func(p *picture, c *chart.Canvas, s *profiles.Snapshot) int
	explain []string
}

var amplitudeSubject = &subject{
	name: "reconstruction", title: "Reconstruction", picture: reconstructionPicture, truth: truthPicture, countsErrors: true, residual: true,
	ends: func(p *picture, bright string) string {
		return bright + " " + strings.TrimSpace(amplitude(p.scale.white))
	},
	foot: (*picture).quality,
	explain: []string{
		"Reconstruction: the newest output of the network on the object's window, as amplitude. White is the truth's brightest " +
			"amplitude, named in the lower edge, so that the scale stands still; without a truth it is the picture's own brightest.",
		"Truth is the simulated object that was measured. Difference is reconstruction less truth, pixel by pixel: blue where " +
			"the reconstruction is too dark, orange where it is too bright, up to the number in the lower edge; without colours its magnitude. " +
			"How many pixels differ by more than a tenth of white is counted on the whole picture.",
		"PSNR, peak signal-to-noise ratio, is −10 log10 of the mean squared error, for a data range of 1. SSIM, structural similarity, is the mean " +
			"over Gaussian windows of 11x11 pixels with σ = 1.5; 1 is equal. RMSE is the root mean square error in percent of the truth's " +
			"root mean square. All are computed on the object's window by the run, not on what the terminal shows.",
	},
}

var phaseSubject = &subject{
	name: "phase", title: "Phase", picture: phasePicture, truth: phaseTruthPicture, first: numPanels, white: 2 * math.Pi,
	ends: func(_ *picture, bright string) string {
		if dark, yellow, both := strings.Cut(bright, " 0, "); both {
			return dark + " −π, " + yellow + " π"
		}
		return "black −π, " + bright + " π"
	},
	foot: (*picture).phaseError,
	explain: []string{
		"Phase: that of the newest reconstruction, after the constant factor that diffraction cannot show was removed: the one with which " +
			"the reconstruction comes closest to the truth. Black is −π, white is π. A pixel is drawn on the side of ±π that is closer to its true phase.",
		"Truth is the phase of the object that was scanned. Difference is reconstruction less truth, pixel by pixel, in radians: blue where " +
			"the reconstruction lags, orange where it leads, up to the number in the lower edge; without colours its magnitude.",
		"Phase error is the root mean square difference of the phases, in radians. Where the object is dark its phase is uncertain.",
	},
}

var slicesSubject = &subject{
	name: "prediction", title: "Prediction", picture: predictionPicture, truth: targetPicture, first: 2 * numPanels, white: 1,
	ends: func(_ *picture, bright string) string { return bright + " 1" },
	foot: (*picture).similarity,
	explain: []string{
		"Prediction: what the newest weights make of a plane of a held-out volume, the one with the most target. Of a segmentation it is the probability of " +
			"the inside of a cell; a signal is drawn on the target's scale.",
		"Truth is the target. Difference is prediction less target, voxel by voxel: blue where the prediction is too low, orange where it is too high, up to the " +
			"number in the lower edge; without colours its magnitude.",
		"Dice is twice the voxels inside both by the voxels inside each, correlation Pearson's: of whole held-out volumes, not of this plane.",
	},
}

var rawSubject = &subject{
	name: "image", title: "Image", picture: rawPicture, first: 3 * numPanels, white: 1,
	ends: func(_ *picture, bright string) string { return bright + ": the volume's largest value" },
	foot: func(*picture, *chart.Canvas, *profiles.Snapshot) int { return 0 },
	explain: []string{
		"Image: the same plane of the image that the network predicts from, from the volume's smallest value to its largest.",
	},
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
	explain: []string{
		"Diffraction: a pattern that the detector counted, the first one of the next batch. Drawn is the logarithm of one plus the amplitude, as the network gets it, " +
			"since the direct beam in the centre is far brighter than the rest. White is the pattern's own brightest pixel.",
	},
}

// aboutPictures explains what all panes of pictures share.
var aboutPictures = []string{
	"Pictures cost more bytes than the rest of the screen. They change at most three times a second and within a budget of bytes: " +
		"where it is short, large changes come first and noise stays, until the run pauses or ends; then the whole picture is shown.",
	"+ and - change the scale: the whole picture, 1:1, 2×, 4×, 8×. The arrow keys move the visible part, of all pictures at once. The upper edge " +
		"names it, or how many pixels share a cell: their mean is drawn, so that finer detail is hidden, but of a difference the largest.",
	"x: grey or viridis; of the difference, signed or magnitude. " +
		"i: Kitty graphics where the terminal says that it has them, half blocks in 24-bit colours (64 levels) or of 256, braille, characters, off.",
}

// aboutViews explains the views of pictures with a truth.
const aboutViews = "v: side by side, reconstruction, truth, difference."

// aboutResidual explains the view of the spectrum.
const aboutResidual = "v once more: the spectrum of the residual, the Fourier transform of the difference, in dB relative to the truth's frequency zero. Dashes border what " +
	"was measured so far. Beyond them no measurement says what the decoder draws: a lattice of dark pixels is bright points near the corners."

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
