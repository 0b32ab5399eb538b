package runreport_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"flag"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"prismtop/profiles"
	"prismtop/profiles/atomicfile"
	"prismtop/profiles/export"
	"prismtop/profiles/export/exporttest"
	"prismtop/profiles/export/runreport"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
)

var from = export.Source{Version: "1.2", Preset: "base", CPU: machine.CPU{Model: "Test CPU " + exporttest.Hostile}, Processors: 2,
	Origins: settings.Origins{"image": "flag --set", "cache": "preset base", "amp": "preset base", "rate": "file " + exporttest.Hostile, "threads": "preset base"}}

// written is a story in a format.
func written(t testing.TB, start func(io.Writer, export.Source) *runreport.Writer, s exporttest.Story, lost int64) string {
	t.Helper()
	var b bytes.Buffer
	w := start(&b, from)
	s.Follow(w)
	if err := w.Close(lost); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// between returns what is between two marks, which must be there once.
func between(t *testing.T, page, before, after string) string {
	t.Helper()
	_, rest, found := strings.Cut(page, before)
	inside, _, closed := strings.Cut(rest, after)
	if !found || !closed || strings.Contains(rest, before) {
		t.Fatalf("%q is not there once", before)
	}
	return inside
}

func TestAPageRequestsNothing(t *testing.T) {
	page := written(t, runreport.NewHTML, exporttest.Story{Iterations: 5000}, 0)
	policy := between(t, page, `<meta http-equiv="Content-Security-Policy" content="`, `">`)
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") {
		t.Errorf("the policy is %s", policy)
	}
	for _, part := range []string{between(t, page, "<style>", "</style>"), between(t, page, "<script>", "</script>")} {
		sum := sha256.Sum256([]byte(part))
		if !strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("the policy %s does not allow %.60s…", policy, part)
		}
	}
	for _, address := range regexp.MustCompile(`(?:src|href|action|srcset|poster|data)\s*=\s*"([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(address[1], "data:image/png;base64,") && address[1] != "data:," && !strings.HasPrefix(address[1], "#") {
			t.Errorf("the page refers to %s", address[1])
		}
	}
	for _, what := range []string{"@import", "url(", "<iframe", "<base"} {
		if strings.Contains(page, what) {
			t.Errorf("the page has %s", what)
		}
	}
}

// Names that users and files give are shown as they are, and mean nothing to a browser.
func TestHostileNamesAreText(t *testing.T) {
	page := written(t, runreport.NewHTML, exporttest.Story{Iterations: 5000}, 0)
	if strings.Contains(page, "<img src=x") || strings.ContainsAny(page, "\x1b\u202e") || strings.Count(page, "</script>") != 2 {
		t.Error("a name is part of the page")
	}
	shown := strings.Count(page, "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;")
	if shown < 8 { // the title, the heading, the object, the setting, its origin, the layer, the phase, the note, the processor, the alert
		t.Errorf("the name is shown %d times", shown)
	}
}

func TestAPageHasEverySection(t *testing.T) {
	page := written(t, runreport.NewHTML, exporttest.Story{Iterations: 5000, Restarted: true}, 9)
	var titles []string
	for _, m := range regexp.MustCompile(`<h2 id="[a-z]+">([^<]*)</h2>`).FindAllStringSubmatch(page, -1) {
		titles = append(titles, m[1])
	}
	want := "Charts, Overview, Changes and what they did, Notes on the run, Alerts, Quality and losses, Phases, Caches, Memory, Layers, Settings that differ from the preset, Machine, Earlier starts, Notes, All other settings"
	if got := strings.Join(titles, ", "); got != want {
		t.Errorf("the sections are\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{
		"<td>Events missing in this report</td><td>9</td>", "<td>amp off → bf16</td>", "<td>faster</td>", "<td>PSNR +", "<td>warning</td>", "Try that.", "<td>cleared</td>", "<td>pts/1</td>", ">looks better ",
		"reconstruction, iteration 2500", `alt="truth, 64 by 64 pixels"`, "preset base", "<td>per second</td>", "Newest values: median ",
		"no CUDA device", "prefers-color-scheme:dark", "prefers-reduced-motion", "@media print", "<td>image</td>", `<span id="hint" hidden>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	different, others := between(t, page, `<h2 id="differences">`, "</section>"), between(t, page, `<h2 id="settings">`, "</section>")
	for key, differs := range map[string]bool{"image": true, "rate": true, "amp": true, "cache": true, "threads": false} {
		cell := "<td>" + key + "</td>"
		if strings.Contains(different, cell) != differs || strings.Contains(others, cell) == differs {
			t.Errorf("%s is among the wrong settings", key)
		}
	}
}

