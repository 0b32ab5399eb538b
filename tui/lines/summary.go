package lines

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/chart"
	"prismtop/tui/theme"
	"prismtop/tui/words"
)

// SummaryWithin summarises a run in one screen of plain text: identity, progress, times of the newest
// stage, memory, caches, effects of changes, and quality. Lines end in "\n"; those longer than a terminal's
// columns are broken at spaces and continued with an indent. 0 means no limit.
func SummaryWithin(s *profiles.Snapshot, columns int) string {
	return SummaryAs(s, s.State.String(), machine.Processors(), columns)
}

// SummaryAs is SummaryWithin with the state of the run given as text, and the number of cores
// that a threads setting of 0 means.
func SummaryAs(s *profiles.Snapshot, state string, cores, columns int) string {
	return hanging(summary(s, state, cores), columns)
}

// Indents of continuation lines in a summary: of the first line, and of the others.
const (
	headIndent = 2
	bodyIndent = 15
)

// commaReach is the number of cells of a line that may stay empty to break it at a comma.
const commaReach = 24

// hanging breaks the lines of a summary at width cells; 0 means no limit.
func hanging(text string, width int) string {
	if width <= 2*bodyIndent {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := bodyIndent
		if !strings.HasPrefix(line, " ") {
			indent = headIndent
		}
		line = strings.TrimSuffix(line, "\n")
		for chart.Width(line) > width {
			part, rest := words.SplitCells(line, width)
			at := strings.LastIndexByte(part, ' ')
			if comma := strings.LastIndex(part, ", ") + 1; comma > width-commaReach { // keeps a number next to its unit
				at = comma
			}
			switch {
			case at > indent && (rest[0] != ' ' || part[at-1] == ','):
				part, rest = part[:at], part[at:]+rest
			case at <= indent && strings.Contains(part[at+1:], "/"): // a path, which is selected in one piece
				end := strings.IndexByte(rest, ' ')
				if end < 0 {
					end = len(rest)
				}
				part, rest = part+rest[:end], rest[end:]
			}
			if rest = strings.TrimLeft(rest, " "); rest == "" {
				break
			}
			b.WriteString(strings.TrimRight(part, " ") + "\n")
			line = strings.Repeat(" ", indent) + rest
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// identity describes what was run: object and sizes, device and kernels, arithmetic and seed, as
// applicable to the workload.
func identity(s *profiles.Snapshot) []string {
	r := &s.Run
	all := []string{r.Object}
	if k := r.KSpace(); k.Size > 0 {
		all[0] += fmt.Sprintf(" %d/%d", k.Size, k.ObjectSize)
	}
	if r.Device != "" {
		all = append(all, r.Device+" "+r.Kernels)
	}
	if arithmetic := words.Precision(s, 80); arithmetic != "" {
		all = append(all, arithmetic)
	}
	if s.Settings.Has(settings.Seed) {
		all = append(all, fmt.Sprintf("seed %d", r.Seed))
	}
	return all
}

// summary formats the summary with unbroken lines; see SummaryAs.
func summary(s *profiles.Snapshot, state string, cores int) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		text := words.Printed(fmt.Sprintf(format, args...))
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
	r := s.Run
	if s.State == profiles.Finished && s.EndedBy != "" {
		state += " by " + s.EndedBy
	}
	line("prismtop: %s: %s after %s", strings.Join(identity(s), ", "), state, words.Ran(s))
	if s.Err != "" {
		line("  error        %s", words.FirstLine(s.Err))
	}
	if reason := words.OnCPU(s); reason != "" {
		line("  device       auto is the CPU: %s", reason)
	}
	reached := ""
	if ends := words.CountEnds(s); ends != (words.UnitEnds{}) {
		reached = fmt.Sprintf(", %d converged, %d at their limit", ends.Converged, ends.AtLimit)
	}
	if s.Run.Resumed > 0 {
		reached += fmt.Sprintf(", %d of the iterations before the checkpoint", s.Run.Resumed)
	}
	units := unit.Plural(s.UnitsEnded(), r.Schema.Unit.One, r.Schema.Unit.Many)
	if all := r.AllUnits(); all > 0 {
		units = fmt.Sprintf("%d of %s", s.UnitsEnded(), unit.Plural(all, r.Schema.Unit.One, r.Schema.Unit.Many))
	}
	line("  iterations   %d in %s%s", s.Index, units, reached)
	if b := s.Before; b.Iterations > 0 {
		more := ""
		if b.Changes > 0 {
			more = " and " + unit.Plural(b.Changes, "change", "changes")
		}
		line("  restarted    after %s%s, which are not in these numbers",
			unit.Plural(int(b.Iterations), "iteration", "iterations"), more)
	}
	summariseTimes(line, s)
	summariseMemory(line, s)
	summariseSeries(line, s)
	summariseCaches(line, s)
	summariseEffects(line, s, cores)
	summariseAblation(line, s.Compared, s.Start)
	for _, a := range s.Alerts {
		line("  %-12s %s", a.Severity, a.What)
	}
	if disturbed := s.Load.Disturbed(); disturbed != "" {
		line("  disturbed    %s", disturbed)
	}
	if s.Own.Dropped > 0 {
		line("  dropped      %s: these numbers lack them", unit.About(s.Own.Dropped, "record", "records"))
	}
	if r := s.Recording; r.Err != "" {
		line("  recording    incomplete: %s", r.Err)
	} else if r.Path != "" {
		line("  recording    %s", r.Path)
	}
	return b.String()
}

// summariseSeries prints the newest losses and metrics.
func summariseSeries(line func(string, ...any), s *profiles.Snapshot) {
	var losses, metrics []string
	for _, l := range words.CurrentLosses(s) {
		losses = append(losses, strings.TrimPrefix(l.Text(), "loss "))
	}
	if !s.InUnits() {
		losses = append(losses, s.Stage())
	}
	if len(words.CurrentLosses(s)) > 0 {
		line("  loss         %s", strings.Join(losses, ", "))
	}
	for _, m := range words.MetricsOf(s) {
		if v := s.Series[m.ID]; v.Has && !s.Run.Schema.Series[m.ID].Neutral() {
			metrics = append(metrics, m.Title+" "+m.Format(v.Latest))
		}
	}
	if len(metrics) > 0 {
		line("  quality      %s", strings.Join(metrics, ", "))
	}
}

// leastBetween is the least share of the time outside the phases that a summary shows.
const leastBetween = 0.05

// summariseTimes prints the times of all iterations of the newest stage, whatever their settings.
func summariseTimes(line func(string, ...any), s *profiles.Snapshot) {
	w := s.Whole
	switch {
	case s.Index == 0:
		line("  iteration    – (none ran)")
		return
	case w.Total.N == 0:
		line("  iteration    – (none ran after warm-up, the first after each compilation or change)")
		return
	}
	row := func(name string, v profiles.Spread, share string) {
		line("  %-12s %8s %8s %8s %8s", name, unit.Milliseconds(v.Median), unit.Milliseconds(v.P10),
			unit.Milliseconds(v.P90), share)
	}
	line("  %-12s %8s %8s %8s %8s   ms, %s", s.Stage(), "median", "p10", "p90", "share",
		unit.Plural(w.Total.N, "iteration", "iterations"))
	row("iteration", w.Total, "")
	between := 1.0
	for id, v := range w.Phases {
		if v.N > 0 {
			between -= v.Share
			row("  "+words.PhaseName(s, profiles.Phase(id)), v.Spread, unit.Percent(v.Share))
		}
	}
	if between >= leastBetween {
		line("    %-37s %8s", "between phases", unit.Percent(between))
	}
	line("  %-12s (without warm-up after a compilation or change, and unwatched ones; shares of sums)", "")
}

func summariseMemory(line func(string, ...any), s *profiles.Snapshot) {
	m := s.Memory
	peak := "peak RSS " + unit.Size(m.PeakRSS)
	if m.PeakRSS == 0 {
		peak = "peak RSS – (" + m.Reason + ")"
	}
	switch why := s.MemoryReason(); {
	case why != "" && m.PeakRSS == 0:
		line("  memory       – (%s)", why)
		return
	case why != "":
		line("  memory       – (%s), %s", why, peak)
		return
	}
	text := ""
	weights := slices.ContainsFunc(s.Run.Schema.Memory, func(m profiles.MemoryInfo) bool { return m.Name == "weights" })
	for i, info := range s.Run.Schema.Memory { // a loop's own categories are all told
		if info.Name == "weights" || info.Name == "activations" || !weights && m.Parts[i] > 0 {
			text += info.Name + " " + unit.Size(m.Parts[i]) + ", "
		}
	}
	line("  memory       %scaches %s, %s", text, unit.Size(m.Caches), peak)
}

func summariseCaches(line func(string, ...any), s *profiles.Snapshot) {
	if s.Index == 0 {
		line("  caches       – (no iteration ran)")
		return
	}
	for id, v := range words.CachesOf(s) {
		switch rate, ok := v.HitRate(); {
		case !ok && !v.Enabled:
			line("  %-12s off", words.CacheTitle(s, id))
		case !ok:
			line("  %-12s no lookups%s", words.CacheTitle(s, id), words.Yet(s))
		default:
			line("  %-12s %s hits (%s), %s", words.CacheTitle(s, id), strings.TrimSpace(unit.HitRate(rate)),
				words.Lookups(v), words.SavedInAll(v, true))
		}
		if words.CannotHit(s, id) {
			line("  %-12s (%s)", "", words.OncePerPass(s, id))
		}
	}
}

// summaryEffects is the maximum number of changes in a summary, and summaryChange the width in
// cells of a change with its values.
const (
	summaryEffects = 8
	summaryChange  = 40
)

func summariseEffects(line func(string, ...any), s *profiles.Snapshot, cores int) {
	var all []*profiles.Effect
	for i := range s.Effects {
		all = append(all, &s.Effects[i])
	}
	if more := len(all) - summaryEffects; more > 0 {
		left := unit.Plural(more, "earlier one", "earlier ones") + " left out"
		all = slices.DeleteFunc(all, func(e *profiles.Effect) bool { // those without a result go first
			_, _, known := words.Interval(e)
			goes := more > 0 && !known
			if goes {
				more--
			}
			return goes
		})
		if all = all[more:]; more == 0 {
			left += ", none of them with a result"
		}
		line("  changes      %s", left)
	}
	for _, e := range all {
		what := fmt.Sprintf("at %-9d %s", e.Iteration, words.ChangedIn(s.Settings.Table(), e, cores, summaryChange))
		shift := e.Shift
		if words.Replicated(e) {
			shift = e.Replica.Effect
			what += ", switched back and forth"
		}
		low, high, known := words.Interval(e)
		switch {
		case known:
			text, _ := words.Detail(s, e, 40)
			if words.Finding(e) == stats.Undecided {
				text = "undecided, " + text
			}
			line("  %s: %s [%s, %s] %%, %s", what, unit.Signed(100*shift, 1), unit.Signed(100*low, 1),
				unit.Signed(100*high, 1), text)
		case e.Open():
			line("  %s: too few iterations to tell", what)
		default:
			line("  %s: %s", what, e.WithoutResult())
		}
		if r := e.Replica; r != nil && !words.Replicated(e) && (known || e.Stopped == "") {
			line("    switched back and forth in %s of four blocks, not decided: %s",
				unit.Plural(r.Groups, "group", "groups"), cmp.Or(e.Stopped, "the run ended first"))
			if far := words.SoFar(r); far != "" {
				line("    an iteration took %s", far)
			}
		}
		if e.Fork != nil {
			line("    %s", words.Forked(s, e.Fork))
		}
	}
}

// summariseAblation prints the table of the newest ablation, as far as it came, and says so if it is of before the
// newest restart.
func summariseAblation(line func(string, ...any), a *profiles.Ablation, start int) {
	if a == nil {
		return
	}
	ended := cmp.Or(a.Ended, "not complete")
	if a.Start < start {
		ended += ", before the restart"
	}
	if f := a.Factorial; f != nil {
		line("  ablation     %s of %s: %s; %s", unit.Plural(f.Rounds, "round", "rounds"),
			unit.Plural(len(f.CombinationNS), "combination", "combinations"), ended, f.Verdict())
		for i := range f.Factors {
			line("    %-24s %-20s %s", f.Factors[i].Name, interval(f.Alone[i].Effect, f.Alone[i].Low, f.Alone[i].High),
				"alone")
		}
		return
	}
	line("  ablation     %s: %s", unit.Plural(a.Rounds, "round", "rounds"), ended)
	for i := range a.Rows {
		r := &a.Rows[i]
		line("    %-24s %-20s %s", r.Key+" "+r.Off+"→"+r.On, interval(r.Effect, r.Low, r.High),
			r.Conclusion())
	}
}

// interval formats an effect on the time of an iteration with its interval.
func interval(effect, low, high float64) string {
	if math.IsNaN(effect) || math.IsNaN(low) || math.IsInf(low, 0) || math.IsInf(high, 0) {
		return "–"
	}
	return fmt.Sprintf("%s [%s, %s] %%", unit.Signed(100*effect, 1), unit.Signed(100*low, 1), unit.Signed(100*high, 1))
}

// plainASCII converts text to 7-bit characters.
func plainASCII(s string) string { return strings.Map(theme.ASCII, s) }
