package bench

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"prismtop/profiles/export"
	"prismtop/profiles/visible"
)

// goLines is the number of lines of a benchmark in Go's format: benchstat needs several to give an interval.
const goLines = 10

// WriteGo writes a measurement in the format of Go's benchmarks, which benchstat compares: a benchmark for the iteration and each
// phase, in up to goLines lines, each the mean of consecutive iterations.
func WriteGo(w io.Writer, r *Report, s *export.Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "goos: %s\ngoarch: %s\npkg: prismtop\n", runtime.GOOS, runtime.GOARCH)
	if s.Machine.CPU != nil {
		fmt.Fprintf(&b, "cpu: %s\n", visible.Text(*s.Machine.CPU))
	}
	// Further keys would make benchstat put runs that differ in them in tables of their own: these are comments.
	fmt.Fprintf(&b, "# prismtop %s, kernels %s\n", s.Version, or(s.Machine.Kernels, "unknown"))
	for _, name := range s.Settings.Table().Names() {
		fmt.Fprintf(&b, "# %s = %s\n", name, visible.Text(s.Settings.Quoted(name)))
	}
	name := "Iteration"
	if r.Options.Forward {
		name = "Forward"
	}
	writeGo(&b, name, r.Threads, r.Total)
	for i, p := range r.Run.Schema.Phases {
		writeGo(&b, name+"/phase="+strings.ReplaceAll(p.Name, " ", "_"), r.Threads, r.Phases[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeGo writes the lines of a benchmark of times in nanoseconds.
func writeGo(b *strings.Builder, name string, threads int, nanos []int64) {
	lines := min(goLines, len(nanos))
	for i := range lines {
		of := nanos[i*len(nanos)/lines : (i+1)*len(nanos)/lines]
		sum := int64(0)
		for _, n := range of {
			sum += n
		}
		fmt.Fprintf(b, "Benchmark%s-%d\t%d\t%.1f ns/op\n", name, threads, len(of), float64(sum)/float64(len(of)))
	}
}
