package unit

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Milliseconds formats a time in nanoseconds as milliseconds, 5 wide.
func Milliseconds(ns float64) string { return Fixed(ns/1e6, 5) }

// Seconds formats a time with a suitable unit, 7 wide: "1.94 s ", "12.0 ms".
func Seconds(ns float64) string {
	switch a := math.Abs(ns); {
	case math.IsNaN(ns) || math.IsInf(ns, 0):
		return fmt.Sprintf("%7s", "–")
	case ns < 0:
		return "−" + strings.TrimSpace(Seconds(a))
	case a < 1e3:
		return fmt.Sprintf("%4.0f ns", ns)
	case a < 999.5e3:
		return Fixed(ns/1e3, 4) + " µs"
	case a < 999.5e6:
		return Fixed(ns/1e6, 4) + " ms"
	case a < 999.5e9:
		return Fixed(ns/1e9, 4) + " s "
	}
	return Fixed(ns/3.6e12, 4) + " h "
}

// SecondsWithin formats the ends of an interval of nanoseconds and their unit, that of the end farther from 0:
// "−0.13", "1.94" and "ms". An end that is not 0 does not read as 0 if three decimals avoid it.
func SecondsWithin(low, high float64) (from, to, unit string) {
	most, least := math.Abs(low), math.Abs(high)
	if most < least {
		most, least = least, most
	}
	factor := 1.0
	for _, u := range []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"h", 3.6e12}} {
		if unit == "" || most >= 0.9995*u.ns {
			unit, factor = u.name, u.ns
		}
	}
	decimals := 0
	for decimals < 3 && unit != "ns" && (most/factor < 99.95/math.Pow10(decimals) ||
		least > 0 && least/factor < 0.5/math.Pow10(decimals)) {
		decimals++
	}
	return plain(low/factor, decimals), plain(high/factor, decimals), unit
}

// plain formats a number with a minus if it is negative.
func plain(v float64, decimals int) string { return strings.TrimPrefix(Signed(v, decimals), "+") }

// Clock formats a duration as hours, minutes, seconds: "00:01:42".
func Clock(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	if s >= 100*3600 {
		return fmt.Sprintf("%dd %02dh", s/86400, s/3600%24)
	}
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Estimate formats an extrapolated time, at most 7 wide: "~40 s", "~37 min", "~2.6 h".
func Estimate(d time.Duration) string {
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

// Rate formats iterations per second, 10 wide: "214.0 it/s". 0 means not known
// yet.
func Rate(v float64) string {
	if !(v > 0) {
		v = math.NaN()
	}
	return Fixed(v, 5) + " it/s"
}

// Duration formats a non-negative time in nanoseconds with a suitable unit: "940 ns",
// "1.94 s".
func Duration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.0f ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.3g µs", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.3g ms", ns/1e6)
	}
	return fmt.Sprintf("%.3g s", ns/1e9)
}
