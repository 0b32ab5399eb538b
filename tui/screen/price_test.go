package screen

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/chart"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
)

// The estimated cost of a picture is within a tenth of the bytes sent for it: the pace of
// pictures relies on it.
func TestWhatAPictureIsSaidToCostIsWhatIsSent(t *testing.T) {
	for _, depth := range []struct {
		name    string
		profile colorprofile.Profile
	}{{"256", colorprofile.ANSI256}, {"true", colorprofile.TrueColor}} {
		th := theme.New(depth.profile, true, false)
		for _, way := range []struct {
			name string
			form chart.Form
		}{
			{"greys", chart.Form{Way: chart.HalfBlocks, Colors: theme.Greys, Depth: th.Depth, W: 48, H: 47}},
			{"viridis", chart.Form{Way: chart.HalfBlocks, Colors: theme.Viridis, Depth: th.Depth, W: 120, H: 48}},
			{"diverging", chart.Form{Way: chart.HalfBlocks, Colors: theme.Diverging, Depth: th.Depth, W: 48, H: 48}},
			{"braille", chart.Form{Way: chart.Dots, W: 96, H: 96}},
			{"characters", chart.Form{Way: chart.Ramp, W: 48, H: 24}},
		} {
			for _, noise := range []float32{0.05, 0.1, 0.4} {
				t.Run(fmt.Sprintf("%s %s noise %v", depth.name, way.name, noise), func(t *testing.T) {
					first, saidFirst, sent, said := costs(way.form, th, noise)
					t.Logf("whole: said %d, sent %d; changes: said %d, sent %d: %.3f", saidFirst, first, said, sent, float64(said)/float64(max(sent, 1)))
					if sent == 0 && said == 0 && noise > 0.3 {
						t.Error("nothing changed")
					}
					blocks := way.form.Way == chart.HalfBlocks // in other forms some cells are blank beforehand
					if blocks && misjudged(saidFirst, first) || misjudged(said, sent) {
						t.Error("the price is more than a tenth away from what is sent")
					}
				})
			}
		}
	}
}

// misjudged reports whether two byte counts differ by more than a tenth, with a tolerance of ten
// bytes.
func misjudged(said, sent int) bool { return max(said-sent, sent-said)*10 > sent+100 }

// costs returns the bytes of a noisy picture in a frame like a pane's, actual and estimated, for
// the whole picture and for some changes.
func costs(form chart.Form, th *theme.Theme, noise float32) (first, saidFirst, sent, said int) {
	random := rand.New(rand.NewPCG(3, 4))
	across, down := form.Way.Grain()
	w, h := form.W/across+2, (form.H+down-1)/down+2
	var c chart.Canvas
	var r chart.Raster
	var out terminal.Wire
	draw := func() int {
		c.Resize(w, h)
		c.Frame(theme.Border)
		r.Draw(&c, 1, 1)
		return len(out.Frame(&c, th))
	}
	draw() // the border
	for n := range 12 {
		img := chart.Image{Width: 96, Height: 96, Pixels: make([]float32, 96*96), White: 1}
		for i := range img.Pixels {
			x, y := float64(i%96)/48-1, float64(i/96)/48-1
			img.Pixels[i] = float32(max(0, 1-x*x-y*y)) + noise*(random.Float32()-0.5)
		}
		if r.Sample(img, form) {
			saidFirst, first = r.Whole(), draw()
			continue
		}
		said += r.Plan(1 + float64(n%3))
		r.Adopt()
		sent += draw()
	}
	return first, saidFirst, sent, said
}
