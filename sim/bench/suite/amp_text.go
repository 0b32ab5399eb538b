package suite

import (
	"fmt"
	"strconv"

	"prismtop/profiles/criteria"
	"prismtop/profiles/report"
	"prismtop/profiles/unit"
)

// TheSizes adds mixed precision by image size.
func TheSizes(r *Report, d *report.Document) {
	if !hasAMP(r) {
		return
	}
	a := r.AMP
	d.Paragraph("preset %s by size; %s each of %s from the same weights as float32's", a.Preset,
		unit.Plural(a.Seeds, "training", "trainings"), unit.Plural(a.Iterations, "iteration", "iterations"))
	for i := range a.Sizes {
		z := &a.Sizes[i]
		d.Heading(3, AMPGeometry{z.Size, z.ObjectSize}.String())
		t := d.Table("mode", "off ms", "on ms", "speed-up", "memory", "peak of resident memory")
		for k := range z.Modes {
			m := &z.Modes[k]
			peaks := peak(m.OffPeak, m.NoPeak)
			if m.OffPeak != nil {
				peaks += " to " + peak(m.OnPeak, m.NoPeak)
			}
			t.Add(m.Mode, fmt.Sprintf("%.3f", m.OffMS), fmt.Sprintf("%.3f", m.OnMS), m.Speedup.Text("x", 3),
				megabytes(m.OffBytes)+" to "+megabytes(m.OnBytes), peaks)
		}
		z.trainings(d, a)
		z.criteria(d)
		for k := range z.Modes {
			d.Paragraph("%s", z.Modes[k].Advice)
		}
	}
	a.wanted(d)
	if c := a.Scaler; c != nil {
		text := fmt.Sprintf("fp16's gradient scaler at %d/%d over %s, %s skipped:", c.Size, c.ObjectSize,
			unit.Plural(c.Iterations, "iteration", "iterations"), unit.Plural(c.Skipped, "step", "steps"))
		for i, p := range c.Course {
			if i > 0 {
				text += fmt.Sprintf(", from iteration %d on", p.Iteration)
			}
			text += " " + strconv.FormatFloat(p.Scale, 'f', -1, 64)
		}
		d.Paragraph("%s", text)
	}
}

// wanted adds the criteria.
func (a *AMP) wanted(d *report.Document) {
	z := &a.Sizes[0]
	if len(z.Modes) == 0 || len(z.Modes[0].Criteria) == 0 {
		return
	}
	d.Heading(3, "Criteria, judged by the worst seed; not judged where float32 that only rounds otherwise fails, too")
	t := d.Table()
	for _, k := range z.Modes[0].Criteria {
		if k.LearningRate == a.LearningRates[0] {
			t.Add(k.Name, k.Wanted)
		}
	}
}

// trainings adds what came of the trainings, the first seed's numbers of each.
func (z *AMPSize) trainings(d *report.Document, a *AMP) {
	table := d.Table("trained", "lr", "loss, first", "final", "PSNR", "SSIM", "gradient norm", "skipped", "scale")
	for _, t := range z.Trainings {
		if len(t.Runs) == 0 {
			continue
		}
		run, skipped := &t.Runs[0], 0
		for _, r := range t.Runs {
			skipped += r.Skipped
		}
		norm, scale := "–", "–"
		if g := run.Gradients; g != nil {
			norm = fmt.Sprintf("%s (%s to %s)", report.Number(g.Median), report.Number(g.P10), report.Number(g.P90))
		}
		if run.ScaleFirst > 0 {
			scale = report.Number(run.ScaleFirst)
			if run.ScaleLast != run.ScaleFirst || run.ScaleLeast != run.ScaleFirst {
				scale += fmt.Sprintf(", least %s, last %s", report.Number(run.ScaleLeast), report.Number(run.ScaleLast))
			}
		}
		final := report.Optional(run.FinalLoss, 4, "")
		if run.Ended > 0 {
			final = fmt.Sprintf("diverged after %d", run.Ended)
		}
		table.Add(t.Mode, fmt.Sprintf("%g", t.LearningRate), report.Optional(run.FirstLoss, 4, ""), final,
			report.Optional(run.PSNR, 2, " dB"), report.Optional(run.SSIM, 4, ""), norm, strconv.Itoa(skipped), scale)
	}
	if a.Seeds > 1 {
		d.Paragraph("numbers of the first of %d seeds, skipped steps of all", a.Seeds)
	}
}

// criteria adds the verdicts, a row for each mode and learning rate, and the reasons why some are not judged.
func (z *AMPSize) criteria(d *report.Document) {
	var t *report.Table
	var reasons []string
	for i := range z.Modes {
		m := &z.Modes[i]
		for at := 0; at < len(m.Criteria); {
			rate := m.Criteria[at].LearningRate
			head, row := []string{"judged", "lr"}, []string{m.Mode, fmt.Sprintf("%g", rate)}
			for ; at < len(m.Criteria) && m.Criteria[at].LearningRate == rate; at++ {
				k := &m.Criteria[at]
				verdict := string(k.Verdict)
				if k.Verdict == criteria.Impossible {
					reasons = append(reasons, fmt.Sprintf("%s, lr %g, %s: %s", m.Mode, rate, k.Name, k.Reason))
					verdict = "not judged"
				}
				head, row = append(head, k.Name), append(row, report.Strong(verdict)+" "+k.Measured)
			}
			if t == nil {
				t = d.Table(head...)
			}
			t.Add(row...)
		}
	}
	for _, reason := range reasons {
		d.Paragraph("%s", reason)
	}
}
