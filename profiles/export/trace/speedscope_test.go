package trace

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"prismtop/profiles/export/exporttest"
)

// speedscope names the folder of speedscope's npm package, as in node_modules/speedscope.
const speedscope = "PRISMTOP_SPEEDSCOPE"

// An independent program understands the trace: what it finds as the times and the nesting is
// what the run did.
func TestSpeedscopeReadsTheTrace(t *testing.T) {
	folder := os.Getenv(speedscope)
	if folder == "" {
		t.Skipf("skipped: %s does not name the folder of speedscope's npm package (npm install speedscope)", speedscope)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("skipped: speedscope's importer needs node: %v", err)
	}
	_, text := written(t, exporttest.Events(), 0)
	file := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	cmd := exec.Command(node, filepath.Join("testdata", "speedscope.js"), folder, file)
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v: %s", err, complaints.Bytes())
	}
	var threads []struct {
		Name    string
		Weight  float64
		Deepest int
		Frames  map[string]struct{ Total, Self float64 }
	}
	if err := json.Unmarshal(out, &threads); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if len(threads) != 2 || !strings.Contains(threads[0].Name, "loop") || !strings.Contains(threads[1].Name, "experiments") {
		t.Fatalf("threads: %+v", threads)
	}
	const n = exporttest.Starts * exporttest.Iterations
	for _, c := range []struct {
		name  string
		count int
		each  int64
	}{{"iteration", n, exporttest.Total + exporttest.Retimed}, {"forward", n, exporttest.Forward}, {"backward", n, exporttest.Backward},
		{"metrics", n / 3, exporttest.Metrics}, {"cache monitoring", n, exporttest.Retimed}} {
		if got, want := threads[0].Frames[c.name].Total, float64(c.each)/1e3*float64(c.count); math.Abs(got-want) > float64(c.count*grain)/1e3 {
			t.Errorf("speedscope finds %g µs of %s, want %g", got, c.name, want)
		}
	}
	if threads[0].Deepest != 4 {
		t.Errorf("speedscope finds spans nested %d deep, want 4", threads[0].Deepest)
	}
}
