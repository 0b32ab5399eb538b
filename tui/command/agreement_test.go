package command

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles/stats"
	"prismtop/tui/ptytest"
)

// numbers are what an output prints, by name, each with what its digits leave open.
type numbers map[string]number

type number struct{ value, open float64 }

// exactly is a number with all of its digits.
func exactly(v float64) number { return number{v, 1e-12 * math.Abs(v)} }

// units are the factors of printed units, to those of the summary in JSON.
var units = map[string]float64{"": 1, "%": 1, "dB": 1, "ms": 1, "µs": 1e-3, "s": 1e3, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}

// printed returns the number that a text begins with, in a unit: half of its last digit is open.
func printed(t *testing.T, text string) number {
	t.Helper()
	m := regexp.MustCompile(`^([-−]?)(\d+)(?:\.(\d+))?(?:e([-+]\d+))?(?: ?(%|dB|ms|µs|s|B|KB|MB|GB)\b| ?%|)`).FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		t.Fatalf("no number: %q", text)
	}
	v, err := strconv.ParseFloat(m[2]+"."+m[3]+"0", 64)
	if err != nil {
		t.Fatal(err)
	}
	open := 0.5 * math.Pow10(-len(m[3]))
	exponent, _ := strconv.Atoi(m[4])
	factor := math.Pow10(exponent) * units[m[5]]
	if m[1] != "" {
		v = -v
	}
	return number{v * factor, 1.0001 * open * factor}
}

