package emulator

import (
	"errors"
	"os"
	"strings"
	"testing"

	"prismtop/gpu/driver"
)

// Every planted mistake ends its context with a result and a text that name it.
func TestPlantedFaults(t *testing.T) {
	text, err := os.ReadFile("testdata/faults_sm80.ptx")
	must(t, err)
	lines := strings.Split(string(text), "\n")
	tests := []struct {
		kernel   string
		n        int32
		result   driver.Result // 0: none
		contains string
		line     string // of the PTX, that the error names
	}{
		{"overrun", 64, 700, "0 bytes after the end of allocation", "st.global.u32"},
		{"unwritten", 64, 719, "never written", "ld.global.f32"},
		{"unwrittenShared", 64, 719, "never written", "ld.shared.f32"},
		{"missingBarrier", 64, 719, "thread [0 0 0] read at line", "st.shared.f32"},
		{"missingSecondBarrier", 64, 719, "thread [31 0 0] wrote at line", "ld.shared.f32"},
		{"sameShared", 64, 719, "thread [0 0 0] wrote at line", "st.shared.u32"},
		{"sameFlag", 64, 0, "", ""},
		{"globalRace", 64, 719, "race", "st.global.f32"},
		{"divergentShuffle", 64, 719, "lanes 0xffff wait for the others of the warp: 0xffff0000 exited", "shfl.sync.bfly.b32"},
		{"divergentBarrier", 64, 719, "wait for the others of the warp", "bar.sync"},
		{"deadlock", 64, 702, "32 at line", "bar.sync"},
		{"endless", 64, 702, "more than 100000 steps", "bra"},
		{"misaligned", 64, 716, "4 bytes at", "st.global.u32"},
		{"trap", 64, 719, "gave up", "trap"},
		{"sharedOverrun", 1, 700, "beyond the variable of 256 bytes", "ld.shared.f32"},
		{"sharedOverrun", 0, 0, "", ""},
		{"earlyRead", 0, 719, "cp.async was not waited for", "ld.shared.f32"},
		{"earlyRead", 1, 0, "", ""},
	}
	for _, test := range tests {
		t.Run(test.kernel, func(t *testing.T) {
			d := open(t, Options{Checks: checked, Steps: 100000})
			m := loadFile(t, d, "faults_sm80.ptx")
			x := make([]float32, 64)
			for i := range x {
				x[i] = float32(i + 1)
			}
			px, py := upload(t, d, x), blank[float32](t, d, 64)
			if test.kernel == "unwritten" {
				px = blank[float32](t, d, 64)
			}
			threads := 64
			if test.kernel == "overrun" {
				threads = 128
			}
			must(t, d.LaunchKernel(kernel(t, d, m, test.kernel), driver.X(1), driver.X(threads), 0, 0, pack(t, px, py, test.n)))
			err := d.ContextSynchronize()
			if driver.As(err) != test.result {
				t.Fatalf("got %v, want result %d", err, test.result)
			}
			if test.result == 0 {
				return
			}
			var e *driver.Error
			errors.As(err, &e)
			if !strings.Contains(e.Detail, "kernel "+test.kernel) || !strings.Contains(e.Detail, test.contains) {
				t.Errorf("%q does not say %q", e.Detail, test.contains)
			}
			line := 0
			if i := strings.Index(e.Detail, "at line "); i >= 0 {
				for _, c := range e.Detail[i+len("at line "):] {
					if c < '0' || c > '9' {
						break
					}
					line = 10*line + int(c-'0')
				}
			}
			if line == 0 || line > len(lines) || !strings.Contains(lines[line-1], test.line) {
				t.Errorf("%q does not name the line of a %s", e.Detail, test.line)
			}
			if err := d.StreamSynchronize(0); driver.As(err) != test.result {
				t.Errorf("the context went on: %v", err)
			}
		})
	}
}
