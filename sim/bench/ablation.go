package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/report"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/sim/ablation"
	"prismtop/sim/workload"
)

// Ablation compares every switchable optimisation on and off, or every combination of the factors
// in o, in the middle of the settings' pattern, like the ablation of a live run. report is called
// with the state after every block and may be nil. If ctx ends, its error comes with the table of
// what was measured, nil if there is none. The run within which it was measured comes with the table.
func Ablation(ctx context.Context, maker workload.Maker, v settings.Values, o ablation.Options,
	report func(*profiles.Ablation)) (*profiles.Ablation, profiles.RunInfo, error) {
	m := &measurement{ctx: ctx, report: &Report{}}
	run, err := m.middle(maker, v)
	if err != nil {
		return nil, profiles.RunInfo{}, err
	}
	defer run.Close()
	if err := run.Ablate(o); err != nil {
		return nil, run.Info(), err
	}
	began := machine.ReadLoad()
	loaded := func(a profiles.Ablation) *profiles.Ablation {
		load := machine.ReadLoad().Since(began)
		a.Foreign, a.ForeignKnown = load.Foreign(), load.Reason == ""
		return &a
	}
	for seen := (*profiles.Ablation)(nil); ; {
		if err := m.iterate(run, &row{}); err != nil {
			err = fmt.Errorf("bench ablation: %w", err)
			if ctx.Err() == nil || seen == nil || seen.Done == 0 {
				return nil, run.Info(), err
			}
			incomplete := *seen
			incomplete.Running, incomplete.Ended = false, "interrupted"
			return loaded(incomplete), run.Info(), err
		}
		newest := run.Ablation()
		if newest != seen && newest != nil && report != nil && newest.Spent > 0 {
			report(newest)
		}
		if seen = newest; newest != nil && !newest.Running {
			return loaded(*newest), run.Info(), nil
		}
	}
}

// WriteAblation writes an ablation's table as text.
func WriteAblation(w io.Writer, a *profiles.Ablation) error {
	if a.Factorial != nil {
		return writeFactorial(w, a)
	}
	var d report.Document
	d.Paragraph("%s · %s of off on on off or its mirror · %.0f s", a.Work, unit.Plural(a.Rounds, "round", "rounds"),
		a.Spent.Seconds())
	quality := a.QualityTitle()
	t := d.Table("setting", "off ms", "on ms", "effect", "95 % interval", "memory MB", quality, "n", "verdict")
	t.Align = "lrrrrrrrl"
	for _, r := range a.Rows {
		gained := ""
		if quality != "" {
			gained = gain(&r)
		}
		t.Add(r.Name(), medianOf(r.OffNS), medianOf(r.OnNS), percent(r.Effect), interval(r.Low, r.High), megabytes(&r),
			gained, fmt.Sprint(r.Iterations), r.Conclusion())
	}
	if quality == "" {
		d.Paragraph("memory is that of on less off;")
	} else {
		d.Paragraph("memory and %[1]s are those of on less off; %[1]s gained over 100 iterations, with its 95 "+
			"%% interval;", strings.TrimSuffix(quality, "/100"))
	}
	d.Paragraph("off ms and on ms are the times that the effect is between, around the middle of the groups of four " +
		"neighbouring blocks")
	ended(&d, a)
	return d.WriteText(w, 0)
}

// ended says why an ablation is not complete.
func ended(d *report.Document, a *profiles.Ablation) {
	if a.Ended != "complete" {
		d.Paragraph("the ablation ended early: %s", a.Ended)
	}
}

func percent(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return fmt.Sprintf("%+.1f %%", 100*v)
}

func interval(low, high float64) string {
	if math.IsNaN(low) || math.IsInf(high, 0) {
		return "–"
	}
	return fmt.Sprintf("[%+.1f, %+.1f]", 100*low, 100*high)
}

// megabytes formats what on holds more than off in MB.
func megabytes(r *profiles.AblationRow) string {
	if math.IsNaN(r.OffNS) || math.IsNaN(r.OnNS) {
		return "–"
	}
	return fmt.Sprintf("%+.2f", float64(r.OnBytes-r.OffBytes)/1e6)
}

func gain(r *profiles.AblationRow) string {
	f, bounded := r.JudgeQuality()
	text := fmt.Sprintf("%+.3f", r.Quality)
	switch {
	case !bounded:
		return "–"
	case f == stats.Undecided:
		text = "undecided"
	}
	return fmt.Sprintf("%s [%+.3f, %+.3f]", text, r.QualityLow, r.QualityHigh)
}
