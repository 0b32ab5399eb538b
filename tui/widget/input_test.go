package widget

import (
	"strings"
	"testing"
)

// The first text typed replaces the initial value; keys that move the cursor or delete keep it.
func TestWhatIsTypedReplacesTheSelectedValue(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want string
	}{
		{"5 0", "50"},
		{"left 5", "1050"}, // before the last digit
		{"right 5", "1005"},
		{"end 5", "1005"},
		{"home 5", "5100"},
		{"backspace 5", "105"},
		{"delete 7", "7"},
		{"home delete 2", "200"},
		{"home right right backspace", "10"},
		{"ctrl+u 3", "3"},
		{"5 left 6", "65"},
		{"tab f5 5", "5"}, // keys without a function leave it selected
		{"left left left left 9", "9100"},
	} {
		in := NewInput("100")
		for _, key := range strings.Fields(tt.keys) {
			in.Press(key)
		}
		if got := in.Value(); got != tt.want || in.selected {
			t.Errorf("%s: %q, want %q; selected %v", tt.keys, got, tt.want, in.selected)
		}
	}
	in := NewInput("old.png")
	if in.Paste("\x1b\n"); !in.selected || in.Value() != "old.png" {
		t.Errorf("a paste of nothing left %+v", in)
	}
	if in.Paste("/data/new\n.png"); in.Value() != "/data/new.png" {
		t.Errorf("a paste made %q", in.Value())
	}
	in.Paste(strings.Repeat("x", 2*longestInput))
	if got := len(in.Value()); got != longestInput {
		t.Errorf("%d bytes, want %d", got, longestInput)
	}
}
