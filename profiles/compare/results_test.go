package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"prismtop/profiles"
	"prismtop/profiles/stats"
)

// Equal bits are equal results whatever the noise; another seed says nothing; a result that differs by
// far more than rounding is called so.
func TestResultsAreComparedAtEqualIterations(t *testing.T) {
	base := simulation{seed: 1, iterations: 4000}
	same := compared(t, base, simulation{seed: 2, iterations: 5000})
	if r := rowNamed(t, same, "loss_mean"); r.Against[0].Verdict != Equal || r.Against[0].Raw != 0 {
		t.Errorf("the same bits: %s, %+v", r.Words(0), r.Against[0])
	}
	if r := rowNamed(t, same, "psnr_db_end"); r.Against[0].Verdict != NotComparable || r.Against[0].Reason != "after 4000 and 5000 iterations" {
		t.Errorf("at the end: %+v", r.Against[0])
	}
	unwatched := compared(t, simulation{seed: 1, iterations: 1600, lacks: 10}, simulation{seed: 2, iterations: 1600, lacks: 13})
	if r := rowNamed(t, unwatched, "loss_mean"); r.Against[0].Briefly != "measured elsewhere" {
		t.Errorf("the same bits, of which each lacks some: %s, %+v", r.Words(0), r.Against[0])
	}
	other := compared(t, base, simulation{seed: 2, iterations: 4000, seedOf: 7})
	if r := rowNamed(t, other, "psnr_db"); r.Against[0].Verdict != NotComparable || r.Against[0].Briefly != "other seed" || len(other.Settings) != 1 {
		t.Errorf("another seed: %+v", r.Against[0])
	}
	other = compared(t, base, simulation{seed: 2, iterations: 4000, distance: "l2"})
	if r := rowNamed(t, other, "loss_mean"); r.Against[0].Verdict != NotComparable ||
		r.Against[0].Reason != "the losses measure something else: distance = l1 and l2" {
		t.Errorf("other losses: %+v", r.Against[0])
	}
	if r := rowNamed(t, other, "psnr_db"); r.Against[0].Verdict != Equal {
		t.Errorf("PSNR of other losses: %+v", r.Against[0])
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

// What follows from the settings has no interval: its difference is what it is, whatever the seeds.
func TestWhatTheSettingsFixIsComparedAsItIs(t *testing.T) {
	more := simulation{seed: 2, iterations: 4000, seedOf: 7, psnr: 0.01, fixed: true}
	r := rowNamed(t, compared(t, simulation{seed: 1, iterations: 4000, fixed: true}, more), "psnr_db")
	want := r.Values[1].Value - r.Values[0].Value
	if d := r.Against[0]; want == 0 || d.Value != want || d.Low != want || d.High != want ||
		d.Verdict != map[bool]Verdict{true: More, false: Less}[want > 0] {
		t.Errorf("%s, %+v", r.Words(0), d)
	}
}

// A row of a result is the value that its title says: of the iteration named, of the newest measurement by then, or the
// mean of the iterations that About names. Lengths of one to some bins, whole and not, and equal and not.
func TestResultsAreTheValuesThatTheirTitlesSay(t *testing.T) {
	for _, lengths := range [][2]int{{717, 717}, {717, 5000}, {3001, 3001}, {4001, 3001}, {61, 61}, {7, 7}, {9001, 9001}} {
		var losses, quality [2][]float64
		var measured [2][]int
		var c *Comparison
		sides := [2]simulation{{seed: 1, iterations: lengths[0]}, {seed: 2, iterations: lengths[1], noise: rand.New(rand.NewPCG(9, 9))}}
		for k := range sides {
			m := sides[k]
			if m.noise != nil {
				m.noise = rand.New(rand.NewPCG(9, 9))
			}
			m.play(func(e *profiles.Event) {
				switch b := e.Body.(type) {
				case *profiles.Iteration:
					losses[k] = append(losses[k], b.Series[0])
				case *profiles.Measurement:
					quality[k], measured[k] = append(quality[k], b.Values[1]), append(measured[k], int(b.Iteration)+1)
				}
			})
		}
		c = compared(t, sides[0], sides[1])
		check := func(name, title string, k int, want float64) {
			t.Helper()
			r := rowNamed(t, c, name)
			if got := r.Values[k].Value; math.Abs(got-want) > 1e-12*math.Abs(want) || !strings.HasPrefix(r.Title, title) {
				t.Errorf("%v: %q of side %d is %v, want %q to be %v", lengths, r.Title, k, got, title, want)
			}
		}
		mean := rowNamed(t, c, "loss_mean")
		var n, from, to int
		if _, err := fmt.Sscanf(mean.About, "last %d: mean of iterations %d to %d", &n, &from, &to); err != nil || n != to-from+1 || lengths[0] == lengths[1] && to != lengths[0]-1 {
			t.Fatalf("%v: about %q: %v", lengths, mean.About, err)
		}
		for k := range sides {
			check("loss_mean", fmt.Sprintf("loss new, last %d", n), k, stats.Mean(losses[k][from:to+1]))
			end := "loss new, end"
			if lengths[0] == lengths[1] {
				end = fmt.Sprintf("loss new at %d", lengths[0]-1)
			}
			check("loss_end", end, k, losses[k][lengths[k]-1])
			at := sort.SearchInts(measured[k], to+2) - 1
			if at < 0 {
				continue
			}
			check("psnr_db", "PSNR ", k, quality[k][at])
			if r := rowNamed(t, c, "psnr_db"); r.Values[k].At != int64(measured[k][at]) {
				t.Errorf("%v: %q of side %d was measured at %d, the row says %d", lengths, r.Title, k, measured[k][at], r.Values[k].At)
			}
		}
	}
}

// Of runs that computed the same bits, measurements at other iterations are not compared, and not called equal.
func TestMeasurementsOfOtherIterationsAreNotCompared(t *testing.T) {
	whole, part := simulation{seed: 1, iterations: 700}.sample(t, "A", ""), simulation{seed: 1, iterations: 700}.sample(t, "B", "..iteration690")
	whole.grid.measured(&profiles.Measurement{Iteration: 680, Values: profiles.Values{math.NaN(), 21}}, &whole.schema)
	c, err := Compare([]string{"A", "B"}, [][]*Sample{{whole}, {part}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r := rowNamed(t, c, "psnr_db")
	if d := r.Against[0]; d.Verdict != NotComparable || d.Briefly != "measured elsewhere" || r.About != "by 689: the newest measurement, A at iteration 680, B at iteration 659" {
		t.Errorf("%q, %q: %+v", r.Title, r.About, d)
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

// Of two stretches of one run, before a change and after it, the results are no comparison, each has the lookups within
// it, and the memory is that at its end; times are compared.
func TestStretchesOfOneRunAreNotComparedAtEqualIterations(t *testing.T) {
	m := simulation{seed: 5, iterations: 4000, change: 2500}
	c, err := Compare([]string{"A", "B"}, [][]*Sample{{m.sample(t, "run", "..change1")}, {m.sample(t, "run", "change1..")}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		d := &r.Against[0]
		switch {
		case r.Group == Quality && (d.Verdict != NotComparable || !strings.HasPrefix(d.Reason, "B goes on from where A ends")):
			t.Errorf("%s: %s, %q", r.Title, r.Words(0), d.Reason)
		case r.Group == Speed && d.Verdict == NotComparable:
			t.Errorf("%s: %s", r.Title, d.Reason)
		case (r.Group == Caches || r.Group == Memory) && !strings.Contains(r.About, "each stretch"):
			t.Errorf("%s: about %q", r.Title, r.About)
		}
	}
	for name, want := range map[string]struct {
		values [2]float64
		at     [2]int64
		words  string
	}{
		"masks_hit_rate":    {[2]float64{2495. / 2500, 1497. / 1500}, [2]int64{}, "equal"},
		"masks_cache_bytes": {[2]float64{4096, 4096}, [2]int64{}, "equal"},
		"weights_bytes":     {[2]float64{4 << 20, 4 << 20}, [2]int64{}, "equal"},
		"activations_bytes": {[2]float64{1 << 20, 2 << 20}, [2]int64{}, "more"},
		"rss_peak_bytes":    {[2]float64{}, [2]int64{}, "not comparable"},
		"psnr_db_end":       {[2]float64{}, [2]int64{2460, 3960}, "not comparable"},
		"loss_end":          {[2]float64{}, [2]int64{2500, 4000}, "not comparable"},
	} {
		r := rowNamed(t, c, name)
		for k, v := range r.Values {
			if want.values[k] != 0 && v.Value != want.values[k] || v.At != want.at[k] || !finite(v.Value) {
				t.Errorf("%s of side %d: %+v, want %g at %d", name, k, v, want.values[k], want.at[k])
			}
		}
		if r.Words(0) != want.words {
			t.Errorf("%s: %s, %q", name, r.Words(0), r.Against[0].Reason)
		}
	}
	if want := len(simulatedPhases) + 3; c.Intervals != want { // the iteration, its rate, and all together
		t.Errorf("%d intervals, want %d", c.Intervals, want)
	}
}

// Whatever stretches do not begin at the same iteration have no equal iterations, and why is said; others have.
func TestWhyStretchesHaveNoEqualIterations(t *testing.T) {
	m := simulation{seed: 5, iterations: 1000}
	for _, c := range []struct{ path, a, b, want string }{
		{"run", "..iteration500", "iteration500..", "B goes on from where A ends"},
		{"run", "iteration500..", "..iteration500", "A goes on from where B ends"},
		{"run", "..iteration300", "iteration500..", "B is a later part of the run of A"},
		{"run", "..iteration500", "iteration300..", "A begins at iteration 0 of its run and B at 300"},
		{"other", "iteration100..", "iteration300..", "A begins at iteration 100 of its run and B at 300"},
		{"other", "iteration100..", "iteration100..", ""},
		{"run", "..iteration600", "", ""},
	} {
		got, err := Compare([]string{"A", "B"}, [][]*Sample{{m.sample(t, "run", c.a)}, {m.sample(t, c.path, c.b)}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		if c.want == "" {
			if r := rowNamed(t, got, "loss_mean"); r.Against[0].Verdict != Equal {
				t.Errorf("%+v: %s, %q", c, r.Words(0), r.Against[0].Reason)
			}
			continue
		}
		if r := rowNamed(t, got, "loss_end"); r.Against[0].Verdict != NotComparable || !strings.HasPrefix(r.Against[0].Reason, c.want) {
			t.Errorf("%+v: %s, %q", c, r.Words(0), r.Against[0].Reason)
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
	if !IsMarkdown(b.Bytes()) || IsMarkdown([]byte("# Comparison\n\n| method | PSNR |\n")) {
		t.Errorf("what is a comparison is not told by its beginning:\n%s", b.String())
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

// The peak of the resident memory is the run's, with what comes after its last iteration; that of a run which goes on beyond
// the other's end is the one until there, and the comparison says so.
func TestThePeakOfMemoryIsTheRuns(t *testing.T) {
	const spike = 500 << 20
	whole := simulation{seed: 3, iterations: 1500}.sample(t, "A", "")
	whole.Take(&profiles.Event{At: whole.began.Add(time.Hour), Body: &profiles.Resident{RSS: spike, Peak: spike}})
	for _, other := range []int{1500, 3000} {
		c, err := Compare([]string{"A", "B"}, [][]*Sample{{whole}, {simulation{seed: 4, iterations: other}.sample(t, "B", "")}}, quiet)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range c.Rows {
			if r.Name == "rss_peak_bytes" && (r.Values[0].Value != spike || (r.About != "") != (other > 1500)) {
				t.Errorf("against %d iterations: %v bytes, about %q", other, r.Values[0].Value, r.About)
			}
		}
	}
	c, err := Compare([]string{"A", "B"}, [][]*Sample{{simulation{seed: 4, iterations: 700}.sample(t, "A", "")}, {whole}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Rows {
		if r.Name == "rss_peak_bytes" && (r.Values[1].Value >= spike || r.About == "") {
			t.Errorf("of the longer run: %v bytes, about %q", r.Values[1].Value, r.About)
		}
	}
}

// A loop's only loss has the title "loss".
func TestALossIsCalledOneOnce(t *testing.T) {
	for title, want := range map[string]string{"loss": "loss", "new": "loss new", "Training loss": "Training loss", "glossy": "loss glossy"} {
		r := resultRow(&profiles.SeriesInfo{Name: "loss", Title: title, Group: profiles.Losses})
		if r.Title != want {
			t.Errorf("the loss %q has a row %q, want %q", title, r.Title, want)
		}
	}
	if r := resultRow(&profiles.SeriesInfo{Name: "psnr_db", Title: "PSNR", Group: profiles.Metrics}); r.Title != "PSNR" {
		t.Errorf("a metric has a row %q", r.Title)
	}
}
