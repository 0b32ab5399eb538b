package optics

import (
	"context"

	"prismtop/profiles"
	"prismtop/sim/cache"
)

// MaskCache caches aperture masks, and the coordinates for drawing them, for
// fields of n×n pixels. Disabled, it draws each mask again into one buffer. It is
// not safe for concurrent use.
type MaskCache struct {
	n     int
	cache *cache.Cache[maskKey, []float32]
	clock func() int64
	spare [][]float32 // evicted masks, to be reused
	mask  []float32   // buffer of the disabled cache
	grid  []float32
}

// maskKey identifies a mask or a grid; the zero Aperture stands for the grid.
type maskKey struct {
	n        int
	aperture Aperture
	centre   Point
}

// NewMaskCache makes an empty cache for fields of n pixels, bounded to limit
// bytes; 0 means no limit. A nil clock is the system's.
func NewMaskCache(n int, limit int64, enabled bool, clock func() int64) *MaskCache {
	c := &MaskCache{n: n, clock: cache.Clock(clock)}
	c.cache = cache.New[maskKey](cache.Options[[]float32]{
		Limit: limit, Disabled: !enabled, Clock: c.clock,
		Dropped: func(m []float32) {
			if len(m) == n*n && len(c.spare) == 0 {
				c.spare = append(c.spare, m)
			}
		},
	})
	return c
}

// Mask returns a plane that is 1 inside the aperture at the centre and 0 outside. The
// plane is valid until the next call and must not be modified. The only error is that
// of a context that ends while the mask is drawn.
func (c *MaskCache) Mask(ctx context.Context, a Aperture, centre Point) ([]float32, error) {
	key, bytes := maskKey{c.n, a, centre}, 4*int64(c.n)*int64(c.n)
	lookup := c.cache.Begin()
	if m, ok := c.cache.Get(lookup, key); ok {
		if c.cache.Due(bytes) { // on its own plane, like the disabled cache
			if err := c.redraw(ctx, m, a, centre); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	start := c.clock()
	m := c.blank()
	if err := a.Add(ctx, m, c.coordinates(), centre); err != nil {
		return nil, err
	}
	if !c.cache.PutCost(key, m, bytes, c.clock()-start) {
		c.mask = m
	}
	return m, nil
}

// redraw draws a cached mask again, to time it.
func (c *MaskCache) redraw(ctx context.Context, m []float32, a Aperture, centre Point) error {
	c.SetUnseen(true)
	defer c.SetUnseen(false)
	start := c.clock()
	clear(m)
	if err := a.Add(ctx, m, c.coordinates(), centre); err != nil {
		return err
	}
	c.cache.Retime(4*int64(len(m)), c.clock()-start)
	return nil
}

// Add adds the aperture at the centre to a mask. Errors are those of Mask.
func (c *MaskCache) Add(ctx context.Context, dst []float32, a Aperture, centre Point) error {
	if !c.cache.Enabled() {
		return a.Add(ctx, dst, c.coordinates(), centre)
	}
	mask, err := c.Mask(ctx, a, centre)
	for i, v := range mask {
		if v != 0 {
			dst[i] = 1
		}
	}
	return err
}

// blank returns an n×n plane of zeros, which the caller may keep if the cache is
// enabled.
func (c *MaskCache) blank() []float32 {
	m := c.mask
	c.mask = nil
	if m == nil && len(c.spare) > 0 {
		m = c.spare[0]
		c.spare = c.spare[:0]
	}
	if m == nil {
		return make([]float32, c.n*c.n)
	}
	clear(m)
	return m
}

// coordinates returns Coordinates(n), cached like a mask.
func (c *MaskCache) coordinates() []float32 {
	key := maskKey{n: c.n}
	lookup := c.cache.Begin()
	if g, ok := c.cache.Get(lookup, key); ok {
		return g
	}
	g := c.grid
	if g == nil {
		g = make([]float32, c.n)
	}
	fillCoordinates(g)
	c.grid = g
	if c.cache.Put(key, g, 4*int64(len(g))) {
		c.grid = nil
	}
	return g
}

// SetEnabled turns keeping masks and grids on or off.
func (c *MaskCache) SetEnabled(on bool) { c.cache.SetEnabled(on) }

// Clear drops the masks and grids. The counters stay.
func (c *MaskCache) Clear() { c.cache.Clear() }

// Counters returns the cache's counters.
func (c *MaskCache) Counters() profiles.CacheCounters { return c.cache.Counters() }

// SetUnseen stops the counters while something is recomputed only to be timed.
func (c *MaskCache) SetUnseen(on bool) { c.cache.SetUnseen(on) }

// Reprice notes that the cost of drawing changes from now on.
func (c *MaskCache) Reprice() { c.cache.Reprice() }

// Retimed returns the nanoseconds spent drawing cached masks again to find out what a
// hit saves.
func (c *MaskCache) Retimed() int64 { return c.cache.Retimed() }

// Coverage returns the share of a mask's pixels that are not 0.
func Coverage(mask []float32) float64 {
	if len(mask) == 0 {
		return 0
	}
	n := 0
	for _, v := range mask {
		if v != 0 {
			n++
		}
	}
	return float64(n) / float64(len(mask))
}
