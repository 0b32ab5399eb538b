package words

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/stats"
	"prismtop/profiles/unit"
	"prismtop/tui/monospace"
)

// This file describes the effects of changes.

// Changed describes the changes at the boundary of an effect; cores is the number of threads that
// a setting of 0 means.
func Changed(t *settings.Table, e *profiles.Effect, cores int) string {
	texts := make([]string, 0, 1+len(e.With))
	for _, v := range e.Changes() {
		texts = append(texts, fmt.Sprintf("%s %s→%s", SettingName(t, v.Key), SettingText(t, v.Key, v.Before, cores),
			SettingText(t, v.Key, v.After, cores)))
	}
	return strings.Join(texts, " + ")
}

// ChangedIn is Changed in w cells. The name of a setting is shortened before its values, which say what the change
// was, and the value before it is left out where both have no room. Several settings that do not fit are shortened:
// first to their values after the change, then to their names, then to as many names as fit, each with the number of
// settings.
func ChangedIn(t *settings.Table, e *profiles.Effect, cores, w int) string {
	if len(e.With) == 0 {
		name, text := SettingName(t, e.Key), ""
		for _, values := range []string{strings.TrimPrefix(Changed(t, e, cores), name),
			"→" + SettingText(t, e.Key, e.After, cores)} {
			text = name + values
			for letters := []rune(name); len(letters) > shortestName && monospace.Width(text) > w; {
				letters = letters[:len(letters)-1]
				text = strings.TrimSpace(string(letters)) + "…" + values
			}
			if monospace.Width(text) <= w {
				break
			}
		}
		return text
	}
	all := e.Changes()
	count := fmt.Sprintf(" (%d)", len(all))
	names, after := make([]string, len(all)), make([]string, len(all))
	for i, v := range all {
		names[i] = SettingName(t, v.Key)
		after[i] = names[i] + " " + SettingText(t, v.Key, v.After, cores)
	}
	texts := []string{Changed(t, e, cores), strings.Join(after, " + ") + count}
	for n := len(names); n > 0; n-- {
		texts = append(texts, strings.Join(names[:n], " + ")+count)
	}
	return FittingOrLast(w, append(texts, fmt.Sprintf("%d settings", len(all)))...)
}

// shortestName is the number of letters of a setting's name that are shown at least.
const shortestName = 3

// SettingNames lists the settings of an effect without their values.
func SettingNames(t *settings.Table, e *profiles.Effect) string {
	var list []string
	for _, v := range e.Changes() {
		list = append(list, SettingName(t, v.Key))
	}
	return strings.Join(list, " + ")
}

// Needs returns the number of iterations that an open effect still needs, as text.
func Needs(e *profiles.Effect) string { return fmt.Sprintf("needs %d more", e.Needed) }

// again is the advice if too few iterations ran before a change.
const again = "change back and again"

// Medians formats both times of an effect that is not comparable.
func Medians(e *profiles.Effect) string {
	return fmt.Sprintf("before %s ms, after %s ms", strings.TrimSpace(unit.Milliseconds(e.BeforeNS)),
		strings.TrimSpace(unit.Milliseconds(e.AfterNS)))
}

// Replicated reports whether a replication has judged an effect.
func Replicated(e *profiles.Effect) bool {
	return e.Replica != nil && e.Replica.Judge() != profiles.Unjudged
}

// SoFar says how long iterations took with either value of a replication that has no interval: "94.47 ms instead of
// 31.61, from too few groups to judge"; "" before its first group.
func SoFar(r *profiles.AblationRow) string {
	if r == nil || r.Groups == 0 || math.IsNaN(r.OnNS) || r.Judge() != profiles.Unjudged {
		return ""
	}
	return fmt.Sprintf("%s ms instead of %s, from too few groups to judge",
		strings.TrimSpace(unit.Milliseconds(r.OnNS)), strings.TrimSpace(unit.Milliseconds(r.OffNS)))
}