// The values at the cursor are those of the charts, with a value or null for each bin.
// A start that another one followed before it ended does not run any more.
func TestAnEarlierStartDoesNotRun(t *testing.T) {
	var b bytes.Buffer
	w := runreport.NewMarkdown(&b, from)
	exporttest.Story{Iterations: 100, Restarted: true}.Tell(func(e *profiles.Event) {
		if s, ok := e.Body.(*profiles.StateChange); !ok || s.State == profiles.Running {
			w.Take(e)
		}
	})
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	if starts := between(t, b.String(), "## Earlier starts", "## "); !strings.Contains(starts, "| not finished | ") || strings.Contains(starts, "| running |") {
		t.Errorf("the earlier starts are %s", starts)
	}
}

// An earlier start has its changes, its quality and its times, too.
func TestEarlierStartsAreReported(t *testing.T) {
	page := written(t, runreport.NewMarkdown, exporttest.Story{Iterations: 5000, Restarted: true}, 0)
	changes := between(t, page, "## Start 1: Changes and what they did", "##")
	if !strings.Contains(changes, "| 1 | 13 |") || !strings.Contains(changes, "amp") || !strings.Contains(changes, "| 2 | 26 |") {
		t.Errorf("the changes are %s", changes)
	}
	if _, notes, _ := strings.Cut(page, "## Start 1: Notes on the run"); !strings.Contains(notes, "| 20 |") {
		t.Errorf("the notes are %s", notes)
	}
	if quality := between(t, page, "## Start 1: Quality and losses", "##"); !strings.Contains(quality, "PSNR | 25") {
		t.Errorf("the quality is %s", quality)
	}
	if phases := between(t, page, "## Start 1: Phases", "##"); !strings.Contains(phases, "backward") {
		t.Errorf("the phases are %s", phases)
	}
	if _, settings, _ := strings.Cut(page, "## Start 1: Settings that differ"); !strings.Contains(settings, "| amp | bf16 | off |") {
		t.Errorf("the settings are %s", settings)
	}
	if html := written(t, runreport.NewHTML, exporttest.Story{Iterations: 5000, Restarted: true}, 0); strings.Count(html, `<section aria-labelledby="start-1-`) < 4 {
		t.Error("the page lacks the earlier start")
	}
	if once := written(t, runreport.NewMarkdown, exporttest.Story{Iterations: 5000}, 0); strings.Contains(once, "Start 1") {
		t.Error("a run that was started once has an earlier start")
	}
}

func TestTheDataOfAPageAreComplete(t *testing.T) {
	for _, n := range []int64{1, 40, 5000} {
		page := written(t, runreport.NewHTML, exporttest.Story{Iterations: n}, 0)
		var data struct {
			First, Last []int64
			Seconds     []float64
			Charts      []struct {
				ID     string
				Plot   [6]float64
				Curves []struct {
					Name               string
					Y, Low, High, Most []*float64
				}
			}
		}
		if err := json.Unmarshal([]byte(between(t, page, `<script type="application/json" id="data">`, "</script>")), &data); err != nil {
			t.Fatal(err)
		}
		bins := len(data.First)
		if bins == 0 || len(data.Last) != bins || len(data.Seconds) != bins || data.First[0] != 0 || data.Last[bins-1] != n-1 {
			t.Fatalf("%d iterations: %d bins, %d ends, %d times", n, bins, len(data.Last), len(data.Seconds))
		}
		if len(data.Charts) != 7 {
			t.Errorf("%d iterations: %d charts", n, len(data.Charts))
		}
		for _, c := range data.Charts {
			if !strings.Contains(page, `<svg id="`+c.ID+`"`) || !strings.Contains(page, `id="`+c.ID+`-values"`) || !(c.Plot[2] > 100 && c.Plot[5] > c.Plot[4]) {
				t.Errorf("%d iterations: chart %s at %v", n, c.ID, c.Plot)
			}
			for _, v := range c.Curves {
				if len(v.Y) != bins || v.Low != nil && (len(v.Low) != bins || len(v.High) != bins) {
					t.Errorf("%d iterations: %s of %s has %d values", n, v.Name, c.ID, len(v.Y))
				}
				for k := range v.Most {
					if v.Y[k] != nil && *v.Most[k] < *v.High[k] {
						t.Errorf("%d iterations: %s of %s is at most %g, and often %g", n, v.Name, c.ID, *v.Most[k], *v.High[k])
					}
				}
				for k := range v.Low {
					if v.Y[k] != nil && !(*v.Low[k] <= *v.Y[k] && *v.Y[k] <= *v.High[k]) {
						t.Errorf("%d iterations: %s of %s is %g in [%g, %g]", n, v.Name, c.ID, *v.Y[k], *v.Low[k], *v.High[k])
					}
				}
			}
		}
	}
}

// A run that did not begin has a report that says so.
func TestAReportOfNothing(t *testing.T) {
	for name, start := range map[string]func(io.Writer, export.Source) *runreport.Writer{"html": runreport.NewHTML, "md": runreport.NewMarkdown} {
		var b bytes.Buffer
		if err := start(&b, from).Close(0); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "the run did not begin") {
			t.Errorf("%s: %s", name, b.String())
		}
		if name == "html" && !strings.Contains(b.String(), `<script type="application/json" id="data">{"first":[],"last":[],"seconds":[],"charts":[{`) {
			t.Error("the script of the page would fail")
		}
	}
}

