package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"prismtop/profiles"
	"prismtop/profiles/unit"
)

// writeFactorial writes the table of a factorial ablation as text.
func writeFactorial(w io.Writer, a *profiles.Ablation) error {
	f := a.Factorial
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s of %s in random order · %.0f s\n", a.Work, unit.Plural(f.Rounds, "round", "rounds"),
		unit.Plural(len(f.CombinationNS), "combination", "combinations"), a.Spent.Seconds())
	aligned(&b, "setting\talone\tinterval\tspeed-up\taveraged\tinterval\t", len(f.Factors), func(i int) string {
		return fmt.Sprintf("%s\t%s\t%s\t%s\t", f.Factors[i].Name, ratio(f.Alone[i]), f.Alone[i].SpeedUp(), ratio(f.Averaged[i]))
	})
	fmt.Fprintln(&b)
	aligned(&b, "interaction\tbeyond the product\tinterval\t verdict", len(f.Interactions), func(i int) string {
		return fmt.Sprintf("%s\t%s\t %s", f.InteractionName(i), ratio(f.Interactions[i].Ratio), f.InteractionVerdict(i))
	})
	fmt.Fprintln(&b)
	ratios := []profiles.Ratio{f.Product, f.Whole, f.Excess}
	aligned(&b, "everything on, against everything off\ttime\tinterval\tspeed-up\t", len(ratios), func(i int) string {
		name := []string{"product of the single speed-ups", "measured", "measured over product"}[i]
		return fmt.Sprintf("%s\t%s\t%s\t", name, ratio(ratios[i]), ratios[i].SpeedUp())
	})
	fmt.Fprintf(&b, "%s\n\n", f.Verdict())
	aligned(&b, "ms\t on", len(f.CombinationNS), func(on int) string {
		return fmt.Sprintf("%s\t %s", medianOf(f.CombinationNS[on]), f.Combination(on))
	})
	fmt.Fprintf(&b, "alone: with the others off; averaged: over all combinations of the others; the %d intervals hold together in 95 %% of cases\n", f.Intervals)
	for i, note := range f.Notes {
		if note != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.Factors[i].Name, note)
		}
	}
	if a.Ended != "complete" {
		fmt.Fprintf(&b, "the ablation ended early: %s\n", a.Ended)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// aligned writes a table of n rows, whose cells end with tabs, with its columns aligned to the right.
func aligned(b *strings.Builder, head string, n int, row func(i int) string) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, head)
	for i := range n {
		fmt.Fprintln(t, row(i))
	}
	_ = t.Flush() // writes to memory do not fail
}

// ratio returns the cells of a ratio and its interval.
func ratio(r profiles.Ratio) string { return percent(r.Effect) + "\t" + interval(r.Low, r.High) }

// medianOf formats a median in ms, NaN if it was not measured.
func medianOf(ns float64) string {
	if math.IsNaN(ns) {
		return "–"
	}
	return fmt.Sprintf("%.3f", ns/1e6)
}