// Deciding returns the replication under way of the change of an effect; nil if there is none.
func Deciding(s *profiles.Snapshot, e *profiles.Effect) *profiles.Ablation {
	if a := s.Ablation; a != nil && a.Running && a.Replication && a.Of == e.Iteration {
		return a
	}
	return nil
}

// Undecided reports whether the change of an effect is being switched back and forth and has no verdict yet.
func Undecided(s *profiles.Snapshot, e *profiles.Effect) bool {
	return Deciding(s, e) != nil && !Replicated(e)
}

// Decision returns the result of a replication of one change after a mark, from its longest version to its shortest:
// "a: AMP off→bf16: saves 12 % [10, 14]".
func Decision(t *settings.Table, a *profiles.Ablation, cores int, mark string) []string {
	r := &a.Rows[0]
	what := mark + r.Key
	if _, known := t.Lookup(r.Key); known {
		what = fmt.Sprintf("%s%s %s→%s", mark, SettingName(t, r.Key), SettingText(t, r.Key, r.Off, cores),
			SettingText(t, r.Key, r.On, cores))
	}
	switch r.Judge() {
	case profiles.Unjudged: // it has no interval
		return []string{what + ": " + r.Verdict(), mark + r.Verdict()}
	case profiles.Undecided:
		return []string{what + ": " + a.Ended, mark + a.Ended}
	}
	text := r.Verdict()
	return []string{what + ": " + r.Bounded(), what + ": " + text, mark + text}
}

// Interval returns the interval of an effect, that of its replication if it has one; ok is false
// if there is none.
func Interval(e *profiles.Effect) (low, high float64, ok bool) {
	switch {
	case Replicated(e):
		return e.Replica.Low, e.Replica.High, true
	case e.Comparable():
		return e.Low, e.High, true
	}
	return math.NaN(), math.NaN(), false
}

// Finding is what the interval of an effect allows to say of its time; without an interval nothing is decided.
func Finding(e *profiles.Effect) stats.Finding {
	low, high, _ := Interval(e)
	return stats.Zero(profiles.EqualWithin).Judge(low, high)
}

// Examined describes the results of a replication and a fork in sentences; "" if there are none.
func Examined(s *profiles.Snapshot, e *profiles.Effect) (text string) {
	if r := e.Replica; r != nil {
		text = fmt.Sprintf(" Switched back and forth in %s of four blocks: ", unit.Plural(r.Groups, "group", "groups"))
		if Replicated(e) {
			text += fmt.Sprintf("%s (95 %% interval %s to %s %%), ", strings.TrimSpace(unit.SignedPercent(r.Effect)),
				unit.Signed(100*r.Low, 1), unit.Signed(100*r.High, 1))
		}
		text += r.Verdict() + "."
		if e.Stopped != "" {
			text += " It ended: " + e.Stopped + "."
		}
	}
	if e.Fork != nil {
		text += " " + Forked(s, e.Fork) + "."
	}
	return text
}

// Forked says what a fork has found: "Forked 8 times over 50 iterations: PSNR +0.10 [+0.05, +0.15] dB"; or why it
// found nothing.
func Forked(s *profiles.Snapshot, f *profiles.Fork) string {
	if f.Done == 0 && !f.Running && f.Ended != "" {
		return "Not forked: " + f.Ended
	}
	text := fmt.Sprintf("Forked %s over %d iterations", unit.Plural(f.Done, "time", "times"), f.Arm)
	if f.Done > 0 && len(f.Rows) > 0 {
		text += ": " + forked(s, &f.Rows[0])
	}
	return strings.TrimRight(text, " ")
}

// forked formats the difference in a series that a fork found.
func forked(s *profiles.Snapshot, r *profiles.ForkRow) string {
	info := &s.Run.Schema.Series[r.Series]
	switch {
	case r.Equal:
		return info.Title + " the same bits"
	case math.IsInf(r.Low, 0):
		return fmt.Sprintf("%s %s %s", info.Title, unit.Difference(r.Difference, info.Unit), info.Unit)
	}
	return fmt.Sprintf("%s %s [%s, %s] %s", info.Title, unit.Difference(r.Difference, info.Unit),
		unit.Difference(r.Low, info.Unit), unit.Difference(r.High, info.Unit), info.Unit)
}

