package chart

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/ansi/kitty"

	"github.com/charmbracelet/colorprofile"

	"prismtop/tui/theme"
)

// take shows a picture at once, as with enough bytes.
func take(r *Raster, img Image, f Form, band float64) {
	r.Sample(img, f)
	r.Plan(band)
	r.Adopt()
}

func TestPictureGreys(t *testing.T) {
	img := Image{Width: 2, Height: 2, Pixels: []float32{0, 1, 0.5, float32(math.NaN())}, White: 1}
	var r Raster
	take(&r, img, Form{HalfBlocks, theme.Greys, theme.Colors256, 2, 2}, Sharp)
	var c Canvas
	c.Resize(2, 1)
	r.Draw(&c, 0, 0)
	if got, want := c.At(0, 0), (Cell{'▀', theme.Shade(theme.Greys, 0, 12).Coarse()}); got != want {
		t.Errorf("left cell %v, want %v", got, want)
	}
	if got, want := c.At(1, 0), (Cell{'▀', theme.Shade(theme.Greys, 23, 0).Coarse()}); got != want {
		t.Errorf("right cell %v, want %v", got, want)
	}
}

func TestBlackAndWhiteAreTheEndsOfTheScale(t *testing.T) {
	img := Image{Width: 3, Height: 1, Pixels: []float32{-0.5, 0, 0.5}, Black: -0.5, White: 0.5}
	for depth, want := range map[theme.Depth]int{theme.Colors256: 10, theme.TrueColor: 62} {
		var r Raster
		take(&r, img, Form{HalfBlocks, theme.Diverging, depth, 3, 1}, Sharp)
		if got, top := r.Levels(); got[0] != 0 || int(got[1]) != want/2 || int(got[2]) != want || top != want {
			t.Errorf("depth %d: levels %v of %d", depth, got, top)
		}
	}
}

// The last row of a picture of odd height is as high as a cell, and shows only values of the
// picture.
func TestOddHeightsEndInWholeCells(t *testing.T) {
	var r Raster
	take(&r, Image{Width: 1, Height: 3, Pixels: []float32{0.2, 0.4, 0.6}, White: 1}, Form{HalfBlocks, theme.Diverging, theme.TrueColor, 1, 3}, Sharp)
	var c Canvas
	c.Resize(1, 2)
	r.Draw(&c, 0, 0)
	if got, want := c.At(0, 1), (Cell{' ', theme.Shade(theme.Diverging, 37, 37)}); got != want {
		t.Errorf("the last row is %v, want %v", got, want)
	}
}

func TestSmallChangesDoNotRepaintThePicture(t *testing.T) {
	one := Form{HalfBlocks, theme.Greys, theme.Colors256, 1, 1}
	for _, step := range []struct {
		value float32
		band  float64
		want  uint8
	}{
		{10.4, Sharp, 10},
		{10.6, Sharp, 10}, // just rounds to the next level
		{10.8, 1.5, 10},   // a wider band, for few bytes
		{10.8, Sharp, 11},
		{10.3, Sharp, 10},
	} {
		var r Raster
		take(&r, Image{Width: 1, Height: 1, Pixels: []float32{10.4 / 23}, White: 1}, one, Sharp)
		if step.want == 10 && step.value < 10.35 {
			take(&r, Image{Width: 1, Height: 1, Pixels: []float32{11.0 / 23}, White: 1}, one, Sharp)
		}
		take(&r, Image{Width: 1, Height: 1, Pixels: []float32{step.value / 23}, White: 1}, one, step.band)
		if got, _ := r.Levels(); got[0] != step.want {
			t.Errorf("level %d after %.1f with a band of %.2f, want %d", got[0], step.value, step.band, step.want)
		}
	}
}

func TestPicturesOfEverySizeAndContent(t *testing.T) {
	for _, img := range []Image{
		{}, {Width: 3, Height: 2, Pixels: make([]float32, 5)}, {Width: -1, Height: -1},
		{Width: 3, Height: 2, Pixels: []float32{1, 2, 3, -4, 5, float32(math.Inf(1))}, White: 0},
		{Width: 3, Height: 2, Pixels: make([]float32, 6), White: float32(math.NaN())},
		{Width: 7, Height: 1, Pixels: make([]float32, 7), White: 1},
	} {
		for _, size := range [][2]int{{0, 0}, {1, 1}, {3, 5}, {40, 30}} {
			for way := HalfBlocks; way <= Values; way++ {
				var c Canvas
				c.Resize(20, 10)
				var r Raster
				for _, depth := range []theme.Depth{theme.Colors256, theme.TrueColor} {
					take(&r, img, Form{way, theme.Viridis, depth, size[0], size[1]}, Sharp)
					r.Draw(&c, -1, -1)
					r.Draw(&c, 2, 2)
					if whole := r.Whole(); whole < 0 || r.Limit(whole) > whole {
						t.Errorf("%v of %v costs %d bytes", r.Form(), img, whole)
					}
				}
			}
		}
	}
}

func TestDitherShowsBrightness(t *testing.T) {
	dots := func(v float32) int {
		img := Image{Width: 1, Height: 1, Pixels: []float32{v}, White: 1}
		var c Canvas
		c.Resize(8, 4)
		var r Raster
		take(&r, img, Form{Way: Dots, W: 16, H: 16}, Sharp)
		r.Draw(&c, 0, 0)
		n := 0
		for _, r := range strings.Join(plainLines(&c), "") {
			if r > 0x2800 {
				for b := r - 0x2800; b > 0; b >>= 1 {
					n += int(b & 1)
				}
			}
		}
		return n
	}
	if a, b, c := dots(0), dots(0.5), dots(1); a != 0 || b != 128 || c != 256 {
		t.Errorf("dots for 0, ½ and 1: %d, %d, %d of 256", a, b, c)
	}
}

