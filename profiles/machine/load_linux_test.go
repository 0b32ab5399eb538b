package machine

import (
	"math"
	"testing"
)

func TestParseStat(t *testing.T) {
	l, err := parseStat("cpu  100 10 50 800 40 5 15 20 7 0\ncpu0 1 1\n")
	if err != nil || math.Abs(l.Busy-2) > 1e-9 || math.Abs(l.Passed-10.4) > 1e-9 {
		t.Errorf("%+v, %v; want 2 s busy of 10.4", l, err)
	}
	for _, text := range []string{"", "cpu 1 2", "intr 1 2 3 4 5 6 7 8 9", "cpu a b c d e f g h", "cpu -1 0 0 0 0 0 0 0"} {
		if _, err := parseStat(text); err == nil {
			t.Errorf("parseStat(%q) found no error", text)
		}
	}
	if l := ReadLoad(); l.Reason != "" || l.Passed <= 0 {
		t.Errorf("%+v", l)
	}
}
