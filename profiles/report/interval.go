package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"prismtop/profiles/stats"
)

// Numbers that vary: a value with its interval, and a distribution.

// Interval is a value with its 95 % interval, null where there is none.
type Interval struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Exact is a number that was counted or read once.
func Exact(v float64) Interval { return Interval{Value: v} }

// Between is a value within two ends. Of ends that are infinite or NaN there is no interval.
func Between(value, low, high float64) Interval {
	i := Interval{value, Finite(low), Finite(high)}
	if i.Low == nil || i.High == nil {
		return Exact(value)
	}
	return i
}

// Of returns an estimate as an interval.
func Of(c stats.Centre) Interval { return Between(c.Value, c.Low, c.High) }

// Through applies a function that rises or falls everywhere.
func (i Interval) Through(f func(float64) float64) Interval {
	if i.Low == nil || i.High == nil {
		return Exact(f(i.Value))
	}
	low, high := f(*i.Low), f(*i.High)
	return Between(f(i.Value), min(low, high), max(low, high))
}

// Ends returns the ends of the interval, infinite where there is none.
func (i Interval) Ends() (low, high float64) {
	if i.Low == nil || i.High == nil {
		return math.Inf(-1), math.Inf(1)
	}
	return *i.Low, *i.High
}

// Judge returns what the interval allows to say of a claim.
func (i Interval) Judge(c stats.Claim) stats.Finding { return c.Judge(i.Ends()) }

// Centre returns the interval without its null.
func (i Interval) Centre() stats.Centre {
	low, high := i.Ends()
	return stats.Centre{Value: i.Value, Low: low, High: high}
}

// Text formats the interval with as many decimals, and the unit behind the value: "1.56x [1.52, 1.60]".
func (i Interval) Text(unit string, decimals int) string {
	text := fmt.Sprintf("%.*f%s", decimals, i.Value, unit)
	if i.Low == nil || i.High == nil {
		return text
	}
	return text + fmt.Sprintf(" [%.*f, %.*f]", decimals, *i.Low, decimals, *i.High)
}

// In formats the interval with about three digits, and the unit at its end: "1.56 [1.52, 1.60] x".
func (i Interval) In(unit string) string {
	text := Number(i.Value)
	if i.Low != nil && i.High != nil {
		text += " [" + Number(*i.Low) + ", " + Number(*i.High) + "]"
	}
	return strings.TrimSpace(text + " " + unit)
}

// Spread is a distribution of a number.
type Spread struct {
	Median float64 `json:"median"`
	Mean   float64 `json:"mean"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
	N      int     `json:"n"`
}

// SpreadOf summarises values.
func SpreadOf(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	return Spread{stats.Quantile(sorted, 0.5), stats.Mean(values), stats.Quantile(sorted, 0.1),
		stats.Quantile(sorted, 0.9), len(values)}
}

// Finite returns a number for JSON: nil, which is null, for NaN and infinity.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Number formats a number with about three significant digits, and with an exponent only below 0.0001.
func Number(v float64) string {
	a := math.Abs(v)
	switch {
	case a >= 100 || v == math.Trunc(v):
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 0.01:
		return strconv.FormatFloat(v, 'f', min(6, max(0, 2-int(math.Floor(math.Log10(a))))), 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// Optional formats a number that may be missing, with as many decimals and its unit.
func Optional(v *float64, decimals int, unit string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.*f%s", decimals, *v, unit)
}
