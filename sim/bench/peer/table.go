package peer

import (
	"fmt"
	"io"
	"strings"
	"time"

	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
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
	var b strings.Builder
	fmt.Fprintf(&b, "%s: prismtop %s (%s) and PyTorch %s (NumPy %s, Python %s; %s) on %s, %s, "+
		"%s on both sides where nothing else is said. Medians [10th to 90th percentile]; the ratio is the median of "+
		"the ratios of %s [10th to 90th percentile], in each of which one side ran after the other.\n\n",
		h.Measured.UTC().Format("2006-01-02"), h.Version, h.Kernels, visible.Text(h.Peer.Torch), visible.Text(h.Peer.Numpy),
		visible.Text(h.Peer.Python), visible.Text(h.Peer.Capability), h.CPU,
		unit.Plural(h.Logical, "logical processor", "logical processors"), unit.Plural(h.Threads, "thread", "threads"), unit.Plural(h.Rounds, "round", "rounds"))
	b.WriteString("| work | PyTorch | prismtop | ratio | rounds kept |\n|---|---|---|---|---|\n")
	for _, r := range results {
		b.WriteString(r.line())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r Result) line() string {
	if len(r.Rounds) == 0 {
		return fmt.Sprintf("| %s | not measured: %v | | | 0 |\n", r.Work.Name, oneLine(r.Err))
	}
	kept, clean := r.Kept()
	ratio, low, high := quantiles(kept, Round.Ratio)
	count := fmt.Sprintf("%d of %d", len(kept), len(r.Rounds))
	if !clean {
		count = fmt.Sprintf("0 of %d: all disturbed, all shown", len(r.Rounds))
	}
	return fmt.Sprintf("| %s | %s%s | %s | %s × [%s, %s] | %s |\n", r.Work.Name,
		cell(kept, r.Work.Unit, func(x Round) Figure { return x.Peer }), note(kept),
		cell(kept, r.Work.Unit, func(x Round) Figure { return x.Ours }),
		digits(ratio), digits(low), digits(high), count)
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

func oneLine(err error) string {
	if err == nil {
		return "no round"
	}
	return visible.Text(strings.NewReplacer("\n", " ", "|", "/").Replace(err.Error()))
}
