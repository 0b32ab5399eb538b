package library

import "testing"

func TestTextEndsAtNUL(t *testing.T) {
	for text, want := range map[string]string{"a\x00b": "a", "ab": "ab", "\x00": "", "": ""} {
		if got := Text([]byte(text)); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}
