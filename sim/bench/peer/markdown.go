package peer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// Header describes what was measured, and where.
type Header struct {
	Version  string // of prismtop
	Kernels  string
	CPU      string
	Logical  int
	Threads  int
	Rounds   int
	Peer     Versions
	Measured time.Time
}

// WriteMarkdown writes the table of the results.
func WriteMarkdown(w io.Writer, h Header, results []Result) error {
	var d report.Document
	d.Paragraph("%s: prismtop %s (%s) and PyTorch %s (NumPy %s, Python %s; %s) on %s, %s, "+
		"%s on both sides where nothing else is said. Medians [10th to 90th percentile]; the ratio is the median of "+
		"the ratios of %s [10th to 90th percentile], in each of which one side ran after the other.",
		h.Measured.UTC().Format("2006-01-02"), h.Version, h.Kernels, h.Peer.Torch, h.Peer.Numpy, h.Peer.Python,
		h.Peer.Capability, h.CPU,
		unit.Plural(h.Logical, "logical processor", "logical processors"), unit.Plural(h.Threads, "thread", "threads"),
		unit.Plural(h.Rounds, "round", "rounds"))
	t := d.Table("work", "PyTorch", "prismtop", "ratio", "rounds kept")
	for _, r := range results {
		t.Add(r.cells()...)
	}
	return d.WriteMarkdown(w)
}

func (r Result) cells() []string {
	if len(r.Rounds) == 0 {
		err := "no round"
		if r.Err != nil {
			err = strings.ReplaceAll(r.Err.Error(), "\n", " ")
		}
		return []string{r.Work.Name, "not measured: " + err, "", "", "0"}
	}
	kept, clean := r.Kept()
	ratio, low, high := quantiles(kept, Round.Ratio)
	count := fmt.Sprintf("%d of %d", len(kept), len(r.Rounds))
	if !clean {
		count = fmt.Sprintf("0 of %d: all disturbed, all shown", len(r.Rounds))
	}
	return []string{r.Work.Name, cell(kept, r.Work.Unit, func(x Round) Figure { return x.Peer }) + note(kept),
		cell(kept, r.Work.Unit, func(x Round) Figure { return x.Ours }),
		fmt.Sprintf("%s × [%s, %s]", digits(ratio), digits(low), digits(high)), count}
}

// cell returns a side's figure: the median of its medians, between the medians of
// its percentiles.
func cell(rounds []Round, unit string, side func(Round) Figure) string {
	median, _, _ := quantiles(rounds, func(r Round) float64 { return side(r).Median })
	low, _, _ := quantiles(rounds, func(r Round) float64 { return side(r).P10 })
	high, _, _ := quantiles(rounds, func(r Round) float64 { return side(r).P90 })
	if low == high {
		return digits(median) + " " + unit
	}
	return fmt.Sprintf("%s %s [%s, %s]", digits(median), unit, digits(low), digits(high))
}

func note(rounds []Round) string {
	if n := rounds[0].Peer.Note; n != "" {
		return " (" + n + ")"
	}
	return ""
}

// digits formats three significant digits.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
