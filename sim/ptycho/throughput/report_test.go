package throughput

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/export"
	"prismtop/profiles/export/schematest"
	"prismtop/profiles/sweep"
	"prismtop/sim/ptycho/trial"
)

// trialOf is a trial of 2 ms an image and 8 ms a batch, in 40 MB and 2 MB a group; those of 512 end for memory.
func trialOf(images, batch, round int) Trial {
	t := Trial{Purpose: "sweep", Round: round, Batch: batch}
	if batch == 512 {
		t.Status, t.Reason = OutOfMemory, "killed | by <the> system\x1b[2J"
		return t
	}
	batches := (images + batch - 1) / batch
	run := trial.Run{Images: batches * batch, Groups: images, Checksum: "same", Samples: make([]float32, trial.SamplesPerObject*images)}
	for range batches {
		seconds := (2*float64(batch) + 8) / 1e3
		run.Batches, run.Seconds.Predict = append(run.Batches, seconds), run.Seconds.Predict+seconds
	}
	run.Seconds.Load, run.Seconds.Group, run.Seconds.Normalise, run.Seconds.Reassemble, run.Joules = 0.001, 0.001, 0.002, 0.003, 0.5
	t.Status, t.Result = Success, &trial.Result{Runs: []trial.Run{run}, Device: "cpu", Kernels: "avx2", Threads: 2, Parameters: 585_244,
		Memory: map[string]int64{"weights": 2_341_000, "activations": int64(batch) * 1_000_000}, PeakRSS: int64(40e6 + 2e6*batch)}
	return t
}

