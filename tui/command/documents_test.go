package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documented are command lines as the documents print them, and what each is answered with.
var documented = map[string]string{
	// baseline-v0.2.0.md
	"uv run python profile_performance.py":                    "prismtop bench performance --output reports",
	"uv run kernprof -l -v profile_performance.py":            "prismtop bench profile --output reports",
	"uv run python -m memory_profiler profile_performance.py": "prismtop bench model --json",
	// phase5_implementation_summary.md
	"uv run python benchmarks/run_phase5_benchmarks.py":       "prismtop bench all --output reports",
	"uv run python benchmarks/phase5_baseline_benchmark.py":   "prismtop bench baseline --output reports",
	"uv run python benchmarks/phase5_optimized_benchmark.py":  "prismtop bench optimized --output reports",
	"uv run python benchmarks/phase5_comparison.py":           "prismtop bench compare --output reports",
	"uv run python benchmarks/phase5_profiler.py":             "prismtop bench profile --output reports",
	"uv run python benchmarks/fft_cache_benchmark.py":         "prismtop bench ablation --preset phase5 --only fft_cache",
	"uv run python benchmarks/measurement_cache_benchmark.py": "prismtop bench measurement-cache",
	// PERFORMANCE_OPTIMIZATION_GUIDE.md
	"python -m prism.cli --config my_config.yaml --use-amp": "prismtop run --config my_config.toml --set amp=fp16",
	// CytoDL Performance Benchmarking
	"python scripts/benchmark_train.py --config benchmarks/train_tasks.csv --output results/train_benchmark.json --skip-failed": "prismtop cyto train --config benchmarks/train_tasks.csv --output results/train_benchmark.json --skip-failed",
	"python scripts/benchmark_inference.py --config benchmarks/inference_tasks.csv --output results/inference_benchmark.json --skip-failed --compare": "prismtop cyto inference " +
		"--config benchmarks/inference_tasks.csv --output results/inference_benchmark.json --skip-failed --compare",
	"python scripts/benchmark_train.py --config custom_benchmark.csv --output results/custom_results.json": "prismtop cyto train --config custom_benchmark.csv --output results/custom_results.json",
	// PtychoPINN's plan
	"python scripts/benchmark_inference_throughput.py --model-path <path_to_model> --test-data <path_to_test_data.npz> --batch-sizes 1,2,4,8,16,32,64,128,256 --n-images 1000 --num-runs 5 " +
		"--warmup-runs 3 --output-dir benchmark_results --device gpu:0 --profile-memory --adaptive-sizing --plot-results --export-format json,csv": "prismtop bench ptycho --model-path '<path_to_model>' " +
		"--test-data '<path_to_test_data.npz>' --batch-sizes 1,2,4,8,16,32,64,128,256 --n-images 1000 --num-runs 5 --warmup-runs 3 --output-dir benchmark_results --device gpu:0 --profile-memory " +
		"--adaptive-sizing --plot-results --export-format json,csv",
}

// Every command line of the documents is answered with a command that exists, with its flags.
func TestCommandLinesOfTheDocumentsAreAnswered(t *testing.T) {
	for line, want := range documented {
		got := inPlaceOf(strings.Fields(line))
		if got != want {
			t.Errorf("%s\n is answered with %q, want %q", line, got, want)
		}
		checkCommandLine(t, line, got)
	}
	for _, line := range []string{"", "run", "bench model", "python train.py", "runs", "benchmark"} {
		if got := inPlaceOf(strings.Fields(line)); got != "" {
			t.Errorf("%q is answered with %q", line, got)
		}
	}
}

// Every command on the page of the documents' commands exists, and a script's is what it is answered with.
func TestThePageOfTheDocumentsCommands(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "from-the-documents.md"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, rows := regexp.MustCompile("`([^`]+)`"), 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) != 2 {
			continue
		}
		commands := quoted.FindAllStringSubmatch(cells[1], -1)
		for _, m := range commands {
			if strings.HasPrefix(m[1], "prismtop ") {
				rows++
				checkCommandLine(t, cells[0], m[1])
			}
		}
		if of := quoted.FindStringSubmatch(cells[0]); of != nil && strings.Contains(of[1], "python") && len(commands) == 1 {
			if got := inPlaceOf(strings.Fields(of[1])); got != commands[0][1] {
				t.Errorf("%s is answered with %q, and the page has %q", of[1], got, commands[0][1])
			}
		}
	}
	if rows < 40 {
		t.Errorf("%d commands", rows)
	}
}

// checkCommandLine checks that a command of prismtop exists, with its flags.
func checkCommandLine(t *testing.T, where, line string) {
	t.Helper()
	cmd, _, err := commandTree().Find(strings.Fields(line)[1:])
	if err != nil {
		t.Errorf("%s: %q: %v", where, line, err)
		return
	}
	for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(line, -1) {
		if cmd.Flags().Lookup(m[1]) == nil {
			t.Errorf("%s: %q: %s has no flag --%s", where, line, cmd.CommandPath(), m[1])
		}
	}
}
