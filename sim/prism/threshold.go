package prism

import (
	"fmt"
	"strconv"
	"strings"

	"prismtop/profiles/settings"
)

// This file is what a threshold is compared with. The same number means other things to
// other losses, so a threshold belongs to the loss that it was given for and is
// suspended under every other one.

const thresholdKey = "threshold"

// LossName names the loss in use by all that its scale depends on: "normalised l1", "l1",
// "ssim", "composite 0.7/0/0.3".
func (s *Settings) LossName() string {
	return lossName(s.Loss, s.NormalizeLoss, s.CompositeL1, s.CompositeL2, s.CompositeSSIM)
}

// lossInUse is LossName of values.
func lossInUse(v settings.Values) string {
	return lossName(v.Text("loss"), v.On("normalize_loss"), v.Number("composite_l1"), v.Number("composite_l2"), v.Number("composite_ssim"))
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

// How the names begin of losses that are more than their setting.
const (
	normalised = "normalised "
	weighted   = "composite "
)

// isLossName says whether LossName may have made a name.
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

// ThresholdInForce is the loss below which samples end; 0 where they end at their limits,
// because the threshold was given for another loss than that in use.
func (s *Settings) ThresholdInForce() float64 {
	if s.suspended {
		return 0
	}
	return s.Threshold
}
