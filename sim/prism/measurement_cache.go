package prism

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math"

	"prismtop/profiles"
	"prismtop/sim/cache"
	"prismtop/sim/optics"
)

// MeasurementCache keeps noiseless measurements of pictures, bounded by bytes. One
// cache can serve several systems: its key contains everything that a measurement
// depends on. It is not safe for concurrent use.
type MeasurementCache struct {
	cache *cache.Cache[measurementKey, []float32]
	clock func() int64
	spare []float32 // an evicted measurement, to be reused
	hash  hash.Hash
	bytes []byte // of pixels or centres to be hashed
}

// digest is a SHA-256 sum.
type digest [sha256.Size]byte

// measurementKey is what a measurement depends on: the picture's content and shape,
// the instrument, and the centres. PRISM's key is picture and centres alone.
type measurementKey struct {
	picture  digest
	size     int
	aperture optics.Aperture
	faithful bool // the operator for line samples
	count    int
	centre   optics.Point // of a single one
	centres  digest       // of several
}

// NewMeasurementCache makes an empty cache bounded to limit bytes; 0 means no
// limit. A nil clock is the system's.
func NewMeasurementCache(limit int64, enabled bool, clock func() int64) *MeasurementCache {
	c := &MeasurementCache{clock: cache.Clock(clock), hash: sha256.New(), bytes: make([]byte, 0, 4096)}
	c.cache = cache.New[measurementKey](cache.Options[[]float32]{
		Limit: limit, Disabled: !enabled, Clock: c.clock,
		Dropped: func(m []float32) { c.spare = m },
	})
	return c
}

// SetEnabled turns the cache on or off. Turning it off frees its measurements.
func (c *MeasurementCache) SetEnabled(on bool) {
	c.cache.SetEnabled(on)
	if !on {
		c.spare = nil
	}
}

// SetLimit changes the bound in bytes; 0 means no limit.
func (c *MeasurementCache) SetLimit(bytes int64) { c.cache.SetLimit(bytes) }

// Clear forgets the measurements. The counters stay.
func (c *MeasurementCache) Clear() { c.cache.Clear() }

// Counters returns the cache's counters.
func (c *MeasurementCache) Counters() profiles.CacheCounters { return c.cache.Counters() }

// Reprice notes that the cost of measuring changes from now on, with other threads
// or transforms.
func (c *MeasurementCache) Reprice() { c.cache.Reprice() }

// Retimed returns the nanoseconds spent recomputing cached measurements to find out
// what a hit saves.
func (c *MeasurementCache) Retimed() int64 { return c.cache.Retimed() }

// keep stores a copy of a measurement that took cost nanoseconds to compute.
func (c *MeasurementCache) keep(key measurementKey, measurement []float32, cost int64) {
	start := c.clock()
	kept := c.spare
	c.spare = nil
	if len(kept) != len(measurement) {
		kept = make([]float32, len(measurement))
	}
	copy(kept, measurement)
	c.cache.Charge(c.clock() - start)
	if !c.cache.PutCost(key, kept, 4*int64(len(kept)), cost) {
		c.spare = kept
	}
}

// hashPicture returns the digest of a plane's pixels, invalid if ctx ends first.
func (c *MeasurementCache) hashPicture(ctx context.Context, pixels []float32) (d digest) {
	c.hash.Reset()
	for len(pixels) > 0 && ctx.Err() == nil {
		n := min(len(pixels), cap(c.bytes)/4)
		c.bytes = c.bytes[:0]
		for _, v := range pixels[:n] {
			c.bytes = binary.LittleEndian.AppendUint32(c.bytes, math.Float32bits(v))
		}
		c.hash.Write(c.bytes)
		pixels = pixels[n:]
	}
	c.bytes = c.hash.Sum(c.bytes[:0])
	copy(d[:], c.bytes)
	return d
}

// hashCentres returns the digest of the centres along a line.
func (c *MeasurementCache) hashCentres(centres []optics.Point) (d digest) {
	c.hash.Reset()
	for _, p := range centres {
		c.bytes = binary.LittleEndian.AppendUint64(c.bytes[:0], math.Float64bits(p.Y))
		c.bytes = binary.LittleEndian.AppendUint64(c.bytes, math.Float64bits(p.X))
		c.hash.Write(c.bytes)
	}
	c.bytes = c.hash.Sum(c.bytes[:0])
	copy(d[:], c.bytes)
	return d
}