func TestRampRises(t *testing.T) {
	img := Image{Width: 10, Height: 1, Pixels: []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, White: 9}
	var r Raster
	take(&r, img, Form{Way: Ramp, W: 10, H: 1}, Sharp)
	var c Canvas
	c.Resize(10, 1)
	r.Draw(&c, 0, 0)
	if got := plainLines(&c)[0]; got != ramp {
		t.Errorf("the ramp is %q, want %q", got, ramp)
	}
}

// Rows left out for lack of bytes get their turn later, and are not charged before.
func TestLimitGivesEveryRowItsTurn(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 9))
	noise := func() Image {
		img := Image{Width: 20, Height: 20, Pixels: make([]float32, 400), White: 1}
		for i := range img.Pixels {
			img.Pixels[i] = random.Float32()
		}
		return img
	}
	form := Form{HalfBlocks, theme.Greys, theme.TrueColor, 20, 20}
	var r Raster
	r.Sample(Image{Width: 20, Height: 20, Pixels: make([]float32, 400), White: 1}, form)
	r.Sample(noise(), form)
	whole := r.Plan(Sharp)
	drawn := 0
	for turns := 1; turns < 20; turns++ {
		r.Plan(Sharp)
		if !r.Changes() {
			if turns < 4 {
				t.Errorf("all is drawn after %d quarters of what it costs", turns-1)
			}
			return
		}
		cost := r.Limit(whole / 4)
		if cost > whole/4 {
			t.Fatalf("%d bytes where %d are allowed", cost, whole/4)
		}
		r.Adopt()
		drawn += cost
	}
	t.Errorf("rows are left out for ever: %d of %d bytes are drawn", drawn, whole)
}

// A placeholder is one cell wide for everything that counts cells, at any position in the
// picture.
func TestPlaceholdersAreOneCellWide(t *testing.T) {
	th := theme.New(colorprofile.ANSI256, true, false)
	var c Canvas
	c.Resize(MaxPlaces+2, 1)
	for row := range MaxPlaces {
		c.Clear()
		c.Text(0, 0, "a", theme.Plain)
		for x := range MaxPlaces {
			c.Placeholder(x+1, 0, x, row, theme.Image(77))
		}
		c.Text(MaxPlaces+1, 0, "b", theme.Plain)
		line := c.Lines(th)[0]
		if got := ansi.StringWidth(line); got != MaxPlaces+2 {
			t.Fatalf("row %d is %d cells wide", row, got)
		}
		if got := ansi.StringWidthWc(line); got != MaxPlaces+2 {
			t.Fatalf("row %d is %d cells wide by wcwidth", row, got)
		}
		b := uv.NewScreenBuffer(MaxPlaces+2, 1)
		uv.NewStyledString(line).Draw(b, b.Bounds())
		for x := range MaxPlaces {
			want := string([]rune{kitty.Placeholder, kitty.Diacritic(row), kitty.Diacritic(x)})
			if cell := b.CellAt(x+1, 0); cell.Content != want || cell.Style.Fg != ansi.IndexedColor(77) {
				t.Fatalf("cell %d of row %d is %q in %v", x, row, cell.Content, cell.Style.Fg)
			}
		}
		if cell := b.CellAt(MaxPlaces+1, 0); cell.Content != "b" || cell.Style.Fg != nil {
			t.Fatalf("after row %d stands %q in %v", row, cell.Content, cell.Style.Fg)
		}
	}
	c.Placeholder(0, 0, MaxPlaces, 0, theme.Image(77))
	if c.At(0, 0).Rune != 'a' {
		t.Error("a place beyond the largest is drawn")
	}
	if line := c.Lines(theme.New(colorprofile.ANSI256, true, true))[0]; strings.TrimSpace(ansi.Strip(line)) != "a"+strings.Repeat(" ", MaxPlaces)+"b" {
		t.Errorf("the ASCII screen has %q", line)
	}
}

func BenchmarkRaster(b *testing.B) {
	img := Image{Width: 128, Height: 128, Pixels: make([]float32, 128*128), White: 1}
	for i := range img.Pixels {
		img.Pixels[i] = rand.Float32()
	}
	var r Raster
	b.ReportAllocs()
	for b.Loop() {
		r.Sample(img, Form{HalfBlocks, theme.Greys, theme.TrueColor, 100, 100})
		r.Plan(Sharp)
		r.Adopt()
	}
}

// Where several pixels share a value, a picture of peaks shows the one of largest magnitude, with its
// sign; any other shows the mean.
func TestPeaksAreNotAveraged(t *testing.T) {
	img := Image{Width: 2, Height: 2, Pixels: []float32{0.5, -0.5, 0.4, -1}, Black: -1, White: 1}
	var r Raster
	f := Form{Values, theme.Diverging, theme.TrueColor, 1, 1}
	take(&r, img, f, Sharp)
	levels, top := r.Levels()
	mean := int(levels[0])
	img.Peak = true
	r = Raster{}
	take(&r, img, f, Sharp)
	levels, _ = r.Levels()
	if mean == 0 || levels[0] != 0 {
		t.Errorf("the mean is level %d, the peak %d of %d", mean, levels[0], top)
	}
}
