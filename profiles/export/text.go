package export

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// textChanges is how many changes WriteText tells, the newest.
const textChanges = 4

// WriteText writes the summary for people: at most 24 lines of at most 80
// columns, except where a name or a reason is longer. What was not measured
// shows as a dash.
func WriteText(w io.Writer, s *Summary) error {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
	}
	line("prismtop %s%s", s.Version, subject(s))
	line("%s: %d of %d samples, %d iterations in %s%s", s.State, s.Samples.Done, s.Samples.Total, s.Iterations,
		duration(s.WallSeconds), failed(s.Samples))
	if s.Error != "" {
		line("error: %s", strings.ReplaceAll(s.Error, "\n", " "))
	}
	line("")
	timesText(line, s)
	if c := s.Caches; c != nil {
		cacheText(line, "measurement", c.Measurement)
		cacheText(line, "FFT plans", c.FFTPlans)
		cacheText(line, "masks", c.Masks)
	}
	m, q := s.Memory, s.Quality
	line("%-12s weights %s, activations %s, caches %s, peak RSS %s MiB", "memory", mebibytes(m.Weights),
		mebibytes(m.Activations), mebibytes(m.Caches), mebibytes(m.RSSPeak))
	line("%-12s old %s, new %s", "loss", value(q.LossOld, "%.3g"), value(q.LossNew, "%.3g"))
	line("%-12s PSNR %s dB, SSIM %s, RMSE %s %%", "quality", value(q.PSNR, "%.2f"), value(q.SSIM, "%.3f"), value(q.RMSE, "%.2f"))
	changesText(line, s.Changes)
	if s.DroppedRecords > 0 {
		line("%-12s %d records: the reader fell behind", "dropped", s.DroppedRecords)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// subject is what ran on what; empty when the run did not begin.
func subject(s *Summary) string {
	if s.Model == nil || s.Object == nil || s.Machine.Device == nil || s.Machine.Kernels == nil {
		return ""
	}
	return fmt.Sprintf(" · %s · %d/%d · %s %s · seed %d", *s.Object, s.Model.InputSize, s.Model.OutputSize,
		*s.Machine.Device, *s.Machine.Kernels, *s.Seed)
}

func failed(s Samples) string {
	if len(s.Failed) == 0 {
		return ""
	}
	return fmt.Sprintf(", %d above the threshold", len(s.Failed))
}

func timesText(line func(string, ...any), s *Summary) {
	if s.IterationMS == nil {
		line("%-12s – (%s)", "iteration", s.IterationMSReason)
		return
	}
	line("%-12s %9s %9s %9s %7s", s.Stage, "median", "p10", "p90", "share")
	i, p := s.IterationMS, s.PhasesMS
	line("%-12s %6.2f ms %6.2f ms %6.2f ms", "iteration", i.Median, i.P10, i.P90)
	for _, row := range []struct {
		name  string
		phase *Phase
	}{
		{"forward", p.Forward}, {"telescope", p.Telescope}, {"loss", p.Loss},
		{"backward", p.Backward}, {"optimizer", p.Optimizer}, {"metrics", p.Metrics},
	} {
		if v := row.phase; v != nil {
			line("  %-10s %6.2f ms %6.2f ms %6.2f ms %5.1f %%", row.name, v.Median, v.P10, v.P90, 100*v.Share)
		}
	}
}

func cacheText(line func(string, ...any), name string, c Cache) {
	if c.HitRate == nil {
		line("%-12s – (%s)", name, c.HitRateReason)
		return
	}
	line("%-12s %.1f %% of %d hit, saved %s ms", name, 100**c.HitRate, c.Hits+c.Misses, value(c.SavedMS, "%.1f"))
	if c.HitRateReason != "" {
		line("%-12s (%s)", "", c.HitRateReason)
	}
}

func changesText(line func(string, ...any), changes []Change) {
	if more := len(changes) - textChanges; more > 0 {
		line("%-12s %d earlier ones are not shown", "changes", more)
		changes = changes[more:]
	}
	for _, c := range changes {
		what := fmt.Sprintf("%s %s → %s at %d:", c.Key, c.Before, c.After, c.Iteration)
		if e := c.Effect; e != nil {
			line("%-12s %s %s %% [%s, %s]", "change", what, percent(e.Shift), percent(e.Low), percent(e.High))
		} else {
			line("%-12s %s not enough iterations to tell", "change", what)
		}
	}
}

// percent is a relative change in percent with its sign and a true minus.
func percent(v float64) string {
	return minus(fmt.Sprintf("%+.1f", 100*v))
}

// minus is a number with a true minus before it; exponents keep theirs.
func minus(number string) string {
	if rest, ok := strings.CutPrefix(number, "-"); ok {
		return "−" + rest
	}
	return number
}

// value formats v, or a dash.
func value(v *float64, format string) string {
	if v == nil {
		return "–"
	}
	return minus(fmt.Sprintf(format, *v))
}

// mebibytes is a number of bytes in MiB, or a dash.
func mebibytes(v *int64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", float64(*v)/(1<<20))
}

// duration is hours, minutes and seconds; below a minute, with decimals.
func duration(seconds float64) string {
	if seconds < 60 {
		return fmt.Sprintf("%.2f s", seconds)
	}
	d := time.Duration(seconds * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d:%02d:%02d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60)
}
