package effect

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/stats"
)

// Why the iterations before and after a change cannot be compared.

// loadCovers bounds the reported load: a noticeable difference in the load by other
// programs counts if loadCovers times the difference exceeds the shift. One waiting
// thread can hold up all of them.
const loadCovers = 4

// reason is the reason why two windows cannot be compared, in full and in two or
// three words.
type reason struct{ full, brief string }

// confounds returns other differences between the windows: all in full, and the
// first briefly.
func (f *effect) confounds() (full, brief string) {
	var also []string
	for _, r := range []reason{f.disturbance, f.lacking(), f.moved} {
		if r.full != "" {
			also = append(also, r.full)
			brief = cmp.Or(brief, r.brief)
		}
	}
	return strings.Join(also, "; "), brief
}

// lacking returns why there are too few iterations before the change.
func (f *effect) lacking() reason {
	switch {
	case f.switched:
		return reason{"an ablation switched settings at the same iteration", "ablation"}
	case f.NBefore < profiles.EffectEnough:
		return reason{profiles.TooFew(f.NBefore) + " before it", "too few before"}
	case f.Enough && f.DriftWindows < stats.DriftLeast:
		return reason{fmt.Sprintf("the run had too few undisturbed iterations before it to know how far it drifts by "+
			"itself: %d of %d windows of %d",
			f.DriftWindows, stats.DriftLeast, min(f.NBefore, f.NAfter)), "drift not known"}
	}
	return reason{}
}

// disturbance describes the load by other programs on both sides, if it is
// considerable or may explain the shift.
func disturbance(before, after, shift float64) reason {
	differ := math.Abs(after - before)
	switch {
	case math.IsNaN(differ): // it could not be read
		return reason{}
	case before > machine.Quiet && after > machine.Quiet && differ < machine.Quiet:
		took := fmt.Sprintf("others took %.0f %%", 50*(before+after))
		return reason{took + " of the processors", took}
	case before > machine.Quiet || after > machine.Quiet, differ >= machine.Noticeable &&
		loadCovers*differ > math.Abs(shift):
		return reason{fmt.Sprintf("others took %.0f %% before, %.0f %% after", 100*before, 100*after),
			fmt.Sprintf("others took %.0f %%", 100*max(before, after))}
	}
	return reason{}
}
