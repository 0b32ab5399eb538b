package export

import (
	"fmt"
	"io"
	"runtime"
	"strings"

	"prismtop/profiles/visible"
)

// GoBenchmarks are measurements in the format of Go's benchmarks
// (go.dev/design/14313-benchmark-format), which benchstat compares.
type GoBenchmarks struct{ text strings.Builder }

// NewGoBenchmarks begins with the machine and comments: further keys would make benchstat put runs that differ in them
// into tables of their own. cpu is empty if it is unknown.
func NewGoBenchmarks(cpu string, comments ...string) *GoBenchmarks {
	g := &GoBenchmarks{}
	fmt.Fprintf(&g.text, "goos: %s\ngoarch: %s\npkg: prismtop\n", runtime.GOOS, runtime.GOARCH)
	if cpu != "" {
		fmt.Fprintf(&g.text, "cpu: %s\n", visible.Text(cpu))
	}
	for _, line := range comments {
		fmt.Fprintf(&g.text, "# %s\n", visible.Text(line))
	}
	return g
}

// Add adds a measurement of n operations, each of so many nanoseconds on average. A name begins with a capital, may go
// on with /key=value, and repeats for every measurement. more are numbers with units, as "8.2 images/s".
func (g *GoBenchmarks) Add(name string, threads, n int, nanoseconds float64, more ...string) {
	fmt.Fprintf(&g.text, "Benchmark%s-%d\t%d\t%.1f ns/op", strings.ReplaceAll(visible.Text(name), " ", "_"), threads, n,
		nanoseconds)
	for _, m := range more {
		fmt.Fprintf(&g.text, "\t%s", m)
	}
	g.text.WriteByte('\n')
}

// goLines is the number of measurements that AddTimes makes: benchstat needs several to give an interval.
const goLines = 10

// AddTimes adds times of single operations in nanoseconds: in up to goLines measurements, each of consecutive ones.
func (g *GoBenchmarks) AddTimes(name string, threads int, nanos []int64) {
	lines := min(goLines, len(nanos))
	for i := range lines {
		of := nanos[i*len(nanos)/lines : (i+1)*len(nanos)/lines]
		sum := int64(0)
		for _, n := range of {
			sum += n
		}
		g.Add(name, threads, len(of), float64(sum)/float64(len(of)))
	}
}

// Write writes all of it.
func (g *GoBenchmarks) Write(w io.Writer) error {
	_, err := io.WriteString(w, g.text.String())
	return err
}
