package imaging

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"prismtop/profiles"
	"prismtop/sim/prism"
	"prismtop/tui/terminal"
	"prismtop/tui/theme"
	"prismtop/tui/tuitest"
)

// paned returns a pane of w by h cells that shows a picture of size pixels whose truth is grey.
func paned(w, h, size int, profile colorprofile.Profile, ascii bool, pixel func(x, y int) float32) (*picture, *profiles.Snapshot) {
	p := newPicture(func() time.Time { return time.Unix(1e9, 0) }, terminal.NewGraphics(), amplitudeSubject)
	p.SetTheme(theme.New(profile, true, ascii))
	p.SetSize(w, h)
	s := tuitest.Running()
	s.State = profiles.Paused // draws everything at once
	shown := &profiles.Picture{Width: size, Height: size, Pixels: make([]float32, size*size)}
	truth := &profiles.Picture{Width: size, Height: size, Pixels: make([]float32, size*size)}
	for i := range shown.Pixels {
		truth.Pixels[i] = 0.5
		shown.Pixels[i] = pixel(i%size, i/size)
	}
	truth.Pixels[0] = 1 // white
	s.Pictures[prism.PictureReconstruction], s.Pictures[prism.PictureTruth] = shown, truth
	p.Update(s)
	return p, s
}

func shownText(p *picture) string { return ansi.Strip(strings.Join(tuitest.Lines(p), "\n")) }

// checkered is wrong by half everywhere, with alternating sign: its mean error is 0.
func checkered(x, y int) float32 { return float32((x + y) % 2) }

// Errors of alternating sign do not cancel where the difference is drawn smaller than it is.
func TestTheDifferenceOfACheckerboardIsVisible(t *testing.T) {
	for _, way := range []struct {
		name  string
		ascii bool
		want  drawing
	}{{"half blocks", false, halfDrawing}, {"characters", true, asciiDrawing}} {
		p, _ := paned(30, 14, 128, colorprofile.TrueColor, way.ascii, checkered)
		for range differenceView {
			p.Press("v")
		}
		p.Cells()
		if got, _ := p.drawing(); got != way.want {
			t.Fatalf("%s: drawn as %s", way.name, drawingNames[got])
		}
		levels, top := p.panels[differencePanel].raster.Levels()
		quiet := uint8(top / 2)
		if way.ascii {
			quiet = uint8(top / 10)
		}
		for i, v := range levels {
			if v == quiet || way.ascii && v < quiet {
				t.Fatalf("%s: value %d of the difference looks like none, level %d of %d", way.name, i, v, top)
			}
		}
		if text := shownText(p); !strings.Contains(text, "100.0 % of pixels differ by > 0.1") && !strings.Contains(text, "1 cell = ") {
			t.Errorf("%s: neither the scale nor the share of wrong pixels:\n%s", way.name, text)
		}
	}
}

// A picture that is drawn smaller than it is says so at every size, and one with all its pixels does not.
func TestAReducedPictureSaysSo(t *testing.T) {
	for _, size := range [][2]int{{22, 8}, {30, 16}, {34, 17}, {56, 11}, {82, 16}, {120, 37}, {200, 57}} {
		for _, ascii := range []bool{false, true} {
			p, _ := paned(size[0], size[1], 256, colorprofile.ANSI256, ascii, checkered)
			if text := shownText(p); !strings.Contains(text, " px") {
				t.Errorf("%v, ascii %v: the scale is missing:\n%s", size, ascii, text)
			}
		}
		p, _ := paned(size[0], size[1], 8, colorprofile.ANSI256, false, checkered)
		if text := shownText(p); strings.Contains(text, " px") {
			t.Errorf("%v: a whole picture claims a scale:\n%s", size, text)
		}
	}
	p, _ := paned(30, 16, 128, colorprofile.ANSI256, false, checkered)
	if text := shownText(p); !strings.Contains(text, "1 cell = 4.9×9.8 px") {
		t.Errorf("26 columns of 128 pixels:\n%s", text)
	}
}

