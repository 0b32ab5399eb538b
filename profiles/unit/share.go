package unit

import (
	"fmt"
	"math"
	"strings"
)

// Percent formats a share as a whole percentage, 5 wide: " 44 %".
func Percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "  – %"
	}
	return fmt.Sprintf("%3.0f %%", 100*share)
}

// PercentFine formats a share with one decimal, 7 wide: " 98.0 %".
func PercentFine(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "    – %"
	}
	return fmt.Sprintf("%5.1f %%", 100*share)
}

// HitRate is PercentFine, but shows 0 % or 100 % only if exact.
func HitRate(share float64) string {
	switch text := PercentFine(share); {
	case share < 1 && text == PercentFine(1):
		return " 99.9 %"
	case share > 0 && text == PercentFine(0):
		return " <0.1 %"
	default:
		return text
	}
}

// SignedPercent formats a relative change, 7 wide: "−31.0 %".
func SignedPercent(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "    – %"
	}
	return fmt.Sprintf("%7s", Signed(100*v, 1)+" %")
}

// ShareWithin formats a share with the ends of its interval, as short as possible:
// "0.8 % [0.3, 1.4]", "12 % [10, 14]".
func ShareWithin(share, low, high float64) string {
	decimals := 1
	if max(math.Abs(share), math.Abs(low), math.Abs(high)) >= 0.0995 {
		decimals = 0
	}
	text := func(v float64) string {
		if math.Round(math.Abs(100*v)*math.Pow10(decimals)) == 0 {
			v = 0
		}
		return strings.TrimPrefix(Signed(100*v, decimals), "+")
	}
	return text(share) + " % [" + text(low) + ", " + text(high) + "]"
}

// Share formats a share with two digits, as short as possible: "1.2 %", "33 %", "113
// %".
func Share(share float64) string {
	if math.Abs(share) < 0.0995 {
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Saving words the relative change of a time: "saves 12 %" where it falls, "costs 3.0 %" where it rises.
func Saving(change float64) string {
	if change > 0 {
		return "costs " + Share(change)
	}
	return "saves " + Share(-change)
}

// SavingWithin is Saving with the ends of the interval of the change in the same sense: "saves 12 % [10, 14]" of −0.12
// from −0.14 to −0.10.
func SavingWithin(change, low, high float64) string {
	if change > 0 {
		return "costs " + ShareWithin(change, low, high)
	}
	return "saves " + ShareWithin(-change, -high, -low)
}
