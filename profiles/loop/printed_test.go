package loop_test

import (
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/loop"
)

// What is printed is kept as a terminal would show it.
func TestWhatIsPrinted(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\n":                                 "a|b",
		"50%|##  |\r100%|####|\n":                "100%|####|",
		"loss 0.25\rloss 0.1\x1b[K\nend":         "loss 0.1|end",
		"\x1b[31mred\x1b[0m\n\x1b]0;title\x07x":  "red|x",
		"outer\n inner 1\x1b[A\router 2\n":       "outer 2| inner 1",
		"a\tb\u00e9\xff\n":                       "a    bé\ufffd",
		"\x1b[2J\x1b[999999999999A\x1b[5Gx\b\by": "   yx",
		"1\n2\n3\n4\n5\n6":                       "3|4|5|6",
		strings.Repeat("w", 50):                  strings.Repeat("w", 20),
	} {
		for _, step := range []int{1, 3, 1000} { // in pieces
			p := loop.NewPrinted(4, 20)
			for piece := range slices.Chunk([]byte(text), step) {
				_, _ = p.Write(piece)
			}
			if lines, _ := p.Lines(); strings.Join(lines, "|") != want {
				t.Errorf("%q: %q, want %q", text, lines, want)
			}
		}
	}
	p := loop.NewPrinted(4, 20)
	_, _ = p.Write([]byte("1\n2\n3\n4\n5\n6\n"))
	if lines, all := p.Lines(); all != 6 || len(lines) != 3 {
		t.Errorf("%q of %d", lines, all)
	}
}

// Nothing that is printed stops it, and no line outgrows its bounds.
func FuzzPrinted(f *testing.F) {
	f.Add([]byte("a\r\x1b[A\x1b[K\x1b]0;"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := loop.NewPrinted(4, 20)
		for range 3 {
			_, _ = p.Write(text)
		}
		lines, _ := p.Lines()
		if len(lines) > 4 {
			t.Errorf("%d lines", len(lines))
		}
	})
}
