package terminal

import "testing"

func TestPlainTerminals(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		want    string
	}{
		{nil, ""},
		{[]string{"TERM=xterm-256color", "LANG=C.UTF-8"}, ""},
		{[]string{"TERM=xterm-256color", "LC_CTYPE=en_US.utf8", "LANG=C"}, ""},
		{[]string{"LANG=C"}, "the locale is not UTF-8 (LANG=C)"},
		{[]string{"LANG=de_DE.UTF-8", "LC_ALL=POSIX"}, "the locale is not UTF-8 (LC_ALL=POSIX)"},
		{[]string{"LANG=C", "LANG=C.UTF-8"}, ""},
		{[]string{"TERM=linux", "LANG=C.UTF-8"}, "the console's font has neither braille nor all blocks (TERM=linux)"},
	} {
		if got := Plain(tt.environ); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.environ, got, tt.want)
		}
	}
}
