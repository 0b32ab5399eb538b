package prism

import (
	"prismtop/profiles"
	"prismtop/sim/optics"
)

// cacheSet is the caches of a reconstruction: measurements, plans of FFTs and masks of apertures.
type cacheSet struct {
	measurements *MeasurementCache
	plans        optics.Plans
	masks        *optics.MaskCache
}

// set switches the caches as the settings say.
func (c *cacheSet) set(s *Settings) {
	c.measurements.SetEnabled(s.MeasurementCache)
	c.measurements.SetLimit(int64(s.MeasurementCacheMB) << 20)
	c.plans.SetEnabled(s.FFTCache)
	c.masks.SetEnabled(s.MaskCache)
}

// drop drops the entries of a cache.
func (c *cacheSet) drop(id profiles.CacheID) {
	switch id {
	case CacheMeasurement:
		c.measurements.Clear()
	case CacheFFTPlans:
		c.plans.Clear()
	case CacheMasks:
		c.masks.Clear()
	}
}

// reprice measures anew what an entry saves.
func (c *cacheSet) reprice() {
	c.measurements.Reprice()
	c.masks.Reprice()
}

// retimed returns the time spent recomputing cached results.
func (c *cacheSet) retimed() int64 { return c.measurements.Retimed() + c.masks.Retimed() }

// count fills in a record's counters.
func (c *cacheSet) count(rec *profiles.Iteration) {
	rec.Caches[CacheMeasurement] = c.measurements.Counters()
	rec.Caches[CacheFFTPlans] = c.plans.Counters()
	rec.Caches[CacheMasks] = c.masks.Counters()
}

// bytes returns the memory of the entries.
func (c *cacheSet) bytes() int64 {
	return c.measurements.Counters().Bytes + c.plans.Counters().Bytes + c.masks.Counters().Bytes
}
