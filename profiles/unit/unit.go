// Package unit formats numbers with their units: sizes, times, counts, shares and the
// quantities of a run. Numbers for the screen have a fixed width in cells, so that
// changing digits do not move their neighbours, and "–" for values that are not numbers;
// those for sentences are as short as possible.
package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Fixed formats a non-negative number with two decimals, three below 0.01, or as
// many as fit into width cells; right-aligned.
func Fixed(v float64, width int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%*s", width, "–")
	}
	most := 2
	if v < 0.00995 && v > 0 {
		most = 3
	}
	for decimals := min(width-2, most); decimals > 0; decimals-- {
		if s := fmt.Sprintf("%.*f", decimals, v); len(s) <= width {
			return fmt.Sprintf("%*s", width, s)
		}
	}
	if s := fmt.Sprintf("%.0f", v); len(s) <= width {
		return fmt.Sprintf("%*s", width, s)
	}
	return fmt.Sprintf("%*s", width, fmt.Sprintf("%.0e", v))
}

// Signed formats a number with its sign, a true minus, and the given number of
// decimals.
func Signed(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	return sign(v) + fmt.Sprintf("%.*f", decimals, math.Abs(v))
}

func sign(v float64) string {
	if v < 0 {
		return "−"
	}
	return "+"
}

// Difference formats a difference with its sign: of dB two decimals, of any other unit three significant digits,
// "+0.0123" or "−4.56e-04". One that rounds to 0 has no sign.
func Difference(v float64, unit string) string {
	switch a := math.Abs(v); {
	case unit == "dB" && a < 0.005:
		return "0.00"
	case v == 0:
		return "0"
	case unit == "dB" || math.IsNaN(v) || math.IsInf(v, 0):
		return Signed(v, 2)
	case a < 0.0009995 || a >= 9995:
		return sign(v) + fmt.Sprintf("%.2e", a)
	default:
		return Signed(v, max(0, 2-int(math.Floor(math.Log10(round3(a))))))
	}
}

// AxisLabel formats a value on an axis, as short as possible: "0.01", "2e-4".
func AxisLabel(v float64) string {
	if a := math.Abs(v); v == 0 || a >= 0.001 && a < 1e4 {
		return strconv.FormatFloat(round3(v), 'f', -1, 64)
	}
	digits, exponent, _ := strings.Cut(strconv.FormatFloat(round3(v), 'e', -1, 64), "e")
	n, err := strconv.Atoi(exponent)
	if err != nil { // not a number
		return "–"
	}
	return digits + "e" + strconv.Itoa(n)
}

// round3 returns v with three significant digits.
func round3(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return r
}

// Count formats a number of things, at most 6 wide: "9999", "16.5k".
func Count(n int64) string {
	v, unit := float64(n), ""
	for _, unit = range []string{"", "k", "M", "G"} {
		if math.Abs(v) < 999.5 || unit == "" && math.Abs(v) < 9999.5 {
			break
		}
		v /= 1000
	}
	if unit == "" {
		return strconv.FormatInt(n, 10)
	}
	return strings.TrimSpace(Fixed(v, 4)) + unit
}

// Plural formats a number of things in words: "1 record", "2 records".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// About formats a number of things in words, rounded like Count; Plural does not
// round.
func About(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}
