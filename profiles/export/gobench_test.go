package export

import (
	"regexp"
	"strings"
	"testing"
)

// Every line is a comment, a key with its value, or a benchmark as the format of Go defines it.
func TestTheFormatOfGo(t *testing.T) {
	g := NewGoBenchmarks("a cpu: two\x1b[31m", "one\ntwo", "amp = off")
	g.AddTimes("Iteration/phase=new measurement", 2, []int64{7, 9})
	times := make([]int64, 25)
	for i := range times {
		times[i] = int64(1000 + i)
	}
	g.AddTimes("Iteration", 2, times)
	g.Add("Predict/batch=8", 1, 16, 2.5e6, "400 images/s")
	var b strings.Builder
	if err := g.Write(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if !regexp.MustCompile(`^(# .*|[a-z]+: [^\x00-\x1f]*|Benchmark[A-Z]\S*-\d+\t\d+(\t[0-9.e+-]+ \S+)+)\n$`).MatchString(line) {
			t.Errorf("%q is no line of the format", line)
		}
	}
	for want, n := range map[string]int{
		"\ncpu: a cpu: two": 1, "\nBenchmarkIteration-2\t": 10, "BenchmarkIteration/phase=new_measurement-2\t1\t7.0 ns/op\n": 1,
		"BenchmarkPredict/batch=8-1\t16\t2500000.0 ns/op\t400 images/s\n": 1, "BenchmarkIteration-2\t2\t1000.5 ns/op\n": 1, "BenchmarkIteration-2\t3\t1023.0 ns/op\n": 1,
	} {
		if got := strings.Count(b.String(), want); got != n {
			t.Errorf("%d of %q in\n%s", got, want, &b)
		}
	}
}
