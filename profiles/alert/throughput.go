package alert

import (
	"slices"

	"prismtop/profiles/stats"
)

// throughput is the rate of iterations, one measurement per second or per
// iteration if that takes longer, since the last change of a setting or stage.
type throughput struct {
	rates   []float64 // iterations per second, at most throughputLast, newest last
	foreign []float64 // load by other programs meanwhile, for each
}

const (
	throughputLast  = 100
	throughputLeast = 10 // with fewer there is no verdict
	slowRatio       = 0.8
	slowRecovered   = 0.9
	slowInARow      = 3 // measurements that must agree
)

// add adds a measurement with the load by other programs meanwhile, NaN if unknown.
func (t *throughput) add(rate, foreign float64) {
	if len(t.rates) == throughputLast {
		t.rates = append(t.rates[:0], t.rates[1:]...)
		t.foreign = append(t.foreign[:0], t.foreign[1:]...)
	}
	t.rates, t.foreign = append(t.rates, rate), append(t.foreign, foreign)
}

func (t *throughput) clear() { t.rates, t.foreign = t.rates[:0], t.foreign[:0] }

// others returns the load by other programs during the newest measurements and,
// as the median, during all; NaN if unknown.
func (t *throughput) others() (newest, usual float64) {
	n := len(t.foreign)
	for _, v := range t.foreign[n-slowInARow:] {
		newest += v / slowInARow
	}
	return newest, stats.Median(t.foreign)
}

// slowest returns the lowest of the newest measurements: while they are not all close to the median, it is not.
func (t *throughput) slowest() float64 { return slices.Min(t.rates[len(t.rates)-slowInARow:]) }

func (t *throughput) median() float64 { return stats.Median(t.rates) }

// slow reports whether the newest measurements all lie below a share of the median
// (documents 004, §6.2: the last below 0.8 of the median of 100).
func (t *throughput) slow(ratio float64) bool {
	if len(t.rates) < throughputLeast {
		return false
	}
	bound := ratio * t.median()
	for _, r := range t.rates[len(t.rates)-slowInARow:] {
		if r >= bound {
			return false
		}
	}
	return true
}

// recovered reports whether the newest measurements are close to the median
// again.
func (t *throughput) recovered() bool {
	if len(t.rates) < throughputLeast {
		return true
	}
	bound := slowRecovered * t.median()
	for _, r := range t.rates[len(t.rates)-slowInARow:] {
		if r < bound {
			return false
		}
	}
	return true
}
