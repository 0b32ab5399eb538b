//go:build unix

package command

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"prismtop/profiles/machine"
)

// A run without a screen says on standard error what other programs took, once and as in its JSON, unless it is quiet.
func TestARunSaysWhatOthersTook(t *testing.T) {
	skipStarts(t)
	for range runtime.NumCPU() {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
	}
	for _, quiet := range []bool{false, true} {
		var out, errs bytes.Buffer
		args := append(strings.Fields("run --headless --json --no-record --max-time 2s "+unended), fmt.Sprintf("--quiet=%v", quiet))
		cmd := exec.Command("prismtop", args...)
		if cmd.Stdout, cmd.Stderr = &out, &errs; cmd.Run() != nil {
			t.Fatal(errs.String())
		}
		var sum struct {
			ForeignCPU *float64 `json:"foreign_cpu"`
		}
		if err := json.Unmarshal(out.Bytes(), &sum); err != nil || sum.ForeignCPU == nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		want := 0
		if *sum.ForeignCPU > machine.Quiet && !quiet {
			want = 1
		}
		told := fmt.Sprintf("prismtop: other programs took %.0f %% of the processors: times may be longer than without them\n", 100**sum.ForeignCPU)
		if got := strings.Count(errs.String(), told); got != want || want == 0 && strings.Contains(errs.String(), "other programs took") {
			t.Errorf("--quiet=%v, others %v: %d times %q, want %d:\n%s", quiet, *sum.ForeignCPU, got, told, want, errs.String())
		}
	}
}
