package tui

import (
	"fmt"
	"strings"

	"prismtop/profiles"
	"prismtop/tui/theme"
)

// Summary is a run on one screen of plain text: what ran, how far it came, where
// the time went, what the caches and the changes did, and how good the picture
// is. Lines end in "\n".
func Summary(s *profiles.Snapshot) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
	}
	r := s.Run
	line("prismtop: %s %d/%d, %s %s, %s: %s after %s", r.Object, r.Size, r.ObjectSize, r.Device, r.Kernels,
		precision(s), s.State, clock(s.Elapsed))
	if s.Err != "" {
		line("  error        %s", firstLine(s.Err))
	}
	line("  iterations   %d in %d of %d samples, %d converged", s.Index, len(s.Results), r.Samples, converged(s))
	if s.Total.N > 0 {
		line("  iteration    %s ms median, p10 %s, p95 %s (last %d)", trim(milliseconds(s.Total.Median)),
			trim(milliseconds(s.Total.P10)), trim(milliseconds(s.Total.P95)), s.Total.N)
	}
	for id, v := range s.Phases {
		if v.N > 0 {
			line("    %-10s %s ms %s", profiles.Phase(id), milliseconds(v.Median), percent(v.Share))
		}
	}
	if len(s.LossNew) > 0 {
		line("  loss         old %s, new %s", trim(loss(s.LatestLossOld)), trim(loss(s.LatestLossNew)))
	}
	if s.HasQuality {
		line("  quality      PSNR %s, SSIM %s, RMSE %s %%", trim(psnr(s.Quality.PSNR)), trim(ssim(s.Quality.SSIM)), trim(fixed(s.Quality.RMSE, 5)))
	}
	for id, v := range s.Caches {
		switch rate, ok := v.HitRate(); {
		case !ok && !v.Enabled:
			line("  %-12s off", cacheTitles[id])
		case !ok:
			line("  %-12s no lookups", cacheTitles[id])
		default:
			line("  %-12s %s hits (%s), saved %s", cacheTitles[id], trim(percentFine(rate)), lookups(v), trim(seconds(float64(v.Saved))))
		}
	}
	summariseEffects(line, s.Effects)
	if s.Own.Dropped > 0 {
		line("  dropped      %d records", s.Own.Dropped)
	}
	return b.String()
}

// summaryEffects is how many changes a summary tells.
const summaryEffects = 8

func summariseEffects(line func(string, ...any), all []profiles.Effect) {
	if more := len(all) - summaryEffects; more > 0 {
		line("  changes      %d earlier ones left out", more)
		all = all[more:]
	}
	for _, e := range all {
		what := fmt.Sprintf("%s %s→%s", settingName(e.Key), settingText(e.Key, e.Before), settingText(e.Key, e.After))
		if !e.Enough {
			line("  at %-9d %s: too few iterations to tell", e.Iteration, what)
			continue
		}
		text, _ := detail(e, 40)
		line("  at %-9d %s: %s [%s, %s] %%, %s", e.Iteration, what, trim(signedPercent(e.Shift)),
			signed(100*e.Low, 1), signed(100*e.High, 1), text)
	}
}

func converged(s *profiles.Snapshot) int {
	n := 0
	for _, r := range s.Results {
		if r.Converged {
			n++
		}
	}
	return n
}

func trim(s string) string { return strings.TrimSpace(s) }

// plainASCII is text in 7-bit characters.
func plainASCII(s string) string { return strings.Map(theme.ASCII, s) }
