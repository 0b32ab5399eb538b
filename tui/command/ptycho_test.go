package command

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"prismtop/sim/ptycho/throughput"
)

// Ctrl+c ends a sweep with the report of what was measured, and leaves no other files behind.
func TestASignalKeepsWhatASweepMeasured(t *testing.T) {
	skipStarts(t)
	t.Chdir(t.TempDir())
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	p := begin(t, "", "bench", "ptycho", "--filters-scale", "1", "--images", "4", "--batch-sizes", "1,2", "--runs", "1000", "--output", "report", "--log-dir", "log")
	for {
		p.pause(t)
		if log, err := os.ReadFile(filepath.Join("log", "inference_log.jsonl")); err == nil && bytes.Count(log, []byte("\n")) >= 3 {
			break
		}
	}
	p.interrupt(t)
	data, err := os.ReadFile(filepath.Join("report", "benchmark_results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r throughput.Report
	if err := json.Unmarshal(data, &r); err != nil || r.Complete || r.Ended != "interrupted" || len(r.Trials) < 3 || r.Batches["1"].ImagesPerS == nil {
		t.Errorf("%v, %+v", err, r)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) != 0 {
		t.Errorf("it left %v behind, %v", left, err)
	}
}
