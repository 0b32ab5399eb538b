package suite

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"prismtop/profiles/criteria"
	"prismtop/profiles/unit"
)

// WriteAMP writes mixed precision by image size.
func (r *Report) WriteAMP(w io.Writer) error {
	if r.AMP == nil || len(r.AMP.Sizes) == 0 {
		return nil
	}
	var b strings.Builder
	r.heading(&b, "Mixed precision by image size")
	r.precision(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) precision(b *strings.Builder) {
	a := r.AMP
	fmt.Fprintf(b, "preset %s by size; %s each of %s from the same weights as float32's\n", a.Preset,
		unit.Plural(a.Seeds, "training", "trainings"), unit.Plural(a.Iterations, "iteration", "iterations"))
	for i := range a.Sizes {
		z := &a.Sizes[i]
		fmt.Fprintf(b, "\n%d/%d\n", z.Size, z.ObjectSize)
		lines := []string{"  mode\toff ms\ton ms\tspeed-up\tmemory\tpeak of resident memory"}
		for k := range z.Modes {
			m := &z.Modes[k]
			lines = append(lines, fmt.Sprintf("  %s\t%.3f\t%.3f\t%s\t%.1f to %.1f MB\t%s", m.Mode, m.OffMS, m.OnMS, m.Speedup.text("x", 3),
				float64(m.OffBytes)/1e6, float64(m.OnBytes)/1e6, m.peaks()))
		}
		table(b, lines...)
		z.trainings(b, a)
		z.criteria(b)
		for k := range z.Modes {
			fmt.Fprintf(b, "  %s\n", z.Modes[k].Advice)
		}
	}
	a.wanted(b)
	if c := a.Scaler; c != nil {
		fmt.Fprintf(b, "\nfp16's gradient scaler at %d/%d over %s, %s skipped:", c.Size, c.ObjectSize, unit.Plural(c.Iterations, "iteration", "iterations"), unit.Plural(c.Skipped, "step", "steps"))
		for i, p := range c.Course {
			if i > 0 {
				fmt.Fprintf(b, ", from iteration %d on", p.Iteration)
			}
			fmt.Fprintf(b, " %s", strconv.FormatFloat(p.Scale, 'f', -1, 64))
		}
		b.WriteByte('\n')
	}
}

// wanted writes the criteria.
func (a *AMP) wanted(b *strings.Builder) {
	var lines []string
	if z := &a.Sizes[0]; len(z.Modes) > 0 {
		for _, k := range z.Modes[0].Criteria {
			if k.LearningRate == a.LearningRates[0] {
				lines = append(lines, "  "+k.Name+"\t"+k.Wanted)
			}
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\ncriteria, judged by the worst seed; not judged where float32 that only rounds otherwise fails, too:\n")
		table(b, lines...)
	}
}

func (m *AMPMode) peaks() string {
	if m.OffPeak == nil || m.OnPeak == nil {
		return "– (" + m.NoPeak + ")"
	}
	return fmt.Sprintf("%.1f to %.1f MB", float64(*m.OffPeak)/1e6, float64(*m.OnPeak)/1e6)
}

// trainings writes what came of the trainings, the first seed's numbers of each.
func (z *AMPSize) trainings(b *strings.Builder, a *AMP) {
	lines := []string{"  trained\tlr\tloss, first\tfinal\tPSNR\tSSIM\tgradient norm\tskipped\tscale"}
	for _, t := range z.Trainings {
		if len(t.Runs) == 0 {
			continue
		}
		run, skipped := &t.Runs[0], 0
		for _, r := range t.Runs {
			skipped += r.Skipped
		}
		norm, scale := "–", "–"
		if run.Gradients != nil {
			norm = fmt.Sprintf("%s (%s to %s)", number(run.Gradients.Median), number(run.Gradients.P10), number(run.Gradients.P90))
		}
		if run.ScaleFirst > 0 {
			scale = number(run.ScaleFirst)
			if run.ScaleLast != run.ScaleFirst || run.ScaleLeast != run.ScaleFirst {
				scale += fmt.Sprintf(", least %s, last %s", number(run.ScaleLeast), number(run.ScaleLast))
			}
		}
		final := optional(run.FinalLoss, 4, "")
		if run.Ended > 0 {
			final = fmt.Sprintf("diverged after %d", run.Ended)
		}
		lines = append(lines, fmt.Sprintf("  %s\t%g\t%s\t%s\t%s\t%s\t%s\t%d\t%s", t.Mode, t.LearningRate, optional(run.FirstLoss, 4, ""), final,
			optional(run.PSNR, 2, " dB"), optional(run.SSIM, 4, ""), norm, skipped, scale))
	}
	table(b, lines...)
	if a.Seeds > 1 {
		fmt.Fprintf(b, "  numbers of the first of %d seeds, skipped steps of all\n", a.Seeds)
	}
}

// criteria writes the verdicts, a line for each mode and learning rate.
func (z *AMPSize) criteria(b *strings.Builder) {
	var lines, reasons []string
	for i := range z.Modes {
		m := &z.Modes[i]
		for at := 0; at < len(m.Criteria); {
			rate, line := m.Criteria[at].LearningRate, fmt.Sprintf("  %s\t%g", m.Mode, m.Criteria[at].LearningRate)
			heading := "  judged\tlr"
			for ; at < len(m.Criteria) && m.Criteria[at].LearningRate == rate; at++ {
				k := &m.Criteria[at]
				verdict := string(k.Verdict)
				if k.Verdict == criteria.Impossible {
					reasons = append(reasons, fmt.Sprintf("  %s, lr %g, %s: %s", m.Mode, rate, k.Name, k.Reason))
					verdict = "not judged"
				}
				heading, line = heading+"\t"+k.Name, line+"\t"+verdict+" "+k.Measured
			}
			if len(lines) == 0 {
				lines = append(lines, heading)
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return
	}
	table(b, lines...)
	for _, r := range reasons {
		fmt.Fprintln(b, r)
	}
}
