package command

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"prismtop/tui/command/cli"
)

// This file answers command lines of the documents that prismtop covers
// (docs/from-the-documents.md) with its own commands.

// script is a program that a document runs, and the command in its place.
type script struct {
	command string
	flags   bool // the script's flags are the command's too
}

// scripts are the documents' programs, by name without folder and ending.
var scripts = map[string]script{
	"profile_performance":            {"bench performance --output reports", false},
	"run_phase5_benchmarks":          {"bench all --output reports", false},
	"phase5_baseline_benchmark":      {"bench baseline --output reports", false},
	"phase5_optimized_benchmark":     {"bench optimized --output reports", false},
	"phase5_comparison":              {"bench compare --output reports", false},
	"phase5_profiler":                {"bench profile --output reports", false},
	"fft_cache_benchmark":            {"bench ablation --preset phase5 --only fft_cache", false},
	"measurement_cache_benchmark":    {"bench measurement-cache", false},
	"prism.cli":                      {"run", true},
	"benchmark_train":                {"cyto train", true},
	"benchmark_inference":            {"cyto inference", true},
	"benchmark_inference_throughput": {"bench ptycho", true},
}

// starters are the words that stand before a script on a document's command line.
var starters = []string{"uv", "run", "python", "python3", "-m", "-l", "-v", "kernprof", "memory_profiler",
	"bench", "help"}

// profilers are the programs that a document runs its script under, and the command in place of both.
var profilers = map[string]string{
	"kernprof": "bench profile --output reports", "memory_profiler": "bench model --json",
}

// inPlaceOf returns the command in place of a document's, from the words after the
// program's name; empty if they name none.
func inPlaceOf(words []string) string {
	under := ""
	for len(words) > 0 && slices.Contains(starters, words[0]) {
		under += profilers[words[0]]
		words = words[1:]
	}
	if len(words) == 0 {
		return ""
	}
	s, ok := scripts[strings.TrimSuffix(path.Base(filepath.ToSlash(words[0])), ".py")]
	if !ok {
		return ""
	}
	if under != "" {
		return "prismtop " + under
	}
	command := "prismtop " + s.command
	if s.flags {
		for _, word := range words[1:] {
			command += " " + replaced(word)
		}
	}
	return command
}

// replaced returns a word of a document's command line as prismtop takes it.
func replaced(word string) string {
	switch {
	case word == "--use-amp":
		return "--set amp=fp16"
	case strings.HasSuffix(word, ".yaml"):
		return strings.TrimSuffix(word, ".yaml") + ".toml"
	case strings.ContainsAny(word, " \t\"'$&|;<>()*?#\\"):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// fromDocuments replaces the error of a command line that one of the documents prints by the command to use.
func fromDocuments(words []string, err error) error {
	if err == nil || cli.ExitStatus(err) != cli.StatusUsage {
		return err
	}
	command := inPlaceOf(words)
	if command == "" {
		return err
	}
	return cli.BadUsage(fmt.Errorf("that is a command line of the documents; here it is: %s (prismtop docs "+
		"from-the-documents)", command))
}
