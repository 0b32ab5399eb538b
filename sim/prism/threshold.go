package prism

import (
	"fmt"
	"strconv"
	"strings"

	"prismtop/profiles/settings"
)

// A threshold is compared with a loss. The same number means different things for
// different losses, so a threshold belongs to the loss it was given for and is
// suspended under any other.

const thresholdKey = "threshold"

// LossName names the loss in use, with everything its scale depends on: "normalised l1",
// "l1", "ssim", "composite 0.7/0/0.3".
func (s *Settings) LossName() string {
	return lossName(s.Loss, s.NormalizeLoss, s.CompositeL1, s.CompositeL2, s.CompositeSSIM)
}

// lossInUse is LossName for values.
func lossInUse(v settings.Values) string {
	return lossName(v.Text("loss"), v.On("normalize_loss"), v.Number("composite_l1"), v.Number("composite_l2"),
		v.Number("composite_ssim"))
}

func lossName(loss string, normalize bool, l1, l2, ssim float64) string {
	switch loss {
	case "l1", "l2":
		if normalize {
			return normalised + loss
		}
	case "composite":
		return fmt.Sprintf("%s%g/%g/%g", weighted, l1, l2, ssim)
	}
	return loss
}

// Prefixes of the names of losses that depend on more than one setting.
const (
	normalised = "normalised "
	weighted   = "composite "
)

// isLossName reports whether LossName may have made a name.
func isLossName(name string) bool {
	if rest, ok := strings.CutPrefix(name, weighted); ok {
		parts := strings.Split(rest, "/")
		for _, p := range parts {
			if _, err := strconv.ParseFloat(p, 64); err != nil {
				return false
			}
		}
		return len(parts) == 3
	}
	switch name {
	case "l1", "l2", normalised + "l1", normalised + "l2", "ssim", "ms-ssim":
		return true
	}
	return false
}

// ThresholdInForce returns the loss below which samples end; 0 if they end at their
// limits because the threshold was given for a loss other than the one in use.
func (s *Settings) ThresholdInForce() float64 {
	if s.suspended {
		return 0
	}
	return s.Threshold
}
