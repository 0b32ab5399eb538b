package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/export"
	"prismtop/profiles/export/digest"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/machine"
)

var from = export.Source{Version: "1.2", Preset: "base " + exporttest.Hostile, CPU: machine.CPU{Model: "Test CPU"}, Processors: 2}

// story is the charts and the summary of a story.
func story(t testing.TB, s exporttest.Story) (*digest.Digest, *export.Summary) {
	t.Helper()
	d := &digest.Digest{}
	s.Follow(d)
	return d, export.Summarize(d.Snapshot(), from)
}

// drawn are figures of runs that differ in what they have.
func drawn(t *testing.T) map[string]*Drawing {
	t.Helper()
	all := map[string]*Drawing{}
	for name, s := range map[string]exporttest.Story{"long": {Iterations: 5000}, "short": {Iterations: 3}, "one": {Iterations: 1}, "again": {Iterations: 700, Restarted: true}} {
		d, sum := story(t, s)
		all[name] = Whole(d, sum)
	}
	all["none"] = Whole(&digest.Digest{}, export.Summarize((&digest.Digest{}).Snapshot(), from))
	return all
}

// element is an element of an SVG.
type element struct {
	name string
	at   map[string]string
	text string
}

// parsed reads an SVG and fails on any that is not well-formed.
func parsed(t *testing.T, text []byte) (all []element) {
	t.Helper()
	decoder := xml.NewDecoder(bytes.NewReader(text))
	depth := []int{}
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch v := token.(type) {
		case xml.StartElement:
			e := element{name: v.Name.Local, at: map[string]string{}}
			for _, a := range v.Attr {
				e.at[a.Name.Local] = a.Value
			}
			depth = append(depth, len(all))
			all = append(all, e)
		case xml.CharData:
			if len(depth) > 0 {
				all[depth[len(depth)-1]].text += string(v)
			}
		case xml.EndElement:
			depth = depth[:len(depth)-1]
		}
	}
}