// At 1:1 each pixel has its own half of a cell, the arrow keys move all pictures together, and the
// edge names the visible part.
func TestPixelsAreShownOneToOne(t *testing.T) {
	p, _ := paned(120, 37, 128, colorprofile.TrueColor, false, checkered)
	if p.Press("left") {
		t.Error("left is taken although the whole picture is visible")
	}
	p.Press("+")
	p.Tell()
	if text := shownText(p); !strings.Contains(text, "1:1 · x 36–92, y 31–96 of 128") {
		t.Fatalf("the visible part is not named:\n%s", text)
	}
	for _, slot := range []int{reconstructionPanel, truthPanel} {
		if w, h := p.panels[slot].raster.Size(); w != 57 || h != 66 {
			t.Errorf("panel %d has %d by %d values", slot, w, h)
		}
	}
	levels, top := p.panels[reconstructionPanel].raster.Levels()
	for i, v := range levels {
		if want := uint8(top) * uint8((36+i%57+31+i/57)%2); v != want {
			t.Fatalf("value %d is %d, want %d", i, v, want)
		}
	}
	for range 20 {
		if !p.Press("right") || !p.Press("down") {
			t.Fatal("the arrow keys do not move the part")
		}
		p.Cells()
	}
	if text := shownText(p); !strings.Contains(text, "x 71–127, y 62–127 of 128") {
		t.Errorf("the corner is not reached:\n%s", text)
	}
	if a, b := p.panels[reconstructionPanel].drawn.part, p.panels[truthPanel].drawn.part; a != b {
		t.Errorf("the reconstruction shows %+v, the truth %+v", a, b)
	}
	p.Press("+")
	p.Cells()
	if w, _ := p.panels[reconstructionPanel].raster.Size(); p.seen.w*2 != w {
		t.Errorf("at 2× %d pixels take %d values", p.seen.w, w)
	}
	for range scales {
		p.Press("-")
	}
	if text := shownText(p); !strings.Contains(text, "1 cell = ") {
		t.Errorf("- does not lead back to the whole picture:\n%s", text)
	}
}

// A terminal that draws pictures itself gets the visible part with all its pixels.
func TestATerminalsPictureIsCropped(t *testing.T) {
	p, _ := paned(40, 12, 256, colorprofile.TrueColor, false, checkered)
	p.scaled = 2 // 2×
	v := p.window(256, 256, 20, 10, kittyDrawing, 2)
	x, y := p.graphics.CellSize()
	if v.w != min(20*x/2, p.side()) || v.h != min(10*y/2, p.side()) || v.reduced() || v.columns > 20 || v.rows > 10 {
		t.Errorf("%+v in 20x10 cells of %dx%d pixels", v, x, y)
	}
}

// Picture and truth stand side by side wherever the pane is wide enough, and the zoomed pane uses its
// height.
func TestTheTruthStandsBesideThePicture(t *testing.T) {
	for _, tt := range []struct{ w, h, panels, least int }{
		{56, 11, 2, 16}, {82, 16, 3, 24}, {120, 37, 2, 57}, {200, 57, 2, 97},
	} {
		p, _ := paned(tt.w, tt.h, 128, colorprofile.TrueColor, false, checkered)
		text := shownText(p)
		panels, columns := 0, 0
		for i := range p.panels {
			if w, _ := p.panels[i].raster.Size(); w > 0 {
				panels, columns = panels+1, w
			}
		}
		if panels != tt.panels || columns < tt.least {
			t.Errorf("%dx%d: %d panels, the last of %d columns", tt.w, tt.h, panels, columns)
		}
		if !strings.Contains(text, "truth") {
			t.Errorf("%dx%d: the truth has no caption:\n%s", tt.w, tt.h, text)
		}
	}
}

// The spectrum of a checkerboard is one point in the corner of k-space.
func TestTheSpectrumShowsWhereTheErrorIs(t *testing.T) {
	p, s := paned(120, 40, 64, colorprofile.TrueColor, false, checkered)
	for range residualView {
		p.Press("v")
	}
	text := shownText(p)
	if !strings.Contains(text, "spectrum of the residual") || !strings.Contains(text, "−20 dB") {
		t.Errorf("the view is not named, or not its scale:\n%s", text)
	}
	r := &p.errors
	brightest := 0
	for i, v := range r.decibel {
		if v > r.decibel[brightest] {
			brightest = i
		}
	}
	if brightest != 0 { // −π, −π
		t.Errorf("the largest error is at %d, %d", brightest%r.side, brightest/r.side)
	}
	if !slices.ContainsFunc(r.pixels, func(v float32) bool { return v == brightestResidual }) || s.Run.KSpace().Size == 0 {
		t.Error("the measured part is not marked")
	}
	for range 2 {
		p.Press("v")
		p.Tell()
	}
	if p.view != reconstructionView {
		t.Errorf("after the spectrum v leads to view %d", p.view)
	}
}

func TestTransform(t *testing.T) {
	const n = 8
	field := make([]complex128, n*n)
	for i := range field {
		field[i] = complex(math.Sin(float64(i*i)), math.Cos(float64(3*i)))
	}
	want := make([]complex128, n*n)
	for k := range want {
		for i, v := range field {
			angle := -2 * math.Pi * (float64(k/n*(i/n)) + float64(k%n*(i%n))) / n
			want[k] += v * complex(math.Cos(angle), math.Sin(angle))
		}
	}
	transform2D(field, n)
	for k := range want {
		if d := field[k] - want[k]; math.Hypot(real(d), imag(d)) > 1e-10 {
			t.Fatalf("coefficient %d is %v, want %v", k, field[k], want[k])
		}
	}
}
