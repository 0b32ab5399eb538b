package terminal

import (
	"testing"

	"prismtop/tui/theme"
)

// A change of style takes the shortest sequence.
func TestStylesChangeByTheLeast(t *testing.T) {
	for _, tt := range []struct {
		from, to theme.Look
		on       rune
		want     string
	}{
		{theme.Look{}, theme.Look{Fore: "38;5;75"}, 'x', "38;5;75"},
		{theme.Look{Fore: "38;5;75"}, theme.Look{Fore: "38;5;75"}, 'x', "none"},
		{theme.Look{Fore: "38;5;75"}, theme.Look{Fore: "38;5;209"}, 'x', "38;5;209"},
		{theme.Look{Fore: "38;5;75"}, theme.Look{}, 'x', ""},
		{theme.Look{Fore: "38;5;75"}, theme.Look{}, ' ', "none"}, // a space shows no colour
		{theme.Look{Weight: "1"}, theme.Look{}, ' ', "none"},
		{theme.Look{Weight: "1", Fore: "38;5;75"}, theme.Look{Weight: "1", Fore: "38;5;209"}, 'x', "38;5;209"},
		{theme.Look{Weight: "1", Fore: "38;5;75"}, theme.Look{Fore: "38;5;75"}, 'x', "22"},
		{theme.Look{Weight: "1", Fore: "38;5;75"}, theme.Look{Fore: "38;5;9"}, 'x', "0;38;5;9"},
		{theme.Look{Fore: "38;5;75"}, theme.Look{Weight: "1", Fore: "38;5;75"}, 'x', "1"},
		{theme.Look{Weight: "2"}, theme.Look{Weight: "1"}, 'x', "0;1"},
		{theme.Look{Weight: "1;2"}, theme.Look{Weight: "1"}, 'x', "0;1"},
		{theme.Look{Fore: "96"}, theme.Look{Fore: "92"}, 'x', "92"},
		{theme.Look{Fore: "38;2;1;2;3", Back: "48;2;4;5;6"}, theme.Look{Fore: "38;2;1;2;3", Back: "48;2;7;8;9"}, '▀', "48;2;7;8;9"},
		{theme.Look{Fore: "38;2;1;2;3", Back: "48;2;4;5;6"}, theme.Look{Fore: "38;2;0;0;0", Back: "48;2;4;5;6"}, '▀', "38;2;0;0;0"},
		{theme.Look{Fore: "38;2;1;2;3", Back: "48;2;4;5;6"}, theme.Look{Back: "48;2;4;5;6"}, ' ', "none"},
		{theme.Look{Fore: "38;2;1;2;3", Back: "48;2;4;5;6"}, theme.Look{Back: "48;2;7;8;9"}, ' ', "48;2;7;8;9"},
		{theme.Look{Fore: "38;2;1;2;3", Back: "48;2;4;5;6"}, theme.Look{}, ' ', ""},
		{theme.Look{Fore: "38;2;1;2;3", Back: "48;2;4;5;6"}, theme.Look{Fore: "38;5;75"}, 'x', "0;38;5;75"},
		{theme.Look{Back: "48;5;240"}, theme.Look{Fore: "38;5;241", Back: "48;5;240"}, '▀', "38;5;241"},
		{theme.Look{Fore: "38;5;75", Other: "7"}, theme.Look{Fore: "38;5;75"}, 'x', "m\x1b[38;5;75"}, // unknown attributes are reset first
		{theme.Look{Fore: "38;5;75"}, theme.Look{Fore: "38;5;75", Other: "7"}, ' ', "m\x1b[7;38;5;75"},
	} {
		var p pen
		p.put(nil, tt.from, 'x')
		got := string(p.put(nil, tt.to, tt.on))
		want := "\x1b[" + tt.want + "m"
		if tt.want == "none" {
			want = ""
		}
		if got != want {
			t.Errorf("from %v to %v on %q: %q, want %q", tt.from, tt.to, tt.on, got, want)
		}
	}
}
