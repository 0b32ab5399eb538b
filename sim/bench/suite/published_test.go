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

// The pages with measured claims are made from a report and never edited: docs/claims.md, and a few rows of the README.
//
//	prismtop bench all --output reports
//	go test ./sim/bench/suite -run Published -update -report $PWD/reports/benchmark.json
var (
	update  = flag.Bool("update", false, "write the pages with measured claims anew")
	measure = flag.String("report", "", "with -update, benchmark.json of the measurement to publish")
)

// docs is the folder of the documentation.
var docs = filepath.Join("..", "..", "..", "docs")

// publishedHead is what docs/claims.md begins with.
const publishedHead = `# Claims of PRISM's documents beside measurements

Made from [a report of prismtop bench all](measured/benchmark.json) by a test, which compares them; [benchmarks.md](benchmarks.md) says how it is measured
and judged. A verdict follows from the whole interval: one that neither shows nor excludes the claim is undecided.

`

// inReadme are the claims that the README shows.
var inReadme = []string{"forward.time", "iteration.time", "cache.measurement", "cache.training", "optimized.hits", "speedup.target", "combined.all", "amp"}

func TestThePublishedClaimsAreThoseOfTheReport(t *testing.T) {
	source := filepath.Join(docs, "measured", "benchmark.json")
	r := readReport(t, source)
	if *update && *measure != "" {
		r = readReport(t, *measure)
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
	if r.Build.Commit == "" || r.Build.Modified || !r.Complete || r.Machine.CPU == "" || len(r.Changed) > 0 {
		t.Errorf("the report is of %+v on %+v, complete %v: must be of a commit, whole, with the presets' settings", r.Build, r.Machine, r.Complete)
	}
	r.judge()
	page := bytes.NewBufferString(publishedHead)
	if err := r.WriteMarkdown(page); err != nil {
		t.Fatal(err)
	}
	compare(t, filepath.Join(docs, "claims.md"), page.Bytes())

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
