package compare

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// Equal bits are equal results whatever the noise; another seed says nothing; a result that differs by
// far more than rounding is called so.
func TestResultsAreComparedAtEqualIterations(t *testing.T) {
	base := simulation{seed: 1, iterations: 4000}
	same := compared(t, base, simulation{seed: 2, iterations: 5000})
	if r := rowNamed(t, same, "loss"); r.Against[0].Verdict != Equal || r.Against[0].Raw != 0 {
		t.Errorf("the same bits: %s, %+v", r.Words(0), r.Against[0])
	}
	if r := rowNamed(t, same, "psnr_db_end"); r.Against[0].Verdict != NotComparable || r.Against[0].Reason != "after 4000 and 5000 iterations" {
		t.Errorf("at the end: %+v", r.Against[0])
	}
	other := compared(t, base, simulation{seed: 2, iterations: 4000, seedOf: 7})
	if r := rowNamed(t, other, "psnr_db"); r.Against[0].Verdict != NotComparable || r.Against[0].Briefly != "other seed" || len(other.Settings) != 1 {
		t.Errorf("another seed: %+v", r.Against[0])
	}
	rounded := simulation{seed: 2, iterations: 4000, noise: rand.New(rand.NewPCG(9, 9))}
	if r := rowNamed(t, compared(t, base, rounded), "psnr_db"); r.Against[0].Verdict != InNoise {
		t.Errorf("other noise: %s, %+v", r.Words(0), r.Against[0])
	}
	rounded.noise, rounded.psnr = rand.New(rand.NewPCG(9, 9)), -5
	worse := compared(t, base, rounded)
	r := rowNamed(t, worse, "psnr_db")
	if r.Against[0].Verdict != Less || r.Sense(0) != -1 {
		t.Errorf("5 dB less: %s, %+v", r.Words(0), r.Against[0])
	}
	if over := worse.Over(0.05); len(over) != 1 || over[0].Row.Name != "psnr_db" || over[0].Side != 1 || len(worse.Over(0.5)) > 0 {
		t.Errorf("over 5 %%: %+v", over)
	}
}

// Counters and memory are compared at equal iterations, however long the runs were.
func TestCountersAreComparedAtEqualIterations(t *testing.T) {
	c := compared(t, simulation{seed: 1, iterations: 900}, simulation{seed: 2, iterations: 6000})
	for _, name := range []string{"masks_hit_rate", "masks_cache_bytes", "weights_bytes", "activations_bytes"} {
		if r := rowNamed(t, c, name); r.Against[0].Verdict != Equal || r.Against[0].Raw != 0 {
			t.Errorf("%s: %s, %+v", name, r.Words(0), r.Against[0])
		}
	}
}

// The table fits a terminal of 80 columns, in which names from outside steer nothing.
func TestTheTextFitsAndSteersNothing(t *testing.T) {
	m := simulation{seed: 1, iterations: 4000, layers: true, change: 3000}
	c, err := Compare([]string{"A\x1b[2J", "B"}, [][]*Sample{{m.sample(t, "a\x1b[2J|<b>", "")}, {simulation{seed: 2, iterations: 3500, slower: map[string]float64{"backward": 1.3}}.sample(t, "B", "")}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{80, 100, 0} {
		var b bytes.Buffer
		if err := WriteText(&b, c, width); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsRune(b.String(), '\x1b') {
			t.Error("an escape sequence was written")
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); width > 0 && n > width {
				t.Errorf("%d columns: %d of %q", width, n, line)
			}
		}
		if !strings.Contains(b.String(), "slower") {
			t.Errorf("no slower row in\n%s", b.String())
		}
	}
	var b bytes.Buffer
	if err := WriteMarkdown(&b, c); err != nil || strings.Contains(b.String(), "|<b>") || !strings.Contains(b.String(), "**slower**") {
		t.Errorf("%v in\n%s", err, b.String())
	}
	if _, err := json.Marshal(c.JSON("1", c.Over(0.1), c.Undecided(0.1))); err != nil {
		t.Error(err)
	}
}

// Curves have bounded numbers of points, in order.
func TestCurvesAreBounded(t *testing.T) {
	c := compared(t, simulation{seed: 1, iterations: 300}, simulation{seed: 2, iterations: 9000})
	if len(c.Curves) != 3 {
		t.Fatalf("%d curves", len(c.Curves))
	}
	for _, curve := range c.Curves {
		for side, points := range curve.Sides {
			if len(points) < 4 || len(points) > CurvePoints {
				t.Errorf("%s has %d points", curve.Name, len(points))
			}
			for i, p := range points {
				if p.Lowest > p.Value || p.Value > p.Highest || i > 0 && (p.Iteration <= points[i-1].Iteration || p.Seconds <= points[i-1].Seconds) {
					t.Errorf("%s of side %d: point %d is %+v", curve.Name, side, i, p)
				}
			}
		}
	}
}
