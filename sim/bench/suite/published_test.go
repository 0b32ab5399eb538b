package suite

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages with measured claims are made from a report and never edited: docs/claims.md, from which a few rows are in the README, and
// docs/claims-gpu.md from a report of a GPU.
//
//	prismtop bench all --output reports
//	go test ./sim/bench/suite -run Published -update -report $PWD/reports/benchmark.json
var (
	update  = flag.Bool("update", false, "write the pages with measured claims anew")
	measure = flag.String("report", "", "with -update, benchmark.json of the measurement to publish")
)

// docs is the folder of the documentation.
var docs = filepath.Join("..", "..", "..", "docs")

// published are the published reports: of the processor, and of a GPU.
var published = map[string]struct{ report, page, head string }{
	"cpu": {"benchmark.json", "claims.md", `# Claims of PRISM's documents beside measurements

Made from [a report of prismtop bench all](measured/benchmark.json) by a test, which compares them; [benchmarks.md](benchmarks.md) says how it is measured
and judged. A verdict follows from the whole interval: one that neither shows nor excludes the claim is undecided. The same of a GPU: [claims-gpu.md](claims-gpu.md).

`},
	"cuda": {"benchmark-gpu.json", "claims-gpu.md", `# Claims of PRISM's documents beside measurements on a GPU

Made from [a report of prismtop bench all](measured/benchmark-gpu.json) by a test, as [claims.md](claims.md) is from one of a processor. The card was at
hand for less than three minutes, so that single measurements, ablation and mixed precision are missing; times of mixed precision on the same kind of card are in
[performance.md](performance.md#mixed-precision-on-a-gpu-by-image-size).

`},
}

// inReadme are the claims that the README shows.
var inReadme = []string{"forward.time", "iteration.time", "cache.measurement", "cache.training", "optimized.hits", "speedup.target", "combined.all", "amp"}

func TestThePublishedClaimsAreThoseOfTheReport(t *testing.T) {
	var given *Report
	if *update && *measure != "" {
		given = readReport(t, *measure)
	}
	for device, p := range published {
		source := filepath.Join(docs, "measured", p.report)
		r := readReport(t, source)
		if given != nil && given.Machine.Device == device {
			r = given
			for i := range r.Comparisons {
				for side := range r.Comparisons[i].Results {
					for k := range r.Comparisons[i].Results[side] {
						r.Comparisons[i].Results[side][k].Settings = map[string]string{} // of every round the same but for the seed
					}
				}
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			write(t, source, append(text, '\n'))
		}
		if r.Build.Commit == "" || r.Build.Modified || !r.Complete && device == "cpu" || r.Machine.CPU == "" || r.Machine.Device != device || len(r.Changed) > 0 {
			t.Errorf("%s is of %+v on %+v, complete %v: must be of a commit, that of the processor whole, on %s, with the presets' settings", p.report, r.Build, r.Machine, r.Complete, device)
		}
		r.judge()
		page := bytes.NewBufferString(p.head)
		if err := r.WriteMarkdown(page); err != nil {
			t.Fatal(err)
		}
		compare(t, filepath.Join(docs, p.page), page.Bytes())
		if device == "cpu" {
			inTheReadme(t, r)
		}
	}
}

// inTheReadme compares the README's rows with the report, or writes them.
func inTheReadme(t *testing.T, r *Report) {
	t.Helper()
	const begin, end = "<!-- measured: made by a test of sim/bench/suite -->\n", "<!-- end -->\n"
	readme := filepath.Join(docs, "..", "README.md")
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no lines %q and %q", readme, begin, end)
	}
	compare(t, readme, []byte(before+begin+r.short()+end+after))
}

// short is the part of the claims that the README shows.
func (r *Report) short() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| PRISM's documents | claimed | measured here | |\n|---|---|---|---|\n")
	for _, id := range inReadme {
		for _, c := range r.Claims {
			if c.ID == id && c.Measured != nil {
				fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.Of, c.Text, c.Measured.In(c.Unit), c.Verdict)
			}
		}
	}
	fmt.Fprintf(&b, "\nprismtop %s on %s, %d processors, %s", r.Build.String(), r.Machine.CPU, r.Machine.Processors, r.Started[:10])
	if m := r.Machine.ForeignCPU; m != nil && *m > busy {
		fmt.Fprintf(&b, ", beside other programs that took %.0f %% of them", 100**m)
	}
	b.WriteString(".\n")
	return b.String()
}

func readReport(t *testing.T, path string) *Report {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && *update {
		return &Report{}
	} else if err != nil {
		t.Fatal(err)
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

// compare compares a page with what it is made from, or writes it.
func compare(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		write(t, path, want)
		return
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what its report says (%v): go test ./sim/bench/suite -run Published -update", path, err)
	}
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
