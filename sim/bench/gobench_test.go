package bench

import (
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles/export"
	"prismtop/sim/prism"
)

// Every line is a comment, a key with its value, or a benchmark as the format of Go defines it, which benchstat reads
// (go.dev/design/14313-benchmark-format).
func TestTheFormatOfGo(t *testing.T) {
	cpu := "a cpu: two\x1b[31m"
	v := prism.Table.Zero()
	s := &export.Summary{Version: "1.2", Settings: &v, Machine: export.Machine{CPU: &cpu}}
	r := &Report{Threads: 2}
	r.Run.Schema = prism.Schema()
	for i := range 25 {
		r.Total = append(r.Total, int64(1000+i))
		r.Phases[prism.PhaseForward] = append(r.Phases[prism.PhaseForward], 400)
	}
	r.Phases[prism.PhaseLoss] = []int64{7, 9}
	var b strings.Builder
	if err := WriteGo(&b, r, s); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^Benchmark([A-Z]\S*)-2\t(\d+)\t(\S+) ns/op$`)
	lines, sums, keys := map[string]int{}, map[string]float64{}, ""
	for text := range strings.Lines(b.String()) {
		text = strings.TrimSuffix(text, "\n")
		key, _, isKey := strings.Cut(text, ": ")
		switch m := line.FindStringSubmatch(text); {
		case m != nil:
			n, _ := strconv.Atoi(m[2])
			mean, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				t.Errorf("%q: %v", text, err)
			}
			lines[m[1]]++
			sums[m[1]] += float64(n) * mean
		case strings.HasPrefix(text, "# "):
		case isKey && strings.ToLower(key) == key && !strings.ContainsAny(key, " \t"):
			keys += key + " "
		default:
			t.Errorf("%q is no line of the format", text)
		}
	}
	if lines["Iteration"] != goLines || sums["Iteration"] != 25*1012 || lines["Iteration/phase=forward"] != goLines ||
		lines["Iteration/phase=loss"] != 2 || sums["Iteration/phase=loss"] != 16 || len(lines) != 3 || keys != "goos goarch pkg cpu " {
		t.Errorf("lines %v, sums %v, keys %s of %s", lines, sums, keys, runtime.GOOS)
	}
}