func value(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFiguresAreWellFormedAndTheirTextsFit(t *testing.T) {
	for name, d := range drawn(t) {
		var b bytes.Buffer
		if err := d.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		texts := 0
		for _, e := range parsed(t, b.Bytes()) {
			switch e.name {
			case "svg", "title", "desc", "path":
				for _, n := range regexp.MustCompile(`[-0-9.]+ [-0-9.]+`).FindAllString(e.at["d"], -1) {
					x, y, _ := strings.Cut(n, " ")
					if v, w := value(t, x), value(t, y); v < 0 || v > d.Width || w < 0 || w > d.Height {
						t.Errorf("%s: a path leaves the frame at %s", name, n)
					}
				}
			case "text":
				texts++
				size, x, y := value(t, e.at["font-size"]), value(t, e.at["x"]), value(t, e.at["y"])
				left, width := x, textWidth(e.text, size)
				switch e.at["text-anchor"] {
				case "middle":
					left -= width / 2
				case "end":
					left -= width
				}
				if left < 0 || left+width > d.Width || y < size || y > d.Height {
					t.Errorf("%s: %q leaves the frame: from %g, %g wide, at %g", name, e.text, left, width, y)
				}
			default:
				t.Errorf("%s: an element %s", name, e.name)
			}
		}
		if texts < 15 {
			t.Errorf("%s: %d texts", name, texts)
		}
		if strings.ContainsAny(b.String(), "\x1b\u202e") {
			t.Errorf("%s: a control character is there as it is", name)
		}
	}
}

func TestAFigureNamesWhatItShows(t *testing.T) {
	d, sum := story(t, exporttest.Story{Iterations: 5000})
	var b bytes.Buffer
	if err := Whole(d, sum).WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, e := range parsed(t, b.Bytes()) {
		all += e.text + "\n"
	}
	for _, want := range []string{"Iteration time (ms)", "Phases (ms per iteration)", "Loss", "PSNR (dB)", "Cache hit rates (%)", "Memory (MB)",
		"amp off → bf16", "iteration 1666", "backward", "mask", "process", "Iteration\n", "Test CPU", "faster", "10th to 90th percentile; longest "} {
		if !strings.Contains(all, want) {
			t.Errorf("the figure lacks %q", want)
		}
	}
	if !regexp.MustCompile(`−(29|30|31) % \[`).MatchString(all) {
		t.Errorf("the effect of the change is not there:\n%s", all)
	}
}

func TestPNGsShowTheSame(t *testing.T) {
	for name, d := range drawn(t) {
		var b bytes.Buffer
		if err := d.WritePNG(&b); err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if size := picture.Bounds().Size(); size.X != int(d.Width)*scale || size.Y != int(math.Ceil(d.Height*scale)) {
			t.Errorf("%s: %v pixels", name, size)
		}
		// Where the drawing has the ink of an axis the picture is dark, and at its corners it is paper.
		for i := range d.shapes {
			s := &d.shapes[i]
			if s.stroke == Ink && s.width == 1 && len(s.points) == 3 {
				x, y := int(s.points[1].X*scale), int(s.points[1].Y*scale)
				if r, _, _, _ := picture.At(x, y).RGBA(); r > 0x8000 {
					t.Errorf("%s: no axis at %d, %d", name, x, y)
				}
			}
		}
		for _, x := range []int{0, int(d.Width)*scale - 1} {
			if r, g, b, _ := picture.At(x, 0).RGBA(); r&g&b != 0xffff {
				t.Errorf("%s: the corner at %d is not paper", name, x)
			}
		}
	}
}

// lightness returns the relative luminance of a colour, 0 to 1 (WCAG 2).
func lightness(v uint32) float64 {
	linear := func(c uint32) float64 {
		s := float64(c&255) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(v>>16) + 0.7152*linear(v>>8) + 0.0722*linear(v)
}

func contrast(a, b uint32) float64 {
	x, y := lightness(a), lightness(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Without colours, curves differ in their dashes and areas from their neighbours in lightness.
func TestFiguresCanBeReadInBlackAndWhite(t *testing.T) {
	var seen []string
	for _, d := range dashes {
		if text := fmt.Sprint(d); slices.Contains(seen, text) {
			t.Errorf("two curves have the dashes %s", text)
		} else {
			seen = append(seen, text)
		}
	}
	for name, p := range map[string]*Palette{"light": &Light, "dark": &Dark} {
		for i := 1; i < len(p.areas); i++ {
			if c := contrast(p.areas[i], p.areas[i-1]); c < 1.5 {
				t.Errorf("%s: the areas %d and %d have a contrast of %.2f", name, i-1, i, c)
			}
		}
		for of, least := range map[Paint]float64{Ink: 7, Muted: 4.5} {
			if c := contrast(p.value(of), p.paper); c < least {
				t.Errorf("%s: text %s has a contrast of %.2f", name, of.class(), c)
			}
		}
		for i, v := range p.curves {
			if c := contrast(v, p.paper); c < 3 {
				t.Errorf("%s: curve %d has a contrast of %.2f", name, i, c)
			}
		}
	}
}

func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		a    axis
		n    int
		want string
	}{
		{axis{low: 0, high: 10}, 5, "[0 2 4 6 8 10]"},
		{axis{low: 0, high: 1.03}, 5, "[0 0.5 1]"},
		{axis{low: 0.012, high: 0.9, log: true}, 5, "[0.02 0.05 0.1 0.2 0.5]"},
		{axis{low: 1e-6, high: 1, log: true}, 4, "[1e-06 0.0001 0.01 1]"},
		{axis{low: 3, high: 3}, 4, "[3]"},
	} {
		got := c.a.ticks(c.n)
		for i := range got {
			got[i] = math.Round(got[i]*1e9) / 1e9
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("from %g to %g: %v, want %s", c.a.low, c.a.high, got, c.want)
		}
	}
}

// A few iterations that took very long do not flatten all others.
func TestSpikesAreCut(t *testing.T) {
	values := slices.Repeat([]float64{5, 6}, 50)
	if top, largest := highest(values); top != 6 || largest != 6 {
		t.Errorf("without spikes: up to %g of %g", top, largest)
	}
	values[17] = 300
	if top, largest := highest(values); top > 10 || largest != 300 {
		t.Errorf("with a spike: up to %g of %g", top, largest)
	}
	d, sum := story(t, exporttest.Story{Iterations: 1500})
	var b bytes.Buffer
	if err := Whole(d, sum).WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`mean, stacked; cut above, up to [0-9.]+<`).MatchString(b.String()) {
		t.Error("the chart of a run with spikes does not say that they are cut")
	}
}

func TestTextsAreShortened(t *testing.T) {
	if got := fit("iteration", 11, 1000); got != "iteration" {
		t.Errorf("%q", got)
	}
	got := fit(strings.Repeat("a long name ", 50), 11, 120)
	if w := textWidth(got, 11); w > 120 || w < 90 || !strings.HasSuffix(got, "…") {
		t.Errorf("%q is %g wide", got, w)
	}
	if got := fit("anything", 11, 3); got != "" {
		t.Errorf("%q", got)
	}
}

// A curve of hit rates goes on over iterations in which the cache is not asked, and not over those in which it is off.
func TestHitRatesAreInterruptedWhereACacheIsOff(t *testing.T) {
	asked := func(hits int64) (b digest.Bin) {
		b.Hits[0], b.Lookups[0] = hits, 10
		return b
	}
	d := &digest.Digest{Bins: []digest.Bin{asked(2), {}, asked(4), {Off: [profiles.MaxCaches]bool{true}}, asked(6)}}
	d.Info.Schema.Caches = []profiles.CacheInfo{{Name: "masks"}}
	c := hitRates(d)
	var runs []string
	(&plotting{chart: &c}).runs(&c.Curves[0], func(run []int) { runs = append(runs, fmt.Sprint(run)) })
	if want := []string{"[0 2]", "[4]"}; !slices.Equal(runs, want) {
		t.Errorf("drawn as %v, want %v", runs, want)
	}
	d.Bins = d.Bins[3:4]
	if c := hitRates(d); len(c.Curves) > 0 {
		t.Errorf("a cache that was always off has the curve %v", c.Curves)
	}
}

// The running time of a resumed run is that of its newest part, and says so.
func TestTheFactsOfAResumedRun(t *testing.T) {
	sum := &export.Summary{State: "finished", WallSeconds: 5, Iterations: 300, ResumedAfter: 120, Version: "1.2"}
	sum.WallSecondsInAll = 65
	const want = "00:00:05 since a checkpoint, 00:01:05 in all, finished · 300 iterations, 120 before it · prismtop 1.2"
	if got := Facts(&digest.Digest{}, sum); got != want {
		t.Errorf("%q", got)
	}
}

// Every change has its number in each chart, lines close together as a range, and a long reason is broken, not cut.
func TestChangesAreNumberedAndTheirReasonsWhole(t *testing.T) {
	d, sum := story(t, exporttest.Story{Iterations: 5000})
	const why = "not comparable: too few undisturbed iterations before it to know how far the time of an iteration moves by itself, with nothing " +
		"changed, and other programs took 62 % of the processors after it"
	for _, at := range []int64{100, 1000, 1010, 1020, 1666, 1700, 4990} {
		sum.Changes = append(sum.Changes, export.Change{Key: "threads", Before: "2", After: "1", Iteration: at, Without: why})
	}
	sum.Changes = sum.Changes[2:] // drop the story's own changes
	var b bytes.Buffer
	if err := Whole(d, sum).WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	marks, list := map[string]int{}, ""
	for _, e := range parsed(t, b.Bytes()) {
		if e.name == "text" {
			list += e.text + " "
			if value(t, e.at["font-size"]) == smallSize {
				marks[e.text]++
			}
		}
	}
	for _, number := range []string{"1", "2–4", "5–6", "7"} {
		if marks[number] != 6 { // charts
			t.Errorf("%q stands in %d charts: %v", number, marks[number], marks)
		}
	}
	if n := strings.Count(list, why); n != 7 {
		t.Errorf("%d whole reasons in\n%s", n, list)
	}
}