// output runs prismtop in a folder and returns its standard output.
func output(t *testing.T, folder string, args ...string) string {
	t.Helper()
	cmd := exec.Command("prismtop", args...)
	cmd.Dir = folder
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("prismtop %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return string(out)
}

// from reads the numbers of an object by their paths: "quality.loss_old".
func from(t *testing.T, document string, paths ...string) numbers {
	t.Helper()
	var all any
	if err := json.Unmarshal([]byte(document), &all); err != nil {
		t.Fatal(err)
	}
	n := numbers{}
	for _, path := range paths {
		v := all
		for _, key := range strings.Split(path, ".") {
			v = v.(map[string]any)[key]
		}
		if v, ok := v.(float64); ok {
			n[path] = exactly(v)
		} else {
			t.Errorf("no %s in the summary", path)
		}
	}
	return n
}

// The phases of the test's run, its series and its caches.
var (
	agreedPhases = []string{"forward", "telescope", "loss", "backward", "optimizer"}
	agreedSeries = []string{"loss_old", "loss_new", "psnr_db", "ssim", "rmse_percent", "coverage"}
	agreedCaches = []string{"measurement", "fft_plans", "masks"}
	agreedMemory = []string{"weights", "gradients", "moments", "activations", "inputs", "scratch"}
)

// Every number of a run is the same wherever it is printed, to the digits that are printed there.
func TestAllOutputsOfARunAgree(t *testing.T) {
	folder := t.TempDir()
	args := append([]string{"run", "--headless", "--json", "--record", "run.sqlite", "--export", "csv=run.csv", "--export", "html=run.html", "--set", "seed=1"}, strings.Fields(tiny)...)
	summary := output(t, folder, append(args[:len(args):len(args)], "--set", "iterations=100", "--max-iterations", "161")...)

	paths := []string{"iterations", "wall_seconds", "samples.done", "samples.total", "iteration_ms.median", "iteration_ms.p10", "iteration_ms.p90", "memory_bytes.rss_peak", "quality.iteration"}
	for _, p := range agreedPhases {
		paths = append(paths, "phases_ms."+p+".median", "phases_ms."+p+".share")
	}
	for _, s := range agreedSeries {
		paths = append(paths, "quality."+s)
	}
	for _, c := range agreedCaches {
		paths = append(paths, "caches."+c+".hits", "caches."+c+".misses", "caches."+c+".hit_rate", "caches."+c+".bytes", "caches."+c+".saved_ms")
	}
	for _, m := range agreedMemory {
		paths = append(paths, "memory_bytes."+m)
	}
	want := from(t, summary, paths...)

	agree := func(where string, got numbers, least ...int) {
		t.Helper()
		for name, n := range got {
			if w, ok := want[name]; !ok || !(math.Abs(n.value-w.value) <= n.open+w.open) {
				t.Errorf("%s: %s is %v ± %.2g, and %v in the summary", where, name, n.value, n.open, w.value)
			}
		}
		if len(got) < append(least, 10)[0] {
			t.Errorf("%s: only %d numbers were found", where, len(got))
		}
	}
	agree("replay --json", from(t, output(t, folder, "replay", "--headless", "--json", "run.sqlite"), paths...))
	agree("summary as text", textNumbers(t, output(t, folder, "replay", "--headless", "run.sqlite")))
	agree("csv", csvNumbers(t, filepath.Join(folder, "run.csv")))
	output(t, folder, "export", "run.sqlite", "md=run.md")
	agree("report as Markdown", reportNumbers(t, read(t, filepath.Join(folder, "run.md"))))
	agree("report as HTML", reportNumbers(t, tableOf(read(t, filepath.Join(folder, "run.html")))))
	agree("compare --json", comparedNumbers(t, output(t, folder, "compare", "--json", "run.sqlite", "run.sqlite")))
	agree("compare as text", comparedTexts(t, output(t, folder, "compare", "run.sqlite", "run.sqlite")))
	library := t.TempDir()
	listed := filepath.Join(library, "prismtop", "runs")
	if err := errors.Join(os.MkdirAll(listed, 0o700), os.WriteFile(filepath.Join(listed, "2026-01-02T03-04-05-moon.sqlite"), []byte(read(t, filepath.Join(folder, "run.sqlite"))), 0o600)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", library)
	agree("runs --json", listedNumbers(t, output(t, folder, "runs", "--json")), 3)
	agree("runs --list", listedTexts(t, output(t, folder, "runs", "--list")), 3)

	x := ptytest.Open(t, 200, 60)
	cmd := exec.Command("prismtop", "replay", "run.sqlite")
	cmd.Dir = folder
	x.Start(cmd)
	x.See("replay")
	x.Press("end")
	x.See("ended by max_iterations")
	x.Press("w") // to the layout everything
	x.See("Samples ─", "total ", "scratch", "% seen")
	x.Idle()
	agree("screen", screenNumbers(t, x.Text()))
	x.Press("q")
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// find returns the submatches of a pattern in a text.
func find(t *testing.T, text, pattern string) []string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in\n%s", pattern, text)
	}
	return m[1:]
}

func textNumbers(t *testing.T, text string) numbers {
	t.Helper()
	n := numbers{}
	set := func(name, v string) { n[name] = printed(t, v) }
	m := find(t, text, `(?m)^  iterations +(\d+) in (\d+) of (\d+) samples`)
	set("iterations", m[0])
	set("samples.done", m[1])
	set("samples.total", m[2])
	m = find(t, text, `(?m)^  iteration +([\d.]+) +([\d.]+) +([\d.]+)`)
	set("iteration_ms.median", m[0])
	set("iteration_ms.p10", m[1])
	set("iteration_ms.p90", m[2])
	for _, p := range agreedPhases {
		m := find(t, text, `(?m)^    `+p+` +([\d.]+) .* (\d+) %$`)
		set("phases_ms."+p+".median", m[0])
		share := printed(t, m[1])
		n["phases_ms."+p+".share"] = number{share.value / 100, share.open / 100}
	}
	m = find(t, text, `loss +old ([\d.e+-]+), new ([\d.e+-]+)`)
	set("quality.loss_old", m[0])
	set("quality.loss_new", m[1])
	m = find(t, text, `PSNR ([\d.-]+) dB, SSIM ([\d.-]+), RMSE ([\d.]+) %`)
	set("quality.psnr_db", m[0])
	set("quality.ssim", m[1])
	set("quality.rmse_percent", m[2])
	for i, c := range regexp.MustCompile(`([\d.]+) % hits \((\d+) hits? (\d+) miss`).FindAllStringSubmatch(text, -1) {
		rate := printed(t, c[1])
		n["caches."+agreedCaches[i]+".hit_rate"] = number{rate.value / 100, rate.open / 100}
		set("caches."+agreedCaches[i]+".hits", c[2])
		set("caches."+agreedCaches[i]+".misses", c[3])
	}
	m = find(t, text, `memory +weights ([\d.]+ .?B), activations ([\d.]+ .?B), .*peak RSS ([\d.]+ .?B)`)
	set("memory_bytes.weights", m[0])
	set("memory_bytes.activations", m[1])
	set("memory_bytes.rss_peak", m[2])
	return n
}

// csvNumbers are those of the last row, and medians over the rows of the stage that the summary is of.
func csvNumbers(t *testing.T, path string) numbers {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(read(t, path))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int {
		i := slices.Index(rows[0], name)
		if i < 0 {
			t.Fatalf("no column %s in %v", name, rows[0])
		}
		return i
	}
	value := func(row []string, name string) float64 {
		v, err := strconv.ParseFloat(row[column(name)], 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return v
	}
	last := rows[len(rows)-1]
	n := numbers{"iterations": exactly(value(last, "iteration") + 1)}
	for _, s := range agreedSeries {
		for i := len(rows) - 1; i > 0; i-- { // an occasional series is in the row of the iteration that it was measured in
			if rows[i][column(s)] != "" {
				n["quality."+s] = exactly(value(rows[i], s))
				if s == "psnr_db" {
					n["quality.iteration"] = exactly(value(rows[i], "iteration"))
				}
				break
			}
		}
	}
	for _, c := range agreedCaches {
		for _, of := range []string{"hits", "misses", "bytes"} {
			n["caches."+c+"."+of] = exactly(value(last, c+"_"+of))
		}
		n["caches."+c+".saved_ms"] = exactly(value(last, c+"_saved_ms"))
	}
	medians := map[string][]float64{}
	for _, row := range rows[1:] {
		if row[column("warmup")] == "true" || row[column("converged")] == "true" || row[column("kind")] == "initialisation" {
			continue
		}
		medians["iteration_ms"] = append(medians["iteration_ms"], value(row, "total_ms"))
		for _, p := range agreedPhases {
			if row[column(p+"_ms")] != "" {
				medians["phases_ms."+p] = append(medians["phases_ms."+p], value(row, p+"_ms"))
			}
		}
	}
	for name, values := range medians {
		slices.Sort(values)
		v := stats.Quantile(values, 0.5)
		n[name+".median"] = number{v, v / 64} // the summary counts times in bins, of which a power of two has 64
	}
	return n
}

// tableOf rewrites an HTML report's tables as Markdown's.
func tableOf(html string) string {
	text := regexp.MustCompile(`</t[dh]>\s*<t[dh][^>]*>`).ReplaceAllString(html, " | ")
	text = regexp.MustCompile(`<tr[^>]*>\s*<t[dh][^>]*>`).ReplaceAllString(text, "\n| ")
	text = regexp.MustCompile(`</t[dh]>\s*</tr>`).ReplaceAllString(text, " |\n")
	return regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, "")
}

func reportNumbers(t *testing.T, text string) numbers {
	t.Helper()
	n := numbers{}
	set := func(name, v string) { n[name] = printed(t, v) }
	set("iterations", find(t, text, `\| Iterations \| (\d+) \|`)[0])
	m := find(t, text, `\| Samples \| (\d+) of (\d+)`)
	set("samples.done", m[0])
	set("samples.total", m[1])
	m = find(t, text, `\| Iteration \| median ([\d.]+ .?s), 10th to 90th percentile ([\d.]+ .?s) to ([\d.]+ .?s)`)
	set("iteration_ms.median", m[0])
	set("iteration_ms.p10", m[1])
	set("iteration_ms.p90", m[2])
	for i, title := range []string{"loss, old", "loss, new", "PSNR", "SSIM", "RMSE", "k-space seen"} {
		set("quality."+agreedSeries[i], find(t, text, `\| `+title+` \| ([\d.e+-]+) \|`)[0])
	}
	for _, p := range agreedPhases {
		m := find(t, text, `\| `+p+` \|[^|]*\| ([\d.]+ .?s) \|[^|]*\|[^|]*\| ([\d.]+ %)`)
		set("phases_ms."+p+".median", m[0])
		share := printed(t, m[1])
		n["phases_ms."+p+".share"] = number{share.value / 100, share.open / 100}
	}
	for i, title := range []string{"measurement", "FFT[^|]*", "masks?[^|]*"} {
		m := find(t, text, `\| `+title+` \| \w+ \| (\d+) \| (\d+) \| ([\d.]+) % \| \d+ \| ([\d.]+ .?B) \|`)
		set("caches."+agreedCaches[i]+".hits", m[0])
		set("caches."+agreedCaches[i]+".misses", m[1])
		rate := printed(t, m[2])
		n["caches."+agreedCaches[i]+".hit_rate"] = number{rate.value / 100, rate.open / 100}
		set("caches."+agreedCaches[i]+".bytes", m[3])
	}
	for _, m := range agreedMemory {
		set("memory_bytes."+m, find(t, text, `\| `+m+` \| ([\d.]+ .?B) \|`)[0])
	}
	set("memory_bytes.rss_peak", find(t, text, `\| process, at most \| ([\d.]+ .?B) \|`)[0])
	return n
}

// comparedNumbers are the rows that the summary has too: not times, of which compare has the medians of blocks.
func comparedNumbers(t *testing.T, document string) numbers {
	t.Helper()
	var c struct {
		Sides []struct {
			Runs []struct{ Iterations, Seconds float64 }
		}
		Rows []struct {
			Name, Title string
			Values      []struct {
				Value     *float64
				Iteration *int64
			}
		}
	}
	if err := json.Unmarshal([]byte(document), &c); err != nil {
		t.Fatal(err)
	}
	n := numbers{"iterations": exactly(c.Sides[0].Runs[0].Iterations), "wall_seconds": exactly(c.Sides[0].Runs[0].Seconds)}
	names := map[string]string{"loss_old_end": "quality.loss_old", "loss_new_end": "quality.loss_new", "rss_peak_bytes": "memory_bytes.rss_peak"}
	for _, s := range agreedSeries[2:] {
		names[s] = "quality." + s
	}
	for _, name := range agreedCaches {
		names[name+"_hit_rate"], names[name+"_cache_bytes"] = "caches."+name+".hit_rate", "caches."+name+".bytes"
	}
	for _, m := range agreedMemory {
		names[m+"_bytes"] = "memory_bytes." + m
	}
	for _, r := range c.Rows {
		if name := names[r.Name]; name != "" {
			n[name] = exactly(*r.Values[0].Value)
			delete(names, r.Name)
		}
		if r.Name == "psnr_db" {
			n["quality.iteration"] = exactly(float64(*r.Values[0].Iteration))
		}
	}
	if len(names) > 0 {
		t.Errorf("compare has no rows of %v", names)
	}
	return n
}

func comparedTexts(t *testing.T, text string) numbers {
	t.Helper()
	n := numbers{"iterations": printed(t, find(t, text, `(?m)^A .*: (\d+) iterations`)[0])}
	for title, name := range map[string]string{`loss old at 160`: "loss_old", `loss new at 160`: "loss_new", `PSNR at 160`: "psnr_db", `SSIM at 160`: "ssim", `RMSE at 160`: "rmse_percent"} {
		n["quality."+name] = printed(t, find(t, text, `(?m)^ `+title+` +([\d.e+-]+)`)[0])
	}
	for _, m := range agreedMemory {
		n["memory_bytes."+m] = printed(t, find(t, text, `(?m)^ `+m+` +([\d.]+ .?B)`)[0])
	}
	n["memory_bytes.rss_peak"] = printed(t, find(t, text, `(?m)^ peak resident +([\d.]+ .?B)`)[0])
	for i, title := range []string{"measurement", "FFT", "mask"} {
		rate := printed(t, find(t, text, `(?m)^ `+title+` hits +([\d.]+) %`)[0])
		n["caches."+agreedCaches[i]+".hit_rate"] = number{rate.value / 100, rate.open / 100}
		n["caches."+agreedCaches[i]+".bytes"] = printed(t, find(t, text, `(?m)^ `+title+` +([\d.]+ .?B)`)[0])
	}
	return n
}

// listedNumbers are those of the list of runs.
func listedNumbers(t *testing.T, document string) numbers {
	t.Helper()
	var l struct {
		Runs []struct {
			Iterations, Quality float64
			Median              float64 `json:"iteration_ms_median"`
			Seconds             float64
		}
	}
	if err := json.Unmarshal([]byte(document), &l); err != nil || len(l.Runs) != 1 {
		t.Fatalf("%d runs (%v)", len(l.Runs), err)
	}
	r := l.Runs[0]
	return numbers{"iterations": exactly(r.Iterations), "quality.psnr_db": exactly(r.Quality), "iteration_ms.median": exactly(r.Median), "wall_seconds": exactly(r.Seconds)}
}

func listedTexts(t *testing.T, text string) numbers {
	t.Helper()
	m := find(t, text, `(?m)^2026-01-02T03-04-05-moon .* \d\d:\d\d:\d\d +(\d+) +([\d.]+) +PSNR ([\d.-]+ dB)`)
	return numbers{"iterations": printed(t, m[0]), "iteration_ms.median": printed(t, m[1]), "quality.psnr_db": printed(t, m[2])}
}

// screenNumbers are those of a screen that shows every pane; times there are of the recent window, hit rates too.
func screenNumbers(t *testing.T, text string) numbers {
	t.Helper()
	n := numbers{}
	set := func(name, v string) { n[name] = printed(t, v) }
	set("iterations", find(t, text, `iter +(\d+)`)[0])
	m := find(t, text, `Samples ─+ (\d+) of (\d+)`)
	set("samples.done", m[0])
	set("samples.total", m[1])
	m = find(t, text, `old ([\d.e+-]+)  new ([\d.e+-]+)`)
	set("quality.loss_old", m[0])
	set("quality.loss_new", m[1])
	m = find(t, text, `PSNR ([\d.-]+) dB  SSIM ([\d.-]+)  RMSE ([\d.]+) %`)
	set("quality.psnr_db", m[0])
	set("quality.ssim", m[1])
	set("quality.rmse_percent", m[2])
	seen := printed(t, find(t, text, `([\d.]+) % seen`)[0])
	n["quality.coverage"] = number{seen.value / 100, seen.open / 100}
	for i, c := range regexp.MustCompile(`total (\d+) hits? (\d+) miss\w* · \d+ entr\w+ · ([\d.]+ .?B)`).FindAllStringSubmatch(text, -1) {
		set("caches."+agreedCaches[i]+".hits", c[1])
		set("caches."+agreedCaches[i]+".misses", c[2])
		set("caches."+agreedCaches[i]+".bytes", c[3])
	}
	for _, m := range agreedMemory {
		set("memory_bytes."+m, find(t, text, `│ `+m+` +([\d.]+ .?B)`)[0])
	}
	set("memory_bytes.rss_peak", find(t, text, `peak ([\d.]+ .?B)`)[0])
	return n
}

// What a run writes itself is what its recording gives later: after pauses, changes and a restart, and of a part
// that resumed another, of which the recording has the part before, too.
func TestARunAndItsRecordingSayTheSame(t *testing.T) {
	exports := []string{"--export", "csv=own.csv", "--export", "md=own.md"}
	exported := func(folder string) {
		t.Helper()
		output(t, folder, "export", "run.sqlite", "csv=recorded.csv", "md=recorded.md")
	}
	run := func(args ...string) []string {
		return append(append([]string{"run"}, args...), append(strings.Fields(tiny), "--set", "iterations=100")...)
	}

	folder := t.TempDir()
	cmd := exec.Command("prismtop", append(run("--lines", "--record", "run.sqlite", "--max-iterations", "161"), exports...)...)
	cmd.Dir, cmd.Stdin = folder, strings.NewReader("pause\nstep\namp=bf16\ngo\nnote here\nrestart\nmeasurement_cache=false\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	exported(folder)
	for _, file := range []string{"csv", "changes.csv", "md"} {
		own, recorded := read(t, filepath.Join(folder, "own."+file)), read(t, filepath.Join(folder, "recorded."+file))
		for _, text := range []string{own, recorded} {
			if _, notes, _ := strings.Cut(text, "## Start 1: Notes on the run"); file == "md" && !strings.Contains(notes, "| here |") {
				t.Error("restarted: a report lacks the note before the restart")
			}
		}
		if own != recorded {
			t.Errorf("restarted: the recording's %s has other lines than the run's own:\n%s", file, differing(own, recorded))
		}
	}

	folder = t.TempDir()
	first := exec.Command("prismtop", run("--lines", "--record", "run.sqlite", "--checkpoint", "c.npz", "--max-iterations", "60", "--set", "amp=bf16")...)
	first.Dir, first.Stdin = folder, strings.NewReader("pause\nnote part one\ngo\n")
	if out, err := first.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	own := output(t, folder, append([]string{"run", "--json", "--resume", "c.npz", "--max-iterations", "161"}, exports...)...)
	exported(folder)
	recorded := output(t, folder, "replay", "--json", "run.sqlite")
	differ := regexp.MustCompile(`("recording": )[^,\n]*`) // relative to other folders
	if own, recorded := differ.ReplaceAllString(own, "$1"), differ.ReplaceAllString(recorded, "$1"); own != recorded {
		t.Errorf("resumed: the recording's summary has other lines than the run's own:\n%s", differing(own, recorded))
	}
	var told struct {
		Annotations []struct {
			Start int
			Text  string
		}
	}
	if err := json.Unmarshal([]byte(own), &told); err != nil || len(told.Annotations) != 1 || told.Annotations[0].Start != 0 || told.Annotations[0].Text != "part one" {
		t.Errorf("resumed: the notes of the part before are %+v (%v)", told.Annotations, err)
	}
	page := read(t, filepath.Join(folder, "recorded.md"))
	for name, text := range map[string]string{"own": read(t, filepath.Join(folder, "own.md")), "recorded": page} {
		if _, notes, _ := strings.Cut(text, "## Start 1: Notes on the run"); !strings.Contains(notes, "| part one |") {
			t.Errorf("resumed: the %s report lacks the note of the part before", name)
		}
	}
	page, _, _ = strings.Cut(page, "## Earlier starts")
	if whole := read(t, filepath.Join(folder, "own.md")); !strings.HasPrefix(whole, page) {
		t.Errorf("resumed: the recording's report has other lines than the run's own:\n%s", differing(whole, page))
	}
	for file, seconds := range map[string]int{"csv": 2, "changes.csv": 1} { // since the recording began, and since this part did
		rows := func(of, start string) (all string) {
			for line := range strings.Lines(read(t, filepath.Join(folder, of+"."+file))) {
				if fields := strings.Split(line, ","); fields[0] == start {
					all += strings.Join(slices.Delete(fields, seconds, seconds+1)[1:], ",")
				}
			}
			return all
		}
		if own, recorded := rows("own", "0"), rows("recorded", "1"); own != recorded || own == "" {
			t.Errorf("resumed: the recording's %s has other lines than the run's own:\n%s", file, differing(own, recorded))
		}
	}
}

// differing lists the first lines of two texts that the other has not.
func differing(a, b string) string {
	var all []string
	for sign, pair := range map[string][2]string{"-": {a, b}, "+": {b, a}} {
		lacks := strings.Split(pair[1], "\n")
		n := 0
		for _, line := range strings.Split(pair[0], "\n") {
			if n < 5 && !slices.Contains(lacks, line) {
				all, n = append(all, sign+" "+line), n+1
			}
		}
	}
	return strings.Join(all, "\n")
}