// QualityDrift formats a difference of the schema's quality with its unit.
func QualityDrift(s *profiles.Snapshot, v float64) string {
	of := s.Run.Schema.QualityInfo().Unit
	return strings.TrimSpace(unit.Difference(v, of) + " " + of)
}

// Detail returns the numbers behind an effect, only the most important ones if w cells are too
// few for all. warn is set if the effect has enough iterations but is not comparable.
func Detail(s *profiles.Snapshot, e *profiles.Effect, w int) (text string, warn bool) {
	counts := fmt.Sprintf("iterations: %d before, %d after", e.NBefore, e.NAfter)
	title := cmp.Or(s.Run.Schema.QualityInfo().Title, "quality")
	quality := title + " " + QualityDrift(s, e.QualityDrift) + " meanwhile"
	switch {
	case !e.HasQuality:
		quality = title + " not measured"
	case strings.HasPrefix(QualityDrift(s, e.QualityDrift), "0"):
		quality = title + " unchanged"
	}
	why, brief := e.Incomparable()
	if f := e.Fork; f != nil && f.Done > 0 && len(f.Rows) > 0 {
		quality = "fork: " + forked(s, &f.Rows[0])
	}
	switch {
	case Undecided(s, e):
		return detail(w, e, []string{"switched back and forth"},
			[]string{"switched back and forth in balanced blocks"}), false
	case Replicated(e):
		r := e.Replica
		times := fmt.Sprintf("%s → %s ms", strings.TrimSpace(unit.Milliseconds(r.OffNS)),
			strings.TrimSpace(unit.Milliseconds(r.OnNS)))
		n := fmt.Sprintf("%d groups", r.Groups)
		return detail(w, e, []string{times}, []string{times, n}, []string{times, n, quality}), false
	case e.Replica != nil && !e.Comparable():
		groups := unit.Plural(e.Replica.Groups, "group", "groups")
		if why := "ended: " + e.Stopped; e.Stopped != "" {
			return detail(w, e, []string{why}, []string{why, groups}), false
		}
		return detail(w, e, []string{e.Replica.Verdict()}, []string{e.Replica.Verdict(), groups}), false
	case e.Comparable():
		times := fmt.Sprintf("%s → %s ms", strings.TrimSpace(unit.Milliseconds(e.BeforeNS)),
			strings.TrimSpace(unit.Milliseconds(e.AfterNS)))
		n := fmt.Sprintf("n %d", e.NAfter)
		if e.Stopped != "" {
			quality = "ended: " + e.Stopped
		}
		return detail(w, e, []string{times}, []string{times, quality}, []string{times, quality, n}), false
	case e.Open(), Ended(s.State) && !e.Enough:
		return detail(w, e, []string{counts}), false
	case e.Enough:
		return detail(w, e, []string{brief}, []string{why}, []string{why, Medians(e)},
			[]string{why, Medians(e), quality}), true
	case e.Needed <= 0:
		return detail(w, e, []string{again}, []string{fmt.Sprintf("%d before", e.NBefore), again},
			[]string{counts, again}), false
	}
	return detail(w, e, []string{counts}), false
}

// detail returns the longest of the choices, which are shortest first, that fits into w cells together with the change
// of the memory after its first part; without that if it is nothing or there is no room.
func detail(w int, e *profiles.Effect, choices ...[]string) string {
	var all [][]string
	memory := MemoryChange(e)
	for _, parts := range slices.Backward(choices) {
		if memory != "" {
			all = append(all, append([]string{parts[0], memory}, parts[1:]...))
		}
		if memory == "" || e.MemoryChange == 0 {
			all = append(all, parts)
		}
	}
	for _, parts := range slices.Backward(choices) { // no room for the memory
		all = append(all, parts)
	}
	return FittingParts(w, all...)
}
