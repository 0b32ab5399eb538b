package bench

import (
	"strings"
	"testing"
	"time"
)

// Progress is one line on a terminal, and a line every ten seconds elsewhere.
func TestProgress(t *testing.T) {
	for rewrite, want := range map[bool]string{true: "\r9 s \r18 s \r27 s \n", false: "18 s\n"} {
		var out strings.Builder
		at := time.Unix(1e9, 0)
		p := progress{w: &out, rewrite: rewrite, now: func() time.Time { return at }, last: at}
		for seconds := 9; seconds < 30; seconds += 9 {
			at = at.Add(9 * time.Second)
			p.report("%d s", seconds)
		}
		p.end()
		p.end()
		if out.String() != want {
			t.Errorf("rewritten: %v: %q, want %q", rewrite, out.String(), want)
		}
	}
}