// Markdown renders as tables with as many cells as their heads, and names in it are text alone.
func TestMarkdownRenders(t *testing.T) {
	page, marked := strings.CutPrefix(written(t, runreport.NewMarkdown, exporttest.Story{Iterations: 5000, Restarted: true}, 0), atomicfile.Generated+"\n")
	if !marked {
		t.Error("it does not begin with the mark of prismtop")
	}
	source := []byte(page)
	tree := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	counts := map[string]int{}
	columns := 0
	var content strings.Builder
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch v := n.(type) {
		case *ast.Text:
			content.Write(v.Segment.Value(source))
		case *tables.TableHeader:
			counts["tables"]++
			columns = v.ChildCount()
		case *tables.TableRow:
			counts["rows"]++
			if v.ChildCount() != columns {
				t.Errorf("a row has %d of %d cells", v.ChildCount(), columns)
			}
		case *ast.Link, *ast.AutoLink, *ast.Image, *ast.RawHTML, *ast.HTMLBlock, *ast.CodeSpan, *ast.Emphasis, *tables.Strikethrough:
			t.Errorf("a name became %s", n.Kind())
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if counts["tables"] < 11 || counts["rows"] < 40 {
		t.Errorf("%v", counts)
	}
	if bytes.ContainsAny(source, "\x1b\u202e") {
		t.Error("a control character is there as it is")
	}
	if n := strings.Count(content.String(), "onerror=alert"); n < 8 {
		t.Errorf("the name is shown %d times", n)
	}
}

var iterations = flag.Int64("iterations", 100_000, "iterations of the runs of benchmarks")

// BenchmarkReport writes a long run, and reports the size of its report and the time for an iteration,
// without that of the run and of its snapshots.
func BenchmarkReport(b *testing.B) {
	for name, start := range map[string]func(io.Writer, export.Source) *runreport.Writer{"html": runreport.NewHTML, "md": runreport.NewMarkdown} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				var size counter
				w := start(&size, from)
				exporttest.Story{Iterations: *iterations}.Tell(w.Take)
				if err := w.Close(0); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(size), "bytes")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(*iterations), "ns/iteration")
		})
	}
}

// counter counts bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// A report of a long run is small enough to be mailed.
func TestReportsAreBounded(t *testing.T) {
	page := written(t, runreport.NewHTML, exporttest.Story{Iterations: 60_000}, 0)
	if len(page) > 1_000_000 {
		t.Errorf("%d bytes", len(page))
	}
}

// busy is a follower of a story during which other programs computed.
type busy struct{ *runreport.Writer }

func (b busy) See(s *profiles.Snapshot) {
	beside := *s
	beside.Load = profiles.LoadView{Whole: 0.76, WholeKnown: true}
	b.Writer.See(&beside)
}

// A report of a run that other programs disturbed says so once, that of another nothing.
func TestAReportSaysWhatOthersTook(t *testing.T) {
	const want = "| Other programs | other programs took 76 % of the processors: times may be longer than without them |"
	for n, follower := range []func(*runreport.Writer) exporttest.Follower{
		func(w *runreport.Writer) exporttest.Follower { return w }, func(w *runreport.Writer) exporttest.Follower { return busy{w} },
	} {
		var b bytes.Buffer
		w := runreport.NewMarkdown(&b, from)
		exporttest.Story{Iterations: 100}.Follow(follower(w))
		if err := w.Close(0); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "Other programs"); got != n || n == 1 && !strings.Contains(b.String(), want) {
			t.Errorf("%d times, want %d:\n%s", got, n, b.String())
		}
	}
}

// ablated is a writer that sees the table of an ablation at the end.
type ablated struct{ *runreport.Writer }

func (a ablated) See(s *profiles.Snapshot) {
	beside := *s
	beside.Compared = &profiles.Ablation{Rows: []profiles.AblationRow{
		{Key: "amp", Off: "off", On: "bf16", Effect: 0.0052, Low: -0.15, High: 0.18, Groups: 8},
		{Key: "cache", Off: "false", On: "true", Effect: 0.005, Low: math.Inf(-1), High: math.Inf(1), Groups: 1},
	}}
	a.Writer.See(&beside)
}

// An ablation gives an effect once, rounded as its interval.
func TestAnAblationGivesAnEffectOnce(t *testing.T) {
	var b bytes.Buffer
	w := runreport.NewMarkdown(&b, from)
	exporttest.Story{Iterations: 100}.Follow(ablated{w})
	if err := w.Close(0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| amp | off | bf16 | 1 % [−15, 18] |", "| cache | false | true | +0.5 % |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, b.String())
		}
	}
}