func measuredReport(t *testing.T, sizes ...int) *Report {
	t.Helper()
	s := Begin(Options{Job: trial.Job{Size: 64, GridSize: 1, FiltersScale: 1, Images: 100}, Sizes: sizes, Runs: 3, Limit: 600e6, Edge: true,
		Margin: 0.05, Tolerance: 0.05})
	for round := range 3 {
		for _, b := range sizes {
			if b == 512 && round > 0 {
				continue
			}
			if err := s.Add(trialOf(100, b, round)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if sizes[0] < 512 {
		best, none := sizes[0], 512
		s.Edge = &sweep.Edge{Predicted: 280, Target: 265, Verified: &best, Failed: &none, Sentence: "Of 600 MB, the line predicts batch size 280."}
	}
	r := s.Report(s.Failure())
	r.Version, r.Machine.CPU, r.Machine.GPUReason, r.Data.Source = "1.2.3", "a processor", "no CUDA device", "simulated"
	r.Configuration.LimitSource = "flag"
	return r
}

// Every file of the report is written, and has the document's headings and figures.
func TestTheFilesOfAReport(t *testing.T) {
	r := measuredReport(t, 1, 8, 32, 64, 512)
	names, data, err := Files(r, Formats)
	if err != nil || !slices.Equal(names, FileNames(Formats)) {
		t.Fatalf("%v, %v", names, err)
	}
	of := func(name string) string {
		i := slices.Index(names, name)
		if i < 0 {
			t.Fatalf("no file %s", name)
		}
		return string(data[i])
	}
	for name, parts := range map[string][]string{
		"benchmark_report.md": {"# PtychoPINN Inference Throughput Benchmark Report", "- **Optimal Batch Size**: 64", "- **Maximum Throughput**: 470.59 images/second", "- **Memory at Optimal**: 168.0 MB",
			"- **Speedup vs Batch=1**: 4.71x", "| Batch Size | Throughput (img/s) |", "| 64 | 470.59 |", "## Recommendations", "**speed_optimized**", "## Bottleneck Analysis", "**memory_bandwidth**: weak heuristic",
			`OOM: killed \| by \<the> system\\x1b[2J`, "800-2000 images/s (forecast, RTX 3090)", "a forecast for another machine, not judged", "2-5x | 1.06 [1.06, 1.06] x | less than claimed",
			"< 5 ms | 2.12 [2.12, 2.12] ms | met", "| energy |"},
		"benchmark_report.html":    {"<h1>PtychoPINN Inference Throughput Benchmark Report</h1>", "Content-Security-Policy", "Optimal Operating Region", "killed | by &lt;the&gt; system", "images/s and watt"},
		"performance_analysis.svg": {"Throughput", "Memory", "Latency distribution", "Efficiency", "Scaling", "Optimal Operating Region", "limit 600 MB", "OOM"},
		"batch_sizes.json":         {`"real_time"`, `"predict": 64`},
	} {
		text := of(name)
		for _, part := range parts {
			if part == "| energy |" {
				part = "**energy**"
			}
			if !strings.Contains(text, part) {
				t.Errorf("%s lacks %q", name, part)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Errorf("%s has a control character", name)
		}
	}
	for i, name := range names {
		switch {
		case strings.HasSuffix(name, ".svg"):
			decoder := xml.NewDecoder(bytes.NewReader(data[i]))
			for {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
			}
		case strings.HasSuffix(name, ".png"):
			if !bytes.HasPrefix(data[i], []byte("\x89PNG")) {
				t.Errorf("%s is no PNG", name)
			}
		case strings.HasSuffix(name, ".json"):
			if !json.Valid(data[i]) {
				t.Errorf("%s is no JSON", name)
			}
		}
	}
	rows, err := csv.NewReader(strings.NewReader(of("benchmark_results.csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	last := rows[len(rows)-1]
	at := slices.IndexFunc(rows, func(row []string) bool { return row[0] == "32" })
	if last[0] != "512" || last[1] != "OOM" || last[4] != "" || at < 0 || rows[at][2] != "3" || rows[at][4] != "444.44444" || rows[at][19] != "34341000" || rows[at][20] != "104000000" {
		t.Errorf("%q", rows)
	}
	var text strings.Builder
	if err := WriteText(&text, r); err != nil || !strings.Contains(text.String(), "Optimum: 64 is fastest: take 64") || !strings.Contains(text.String(), "Edge: Of 600 MB") || !strings.Contains(text.String(), "S4-123") || strings.Contains(text.String(), "\x1b") {
		t.Errorf("%v in %s", err, text.String())
	}
	if only := FileNames([]string{"csv"}); !slices.Equal(only, []string{"benchmark_results.csv"}) {
		t.Errorf("the files of CSV are %v", only)
	}
}

// A sweep without a success has all of its files, too.
func TestAReportOfNothing(t *testing.T) {
	r := measuredReport(t, 512)
	r.Ended = "interrupted"
	_, data, err := Files(r, Formats[:5]) // all but PNG, which is drawn alike
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data[2]), "Not complete: interrupted") || !strings.Contains(string(data[2]), "nothing was measured") {
		t.Errorf("%s", data[2])
	}
}

func TestSchema(t *testing.T) {
	status := schematest.Schema{"enum": []string{"success", "OOM", "error"}}
	schematest.Check(t, schematest.Document{Name: "ptycho", Title: "prismtop bench ptycho --json", Value: Report{}, Nulls: false,
		Adds: map[string]schematest.Schema{"Batch.status": status, "TrialRecord.status": status}})
	for _, r := range []*Report{measuredReport(t, 1, 8, 512), measuredReport(t, 4), measuredReport(t, 512)} {
		var b bytes.Buffer
		if err := export.WriteObject(&b, r); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("ptycho", b.Bytes()); err != nil {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// Each run of a batch size is a measurement of its benchmark; those of the edge are none.
func TestRunsInTheFormatOfGo(t *testing.T) {
	var b strings.Builder
	if err := WriteGo(&b, measuredReport(t, 4, 8)); err != nil {
		t.Fatal(err)
	}
	line := "BenchmarkPredict/N=64/gridsize=1/filters_scale=1/batch=8-2\t104\t3000000.0 ns/op\t333.3 images/s\t56000000 peak-B\n"
	if strings.Count(b.String(), line) != 3 || strings.Count(b.String(), "\nBenchmark") != 6 || !strings.Contains(b.String(), "\n# weights: seeded\n") {
		t.Error(b.String())
	}
}
