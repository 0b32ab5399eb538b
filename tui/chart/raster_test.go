package chart

import (
	"bytes"
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

// take shows a picture at once, as a screen that has the bytes for it.
func take(r *Raster, img Image, way Way, m theme.Map, w, h, levels int, band float64) {
	r.Sample(img, way, m, w, h, levels)
	r.Plan(band)
	r.Adopt()
}

func TestPictureGreys(t *testing.T) {
	img := Image{Width: 2, Height: 2, Pixels: []float32{0, 1, 0.5, float32(math.NaN())}, White: 1}
	var r Raster
	take(&r, img, HalfBlocks, theme.Greys, 2, 2, theme.Greys.Levels(), Sharp)
	var c Canvas
	c.Resize(2, 1)
	r.Draw(&c, 0, 0)
	if got, want := c.At(0, 0), (Cell{'▀', theme.Shade(theme.Greys, 0, 12)}); got != want {
		t.Errorf("left cell %v, want %v", got, want)
	}
	if got, want := c.At(1, 0), (Cell{'▀', theme.Shade(theme.Greys, 23, 0)}); got != want {
		t.Errorf("right cell %v, want %v", got, want)
	}
}

func TestBlackAndWhiteAreTheEndsOfTheScale(t *testing.T) {
	img := Image{Width: 3, Height: 1, Pixels: []float32{-0.5, 0, 0.5}, Black: -0.5, White: 0.5}
	var r Raster
	take(&r, img, HalfBlocks, theme.Diverging, 3, 1, theme.Diverging.Levels(), Sharp)
	if got, top := r.Levels(); got[0] != 0 || got[1] != 5 || got[2] != 10 || top != 10 {
		t.Errorf("levels %v of %d", got, top)
	}
}

func TestSmallChangesDoNotRepaintThePicture(t *testing.T) {
	for _, step := range []struct {
		value float32
		band  float64
		want  uint8
	}{
		{10.4, Sharp, 10},
		{10.6, Sharp, 10}, // rounds to the next level, barely
		{10.8, 1.5, 10},   // and more, where bytes are short
		{10.8, Sharp, 11},
		{10.3, Sharp, 10},
	} {
		var r Raster
		take(&r, Image{1, 1, []float32{10.4 / 23}, 0, 1}, HalfBlocks, theme.Greys, 1, 1, 24, Sharp)
		if step.want == 10 && step.value < 10.35 {
			take(&r, Image{1, 1, []float32{11.0 / 23}, 0, 1}, HalfBlocks, theme.Greys, 1, 1, 24, Sharp)
		}
		take(&r, Image{1, 1, []float32{step.value / 23}, 0, 1}, HalfBlocks, theme.Greys, 1, 1, 24, step.band)
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
				take(&r, img, way, theme.Viridis, size[0], size[1], 10, Sharp)
				r.Draw(&c, -1, -1)
				r.Draw(&c, 2, 2)
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
		take(&r, img, Dots, theme.Greys, 16, 16, 2, Sharp)
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
	take(&r, img, Ramp, theme.Greys, 10, 1, RampLevels, Sharp)
	var c Canvas
	c.Resize(10, 1)
	r.Draw(&c, 0, 0)
	if got := plainLines(&c)[0]; got != ramp {
		t.Errorf("the ramp is %q, want %q", got, ramp)
	}
}

// What a picture is said to cost is what Bubble Tea's renderer sends for it, to
// within a third: the pace of pictures rests on it.
func TestWhatAPictureIsSaidToCostIsWhatIsSent(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	th := theme.New(colorprofile.ANSI256, true, false)
	for _, tt := range []struct {
		name   string
		way    Way
		levels int
		noise  float32
	}{
		{"half blocks, much noise", HalfBlocks, 24, 0.3},
		{"half blocks, some noise", HalfBlocks, 24, 0.05},
		{"half blocks, little noise", HalfBlocks, 24, 0.02},
		{"braille", Dots, 2, 0.1},
		{"braille, little noise", Dots, 2, 0.03},
		{"characters", Ramp, RampLevels, 0.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const columns, rows = 48, 24
			var c Canvas
			var r Raster
			var wire bytes.Buffer
			out := uv.NewTerminalRenderer(&wire, []string{"TERM=xterm-256color"})
			out.SetFullscreen(true)
			out.SetColorProfile(colorprofile.ANSI256)
			screen := uv.NewScreenBuffer(columns, rows)
			said, sent := 0, 0
			for range 12 {
				img := Image{Width: 96, Height: 96, Pixels: make([]float32, 96*96), White: 1}
				for i := range img.Pixels {
					x, y := float64(i%96)/48-1, float64(i/96)/48-1
					img.Pixels[i] = float32(max(0, 1-x*x-y*y)) + tt.noise*(random.Float32()-0.5)
				}
				across, down := tt.way.Grain()
				fresh := r.Sample(img, tt.way, theme.Greys, columns*across, rows*down, tt.levels)
				cost := r.Plan(Sharp)
				r.Adopt()
				c.Resize(columns, rows)
				r.Draw(&c, 0, 0)
				uv.NewStyledString(strings.Join(c.Lines(th), "\n")).Draw(screen, screen.Bounds())
				wire.Reset()
				out.Render(screen.RenderBuffer)
				if err := out.Flush(); err != nil {
					t.Fatal(err)
				}
				n := wire.Len()
				if !fresh {
					said, sent = said+cost, sent+n
				}
			}
			t.Logf("said %d, sent %d: %.2f", said, sent, float64(said)/float64(sent))
			if ratio := float64(said) / float64(sent); ratio < 0.67 || ratio > 1.5 {
				t.Errorf("said %d bytes, sent %d", said, sent)
			}
		})
	}
}

// A placeholder is one cell wide to everything that counts cells, wherever in the
// picture it stands.
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
		r.Sample(img, HalfBlocks, theme.Greys, 100, 100, 24)
		r.Plan(Sharp)
		r.Adopt()
	}
}
