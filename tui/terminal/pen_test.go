package terminal

import (
	"strings"
	"testing"
)

// A change of style takes the shortest sequence.
func TestStylesChangeByTheLeast(t *testing.T) {
	for _, tt := range []struct{ from, to, text, want string }{
		{"", "38;5;75", "x", "38;5;75"},
		{"38;5;75", "38;5;75", "x", "none"},
		{"38;5;75", "38;5;209", "x", "38;5;209"},
		{"38;5;75", "", "x", ""},
		{"38;5;75", "", " ", "none"}, // a space shows no colour
		{"1", "", " ", "none"},
		{"1;38;5;75", "1;38;5;209", "x", "38;5;209"},
		{"1;38;5;75", "38;5;75", "x", "22"},
		{"1;38;5;75", "38;5;9", "x", "0;38;5;9"},
		{"38;5;75", "1;38;5;75", "x", "1"},
		{"2", "1", "x", "0;1"},
		{"1;2", "1", "x", "0;1"},
		{"96", "92", "x", "92"},
		{"38;2;1;2;3;48;2;4;5;6", "38;2;1;2;3;48;2;7;8;9", "▀", "48;2;7;8;9"},
		{"38;2;1;2;3;48;2;4;5;6", "38;2;0;0;0;48;2;4;5;6", "▀", "38;2;0;0;0"},
		{"38;2;1;2;3;48;2;4;5;6", "48;2;4;5;6", " ", "none"},
		{"38;2;1;2;3;48;2;4;5;6", "48;2;7;8;9", " ", "48;2;7;8;9"},
		{"38;2;1;2;3;48;2;4;5;6", "", " ", ""},
		{"38;2;1;2;3;48;2;4;5;6", "38;5;75", "x", "0;38;5;75"},
		{"48;5;240", "38;5;241;48;5;240", "▀", "38;5;241"},
		{"4;38;5;75", "38;5;75", "x", "m\x1b[38;5;75"}, // unknown attributes are reset first
		{"38;5;75", "4;38;5;75", " ", "m\x1b[4;38;5;75"},
	} {
		var p pen
		p.wear(nil, glyph{"x", sgr(tt.from)})
		got := string(p.wear(nil, glyph{tt.text, sgr(tt.to)}))
		want := "\x1b[" + tt.want + "m"
		if tt.want == "none" {
			want = ""
		}
		if got != want {
			t.Errorf("from %q to %q on %q: %q, want %q", tt.from, tt.to, tt.text, got, want)
		}
	}
}

func sgr(parameters string) string {
	if parameters == "" {
		return ""
	}
	return "\x1b[" + parameters + "m"
}

func TestSequencesAreReadOneByOne(t *testing.T) {
	for text, want := range map[string]look{
		"":                          {},
		"\x1b[m":                    {},
		"\x1b[;1m":                  {weight: "1"},
		"\x1b[1m\x1b[38;5;7m":       {weight: "1", fore: "38;5;7"},
		"\x1b[1;2;96m":              {weight: "1;2", fore: "96"},
		"\x1b[48;2;1;2;3;38;5;9;1m": {weight: "1", fore: "38;5;9", back: "48;2;1;2;3"},
		"\x1b[1;0;31m":              {fore: "31"},
		"\x1b[4;7m":                 {other: "4;7"},
		"\x1b[38;5m":                {other: "38;5"},
	} {
		if got := readLook(text); got != want {
			t.Errorf("%q is %+v, want %+v", strings.ReplaceAll(text, "\x1b", "^"), got, want)
		}
	}
}
