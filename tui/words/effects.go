package words

import (
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
)

// This file is how the effect of a change is told.

// Changed is what changed at the boundary of an effect, where threads 0 is one for
// each of so many cores.
func Changed(t *settings.Table, e *profiles.Effect, cores int) string {
	texts := make([]string, 0, 1+len(e.With))
	for _, v := range e.Changes() {
		texts = append(texts, fmt.Sprintf("%s %s→%s", SettingName(t, v.Key), SettingText(t, v.Key, v.Before, cores), SettingText(t, v.Key, v.After, cores)))
	}
	return strings.Join(texts, " + ")
}

// ChangedIn is changed in w cells where that can be: of several settings their values
// after the change alone where those before do not fit, else their names, else as many
// names as fit, each with how many settings they are.
func ChangedIn(t *settings.Table, e *profiles.Effect, cores, w int) string {
	if len(e.With) == 0 {
		return Changed(t, e, cores)
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

// SettingNames lists the settings of an effect without their values.
func SettingNames(t *settings.Table, e *profiles.Effect) string {
	var list []string
	for _, v := range e.Changes() {
		list = append(list, SettingName(t, v.Key))
	}
	return strings.Join(list, " + ")
}

// Needs is what an open effect waits for.
func Needs(e *profiles.Effect) string { return fmt.Sprintf("needs %d more", e.Needed) }

// again is what helps where too few iterations ran before a change.
const again = "change back and again"

// Medians is both times of an effect that is not comparable, as what they are.
func Medians(e *profiles.Effect) string {
	return fmt.Sprintf("before %s ms, after %s ms", strings.TrimSpace(unit.Milliseconds(e.BeforeNS)), strings.TrimSpace(unit.Milliseconds(e.AfterNS)))
}

// Detail is the numbers behind an effect, the most important ones where w cells
// do not hold all.
func Detail(s *profiles.Snapshot, e *profiles.Effect, w int) (text string, warn bool) {
	counts := fmt.Sprintf("iterations: %d before, %d after", e.NBefore, e.NAfter)
	quality := "PSNR " + unit.Signed(e.QualityDrift, 2) + " dB meanwhile"
	switch {
	case !e.HasQuality:
		quality = "PSNR not measured"
	case math.Abs(e.QualityDrift) < 0.005:
		quality = "PSNR unchanged"
	}
	why, brief := e.Incomparable()
	switch {
	case e.Comparable():
		times := fmt.Sprintf("%s → %s ms", strings.TrimSpace(unit.Milliseconds(e.BeforeNS)), strings.TrimSpace(unit.Milliseconds(e.AfterNS)))
		n := fmt.Sprintf("n %d", e.NAfter)
		return FittingParts(w, []string{times, quality, n}, []string{times, quality}, []string{times}), false
	case e.Open(), Ended(s.State) && !e.Enough:
		return counts, false
	case e.Enough:
		return FittingParts(w, []string{why, Medians(e), quality}, []string{why, Medians(e)}, []string{why}, []string{brief}), true
	case e.Needed <= 0:
		return FittingParts(w, []string{counts, again}, []string{fmt.Sprintf("%d before", e.NBefore), again}, []string{again}), false
	}
	return counts, false
}
