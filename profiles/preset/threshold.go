package preset

import (
	"fmt"
	"strconv"
	"strings"
)

// This file is what a threshold is compared with. The same number means other things to
// other losses, so a threshold belongs to the loss that it was given for and is
// suspended under every other one.

const thresholdKey = "threshold"

// LossName names the loss in use by all that its scale depends on: "normalised l1", "l1",
// "ssim", "composite 0.7/0/0.3".
func (s *Settings) LossName() string {
	switch s.Loss {
	case "l1", "l2":
		if s.NormalizeLoss {
			return normalised + s.Loss
		}
	case "composite":
		return fmt.Sprintf("%s%g/%g/%g", weighted, s.CompositeL1, s.CompositeL2, s.CompositeSSIM)
	}
	return s.Loss
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

// BindThreshold gives a threshold that was set since the last call to the loss in use. It
// follows changes that are made together: a threshold set beside a loss belongs to that.
func (s *Settings) BindThreshold() { s.thresholdLoss = s.thresholdOwner() }

// thresholdOwner is the loss that the threshold belongs to.
func (s *Settings) thresholdOwner() string {
	if s.thresholdLoss == "" {
		return s.LossName()
	}
	return s.thresholdLoss
}

// ThresholdSuspended says that the loss in use is another than the threshold was given
// for, which loss names: samples end at their limits. A threshold of 0 is never suspended.
func (s *Settings) ThresholdSuspended() (loss string, suspended bool) {
	owner := s.thresholdOwner()
	if s.Threshold == 0 || owner == s.LossName() {
		return "", false
	}
	return owner, true
}

// ThresholdInForce is the loss below which samples end; 0 where they end at their limits.
func (s *Settings) ThresholdInForce() float64 {
	if _, suspended := s.ThresholdSuspended(); suspended {
		return 0
	}
	return s.Threshold
}

// SameThreshold says whether both have one threshold for one loss, in force or not.
func (s *Settings) SameThreshold(t *Settings) bool {
	return s.Threshold == t.Threshold && (s.Threshold == 0 || s.thresholdOwner() == t.thresholdOwner())
}

// suspendedFor follows a suspended threshold where it is written as text: " for l1".
func (s *Settings) suspendedFor() string {
	if loss, suspended := s.ThresholdSuspended(); suspended {
		return thresholdFor + loss
	}
	return ""
}

const thresholdFor = " for "

// ThresholdText parts the text of a threshold, as Get gives it, into its number and the
// loss that a suspended one was given for, "" for none.
func ThresholdText(text string) (number, loss string) {
	number, loss, _ = strings.Cut(text, thresholdFor)
	return number, loss
}

// setThreshold is Set of the threshold: a number belongs to the loss in use at the next
// BindThreshold, and "0.003 for l1", as Get writes a suspended one, to that loss.
func (s *Settings) setThreshold(e *entry, text string) error {
	number, loss := ThresholdText(text)
	v, ok := e.parse(number)
	if !ok || number != text && !isLossName(loss) {
		return e.wrong(strconv.Quote(text))
	}
	if err := e.assign(s, v); err != nil {
		return err
	}
	s.thresholdLoss = loss
	return nil
}
