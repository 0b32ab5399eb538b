package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// This file says how numbers look. Every formatter has a fixed width in cells,
// so that digits that change do not move what stands beside them, and prints
// "–" for what is not a number.

// milliseconds is a time in nanoseconds as milliseconds, 5 wide.
func milliseconds(ns float64) string { return fixed(ns/1e6, 5) }

// fixed is a number not below 0 with two decimals, three below 0.01, or as many
// as fit into width cells; right-aligned.
func fixed(v float64, width int) string {
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

// axisLabel is a value on an axis, as short as it can be: "0.01", "2e-4".
func axisLabel(v float64) string {
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

// round3 is v with three significant digits.
func round3(v float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	return r
}

// count is a number of things, at most 6 wide: "9999", "16.5k".
func count(n int64) string {
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
	return strings.TrimSpace(fixed(v, 4)) + unit
}

// percent is a share as a whole percentage, 5 wide: " 44 %".
func percent(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "  – %"
	}
	return fmt.Sprintf("%3.0f %%", 100*share)
}

// percentFine is a share with one decimal, 7 wide: " 98.0 %".
func percentFine(share float64) string {
	if math.IsNaN(share) || math.IsInf(share, 0) {
		return "    – %"
	}
	return fmt.Sprintf("%5.1f %%", 100*share)
}

// hitRate is percentFine that says all or none only where it is so.
func hitRate(share float64) string {
	switch text := percentFine(share); {
	case share < 1 && text == percentFine(1):
		return " 99.9 %"
	case share > 0 && text == percentFine(0):
		return " <0.1 %"
	default:
		return text
	}
}

// signedPercent is a relative change, 7 wide: "−31.0 %".
func signedPercent(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "    – %"
	}
	return fmt.Sprintf("%7s", signed(100*v, 1)+" %")
}

// signed is a number with its sign, a true minus, and so many decimals.
func signed(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "–"
	}
	s := fmt.Sprintf("%.*f", decimals, math.Abs(v))
	if v < 0 {
		return "−" + s
	}
	return "+" + s
}

// byteSize is a size, 7 wide, in decimal units (1 MB is 10⁶ bytes): "11.2 MB".
func byteSize(n int64) string {
	v := float64(n)
	for _, unit := range []string{"B ", "KB", "MB", "GB"} {
		if math.Abs(v) < 999.5 {
			if unit == "B " {
				return fmt.Sprintf("%4.0f %s", v, unit)
			}
			return fixed(v, 4) + " " + unit
		}
		v /= 1000
	}
	return fixed(v, 4) + " TB"
}

// loss is a loss, 9 wide: "1.234e-03".
func loss(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprintf("%9s", "–")
	}
	return fmt.Sprintf("%9.3e", v)
}

// rate is iterations per second, 10 wide: "214.0 it/s". It is not known yet
// where it is 0.
func rate(v float64) string {
	if !(v > 0) {
		v = math.NaN()
	}
	return fixed(v, 5) + " it/s"
}

// psnr is a PSNR in dB, 8 wide.
func psnr(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "    ∞ dB"
	case math.IsNaN(v) || math.IsInf(v, -1):
		return "    – dB"
	}
	return fmt.Sprintf("%5.1f dB", v)
}

// clock is a duration as hours, minutes, seconds: "00:01:42".
func clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 100*3600 {
		return fmt.Sprintf("%dd %02dh", s/86400, s/3600%24)
	}
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// estimate is a time that was extrapolated, at most 7 wide: "~40 s", "~37 min", "~2.6 h".
func estimate(d time.Duration) string {
	switch s := max(d, 0).Seconds(); {
	case s < 10:
		return fmt.Sprintf("~%.0f s", s)
	case s < 57.5:
		return fmt.Sprintf("~%.0f s", 5*math.Round(s/5))
	case s < 99.5*60:
		return fmt.Sprintf("~%.0f min", s/60)
	case s < 9.95*3600:
		return fmt.Sprintf("~%.1f h", s/3600)
	case s < 99.5*3600:
		return fmt.Sprintf("~%.0f h", s/3600)
	default:
		return fmt.Sprintf("~%.0f d", min(s/86400, 999))
	}
}

// seconds is a span of time as people say it, 7 wide: "1.94 s ", "12.0 ms".
func seconds(ns float64) string {
	switch a := math.Abs(ns); {
	case math.IsNaN(ns) || math.IsInf(ns, 0):
		return fmt.Sprintf("%7s", "–")
	case ns < 0:
		return "−" + strings.TrimSpace(seconds(a))
	case a < 1e3:
		return fmt.Sprintf("%4.0f ns", ns)
	case a < 999.5e3:
		return fixed(ns/1e3, 4) + " µs"
	case a < 999.5e6:
		return fixed(ns/1e6, 4) + " ms"
	case a < 999.5e9:
		return fixed(ns/1e9, 4) + " s "
	}
	return fixed(ns/3.6e12, 4) + " h "
}

// learningRate is a learning rate, 7 wide: "1.0e-03".
func learningRate(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "      –"
	}
	return fmt.Sprintf("%7.1e", v)
}

// ssim is a structural similarity, 6 wide: " 0.812".
func ssim(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "     –"
	}
	s := fmt.Sprintf("%.3f", math.Abs(v))
	if v < 0 {
		s = "−" + s
	}
	return fmt.Sprintf("%6s", s)
}

// plural is a number of things in words, rounded as count rounds; profiles.Plural does
// not round.
func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

func itoa(n int) string { return strconv.Itoa(n) }

// trim is a number without the spaces of its fixed width.
func trim(s string) string { return strings.TrimSpace(s) }
