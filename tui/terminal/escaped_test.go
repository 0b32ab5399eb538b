package terminal

import (
	"testing"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
)

// The sequence for esc and a key acts like both keys, even if they arrive at once.
func TestAKeyBehindEscIsNotLost(t *testing.T) {
	for _, tt := range []struct {
		sent, key string
	}{
		{"\x1bP", "P"}, {"\x1bA", "A"}, {"\x1ba", "a"}, {"\x1b?", "?"}, {"\x1bO", "O"}, {"\x1b[", "["},
		{"\x1b]", "]"}, {"\x1b ", "space"}, {"\x1b+", "+"}, {"\x1b\x1b", "esc"}, {"\x1b\t", "tab"},
		{"\x1b\x1b[A", "up"}, {"\x1bX", "X"}, {"\x1b_", "_"},
	} {
		var decoder uv.EventDecoder
		n, event := decoder.Decode([]byte(tt.sent))
		k, ok := event.(uv.KeyPressEvent)
		if !ok || n != len(tt.sent) {
			t.Errorf("%q is %T of %d bytes", tt.sent, event, n)
			continue
		}
		if rest, escaped := WithoutEsc(tea.KeyPressMsg(k)); !escaped || rest.String() != tt.key {
			t.Errorf("%q is %q behind esc: %v, want %q", tt.sent, rest, escaped, tt.key)
		}
	}
	for _, k := range []tea.KeyPressMsg{
		{Code: 'P', Text: "P"}, {Code: tea.KeyEscape}, {Code: 'z', Mod: tea.ModCtrl}, {Code: 'c', Mod: tea.ModCtrl | tea.ModAlt},
	} {
		if rest, escaped := WithoutEsc(k); escaped || rest.String() != k.String() {
			t.Errorf("%q is told apart: %q", k, rest)
		}
	}
}
