package screenshot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"slices"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
)

func screenOf(s string, w, h int) uv.ScreenBuffer {
	b := uv.NewScreenBuffer(w, h)
	uv.NewStyledString(s).Draw(b, b.Bounds())
	return b
}

func TestPNGHasTheScreensSize(t *testing.T) {
	var buf bytes.Buffer
	if err := PNG(&buf, screenOf("╭─╮\n│é│\n╰─╯", 7, 3), Dark); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&buf)
	if err != nil {
		t.Fatal(err)
	}
	if got := img.Bounds().Size(); got.X != 7*cellWidth+2*margin || got.Y != 3*cellHeight+2*margin {
		t.Errorf("the picture is %v", got)
	}
}

func TestNotesStandInTheFile(t *testing.T) {
	notes := []Note{{"Settings", "moon"}, {"Keys", "p a"}}
	var plain, noted bytes.Buffer
	for b, n := range map[*bytes.Buffer][]Note{&plain: nil, &noted: notes} {
		if err := PNG(b, screenOf("é", 1, 1), Dark, n...); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := png.Decode(bytes.NewReader(noted.Bytes())); err != nil { // checks the checksums of the chunks
		t.Fatal(err)
	}
	for _, tt := range []struct {
		file []byte
		want []Note
	}{{plain.Bytes(), nil}, {noted.Bytes(), notes}} {
		if got, err := Notes(tt.file); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("notes are %v, %v, want %v", got, err, tt.want)
		}
	}
	for _, broken := range [][]byte{nil, []byte("GIF89a"), noted.Bytes()[:40], noted.Bytes()[:noted.Len()-1]} {
		if _, err := Notes(broken); err == nil {
			t.Errorf("%d bytes are taken for a whole PNG", len(broken))
		}
	}
}

func TestColorsAndBlocks(t *testing.T) {
	img, err := Draw(screenOf("\x1b[38;5;255;48;5;232m▀\x1b[m \x1b[7m \x1b[m█", 4, 1), Dark)
	if err != nil {
		t.Fatal(err)
	}
	at := func(cell, y int) color.RGBA { return img.RGBAAt(margin+cell*cellWidth+4, margin+y) }
	for _, tt := range []struct {
		name    string
		cell, y int
		want    color.RGBA
	}{
		{"upper half", 0, 4, color.RGBA{0xee, 0xee, 0xee, 0xff}},
		{"lower half", 0, 15, color.RGBA{8, 8, 8, 0xff}},
		{"empty", 1, 10, darkGround},
		{"reversed", 2, 10, darkText},
		{"full block", 3, 1, darkText},
	} {
		if got := at(tt.cell, tt.y); got != tt.want {
			t.Errorf("%s is %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Lines join at the edges of cells.
func TestFramesJoin(t *testing.T) {
	img, err := Draw(screenOf("╭─╮\n│ │\n╰─╯", 3, 3), Dark)
	if err != nil {
		t.Fatal(err)
	}
	for x := margin + cellWidth/2 + 6; x < margin+2*cellWidth+4; x++ {
		if img.RGBAAt(x, margin+cellHeight/2) == darkGround {
			t.Fatalf("the upper edge has a hole at %d", x)
		}
	}
	for y := margin + cellHeight/2 + 6; y < margin+2*cellHeight+8; y++ {
		if img.RGBAAt(margin+cellWidth/2, y) == darkGround {
			t.Fatalf("the left edge has a hole at %d", y)
		}
	}
}

func TestBrailleDots(t *testing.T) {
	img, err := Draw(screenOf("⠁⢀", 2, 1), Dark)
	if err != nil {
		t.Fatal(err)
	}
	if img.RGBAAt(margin+2, margin+2) == darkGround || img.RGBAAt(margin+7, margin+2) != darkGround {
		t.Error("dot 1 is not where it belongs")
	}
	if img.RGBAAt(margin+cellWidth+7, margin+17) == darkGround || img.RGBAAt(margin+cellWidth+2, margin+17) != darkGround {
		t.Error("dot 8 is not where it belongs")
	}
}

func TestSameScreenSamePicture(t *testing.T) {
	var a, b bytes.Buffer
	cells := screenOf("\x1b[1mprismtop\x1b[m ● ◌ ✓ ✗ ‖ ▴ ┊╌⣿", 30, 1)
	if PNG(&a, cells, Light) != nil || PNG(&b, cells, Light) != nil || !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same screen gives different pictures")
	}
}

// A screen with many colours still gets a palette.
func TestAScreenHasAPalette(t *testing.T) {
	var text strings.Builder
	for i := 16; i < 46; i++ {
		fmt.Fprintf(&text, "\x1b[38;5;%dmAg8\x1b[1m%%⣷\x1b[m", i)
	}
	text.WriteString("\n")
	for i := 232; i < 256; i++ {
		fmt.Fprintf(&text, "\x1b[38;5;%d;48;5;%dm▀", i, 487-i)
	}
	cells := screenOf(text.String(), 150, 2)
	drawn, err := Draw(cells, Dark)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := PNG(&b, cells, Dark); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := img.(*image.Paletted); !ok {
		t.Errorf("the picture is a %T", img)
	} else if n := len(p.Palette); n < 50 {
		t.Errorf("it has %d colours only", n)
	}
	for y := range drawn.Rect.Dy() {
		for x := range drawn.Rect.Dx() {
			if got := color.RGBAModel.Convert(img.At(x, y)); got != drawn.RGBAAt(x, y) {
				t.Fatalf("pixel %d, %d is %v, want %v", x, y, got, drawn.RGBAAt(x, y))
			}
		}
	}
}
