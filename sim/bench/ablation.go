package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/preset"
	"prismtop/profiles/unit"
	"prismtop/sim"
	"prismtop/sim/ablation"
	"prismtop/sim/prism"
)

// Ablation compares every switchable optimisation on and off, in the middle of the
// settings' pattern, as the live run's ablation does. told is called with the state
// after every block and may be nil.
func Ablation(ctx context.Context, s preset.Settings, o ablation.Options, told func(*profiles.Ablation)) (*profiles.Ablation, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	device, err := sim.OpenDevice(&s)
	if err != nil {
		return nil, err
	}
	defer device.Backend.Close()
	m := &measurement{ctx: ctx, report: &Report{}}
	task, s, err := m.middle(device, s)
	if err != nil {
		return nil, err
	}
	defer task.Close()
	return m.ablate(task, ablation.New(s, o), told)
}

// ablate runs iterations under what the schedule wants until it is done.
func (m *measurement) ablate(task *prism.Reconstruction, schedule *ablation.Schedule, told func(*profiles.Ablation)) (*profiles.Ablation, error) {
	began := time.Now()
	var inForce preset.Settings
	for first := true; !schedule.Done(); first = false {
		if err := m.ctx.Err(); err != nil {
			return nil, err
		}
		if next := schedule.Wanted(); first || differs(&inForce, &next) {
			if err := task.Apply(m.ctx, next); err != nil {
				return nil, fmt.Errorf("bench ablation: %w", err)
			}
			inForce = next
		}
		start := time.Now()
		rec := profiles.Iteration{Start: int64(start.Sub(began))}
		if _, err := task.Iterate(m.ctx, &rec); err != nil {
			return nil, fmt.Errorf("bench ablation: %w", err)
		}
		rec.Total = int64(time.Since(start))
		if schedule.Add(&rec) {
			quality, err := task.Quality(m.ctx)
			if err != nil {
				return nil, fmt.Errorf("bench ablation: %w", err)
			}
			schedule.Look(quality.PSNR, task.Memory())
			if told != nil {
				told(schedule.View())
			}
		}
	}
	return schedule.View(), nil
}

// differs tells whether one of the settings that are compared differs.
func differs(a, b *preset.Settings) bool {
	for _, key := range ablation.Keys() {
		if a.Get(key) != b.Get(key) {
			return true
		}
	}
	return false
}

// WriteAblation writes an ablation's table for people.
func WriteAblation(w io.Writer, a *profiles.Ablation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s · %s of off on on off or its mirror · %.0f s\n", a.Work, unit.Plural(a.Rounds, "round", "rounds"), a.Spent.Seconds())
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "setting\toff ms\ton ms\teffect\t95 % interval\tmemory MB\tPSNR dB/100\tn\t verdict")
	for _, r := range a.Rows {
		fmt.Fprintf(t, "%s\t%.3f\t%.3f\t%s\t%s\t%+.2f\t%s\t%d\t %s\n", r.Name(), r.OffNS/1e6, r.OnNS/1e6,
			percent(r.Effect), interval(r.Low, r.High), float64(r.OnBytes-r.OffBytes)/1e6, gain(&r), r.Iterations, verdict(&r))
	}
	_ = t.Flush() // into memory
	fmt.Fprintln(&b, "memory and PSNR are those of on less off; PSNR in dB gained over 100 iterations;")
	fmt.Fprintln(&b, "an effect is that within groups of four neighbouring blocks, so that it need not be on ms over off ms, which are of all blocks")
	_, err := io.WriteString(w, b.String())
	return err
}

func verdict(r *profiles.AblationRow) string {
	if r.Note == "" {
		return r.Verdict()
	}
	return r.Verdict() + "; " + r.Note
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

func gain(r *profiles.AblationRow) string {
	if r.QualityGroups == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.3f", r.Quality)
}
