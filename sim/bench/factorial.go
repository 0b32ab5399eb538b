package bench

import (
	"fmt"
	"io"
	"math"

	"prismtop/profiles"
	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// writeFactorial writes the table of a factorial ablation as text.
func writeFactorial(w io.Writer, a *profiles.Ablation) error {
	f := a.Factorial
	var d report.Document
	d.Paragraph("%s · %s of %s in random order · %.0f s", a.Work, unit.Plural(f.Rounds, "round", "rounds"),
		unit.Plural(len(f.CombinationNS), "combination", "combinations"), a.Spent.Seconds())
	t := d.Table("setting", "alone", "interval", "speed-up", "averaged", "interval")
	t.Align = "lr"
	for i := range f.Factors {
		t.Add(f.Factors[i].Name, percent(f.Alone[i].Effect), ends(f.Alone[i]), f.Alone[i].SpeedUp(),
			percent(f.Averaged[i].Effect), ends(f.Averaged[i]))
	}
	t = d.Table("interaction", "beyond the product", "interval", "verdict")
	t.Align = "lrrl"
	for i := range f.Interactions {
		t.Add(f.InteractionName(i), percent(f.Interactions[i].Effect), ends(f.Interactions[i].Ratio),
			f.InteractionVerdict(i))
	}
	t = d.Table("everything on, against everything off", "time", "interval", "speed-up")
	t.Align = "lr"
	for i, r := range []profiles.Ratio{f.Product, f.Whole, f.Excess} {
		t.Add([]string{"product of the single speed-ups", "measured", "measured over product"}[i], percent(r.Effect),
			ends(r), r.SpeedUp())
	}
	d.Paragraph("%s", f.Verdict())
	t = d.Table("ms", "on")
	t.Align = "rl"
	for on, ns := range f.CombinationNS {
		t.Add(medianOf(ns), f.Combination(on))
	}
	d.Paragraph("alone: with the others off; averaged: over all combinations of the others; the %d intervals hold "+
		"together in 95 %% of cases", f.Intervals)
	for i, note := range f.Notes {
		if note != "" {
			d.Paragraph("%s: %s", f.Factors[i].Name, note)
		}
	}
	ended(&d, a)
	return d.WriteText(w, 0)
}

// ends formats the interval of a ratio.
func ends(r profiles.Ratio) string { return interval(r.Low, r.High) }

// medianOf formats a median in ms, NaN if it was not measured.
func medianOf(ns float64) string {
	if math.IsNaN(ns) {
		return "–"
	}
	return fmt.Sprintf("%.3f", ns/1e6)
}
