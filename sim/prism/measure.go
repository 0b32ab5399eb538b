package prism

import (
	"context"
	"errors"
	"fmt"

	"prismtop/sim/optics"
)

// SystemOptions describe a MeasurementSystem.
type SystemOptions struct {
	// Truth is the object's amplitude, Size×Size. It must not be modified while
	// the system uses it; SetTruth replaces it.
	Truth    []float32
	Size     int
	Aperture optics.Aperture
	Noise    *optics.Noise // nil adds none

	// Measured stands for measurements of the truth, unless nil.
	Measured *Measured

	Host  optics.Host
	Masks *optics.MaskCache
	Cache *MeasurementCache

	// Rows is the range outside which reconstructions are zero; empty means
	// unknown.
	Rows [2]int

	// Transforms configures the transforms of measurements through one mask.
	Transforms optics.Transforms

	// Faithful keeps PRISM's key (picture and centres alone, so that a measurement
	// through another aperture is answered from the cache), its hashing of the
	// whole picture at every lookup and again at every store, its circles in the
	// accumulated mask whatever the aperture, and its intensities in line mode
	// (spec/prism.md §3.4, §3.5, §9).
	Faithful bool
}

// MeasurementSystem measures the truth through one sample's apertures and the
// reconstruction through all earlier ones (spec/prism.md §3). It is not safe for
// concurrent use.
//
// Measurements of the truth are kept in a MeasurementCache. The truth's content is
// hashed once, at the first lookup after it was set; the time of hashing counts as
// a cost of the cache.
type MeasurementSystem struct {
	options   SystemOptions
	telescope optics.Telescope
	picture   digest
	hashed    bool
	rows      [2]int // outside which the truth is zero

	cumulative []float32
	columns    [2]int // outside which cumulative is zero
	coverage   float64
	samples    int

	spectrum []complex64 // of the truth, and one measurement: for line samples
	one      []float32

	copyTo, copyFrom []float32 // of the current copy
	copyBody         func(lo, hi int)
}

// copyBands is the number of bands in which a plane is copied.
const copyBands = 16

// NewMeasurementSystem makes a system without measurements.
func NewMeasurementSystem(o SystemOptions) (*MeasurementSystem, error) {
	if err := o.Aperture.Validate(o.Size); err != nil {
		return nil, err
	}
	telescope, err := o.Host.Telescope(o.Size)
	if err != nil {
		return nil, err
	}
	telescope.SetTransforms(o.Transforms)
	s := &MeasurementSystem{options: o, telescope: telescope, cumulative: make([]float32, o.Size*o.Size)}
	s.copyBody = s.copyBand
	if err := s.setTruth(o.Truth); err != nil {
		return nil, err
	}
	return s, nil
}

// setTruth changes the measured picture.
func (s *MeasurementSystem) setTruth(truth []float32) error {
	if n := s.options.Size; len(truth) != n*n {
		return fmt.Errorf("measuring: a picture of %d pixels is not %d×%d", len(truth), n, n)
	}
	s.options.Truth, s.hashed = truth, false
	s.rows = optics.FilledRows(truth, s.options.Size)
	return nil
}

// SetTransforms configures the transforms of measurements through one mask. Cached
// measurements agree to rounding and are kept.
func (s *MeasurementSystem) SetTransforms(how optics.Transforms) {
	s.options.Transforms = how
	s.telescope.SetTransforms(how)
}

// Aperture returns the instrument's aperture.
func (s *MeasurementSystem) Aperture() optics.Aperture { return s.options.Aperture }

// Bytes returns the memory of the system's planes and of its work space, which the
// first measurement of a kind allocates; the caches count their own.
func (s *MeasurementSystem) Bytes() int64 {
	measured := 0
	if m := s.options.Measured; m != nil {
		measured = len(m.Amplitudes)
	}
	return 4*int64(measured) + s.telescope.Bytes() + 8*int64(len(s.spectrum)) + 4*int64(len(s.cumulative)+len(s.one))
}

// Cache returns the measurement cache.
func (s *MeasurementSystem) Cache() *MeasurementCache { return s.options.Cache }

// Samples returns the number of samples added by AddMask.
func (s *MeasurementSystem) Samples() int { return s.samples }

// CumulativeMask returns the union of the apertures of all samples added,
// Size×Size, 1 inside. It must not be modified, and changes with AddMask.
func (s *MeasurementSystem) CumulativeMask() []float32 { return s.cumulative }

// Coverage returns the share of k-space covered by the accumulated mask.
func (s *MeasurementSystem) Coverage() float64 { return s.coverage }

// Measure writes the two targets of a sample, each Size×Size. The new one is the
// truth through the sample's apertures, averaged over them, with fresh noise. The old
// one, unless nil, is the reconstruction (not measured data) through the accumulated
// mask; without a reconstruction (nil) or an earlier sample it equals the new one
// (spec/prism.md §3.2). If ctx ends first, Measure returns its error and the targets
// are undefined.
func (s *MeasurementSystem) Measure(ctx context.Context, reconstruction []float32, centres []optics.Point, targetOld,
	targetNew []float32) error {
	if len(centres) == 0 {
		return errors.New("measuring: a sample without apertures")
	}
	defer s.options.Host.Attach(s.options.Host.Attach(ctx))
	if m := s.options.Measured; m != nil {
		if err := m.copyTo(targetNew, centres); err != nil {
			return err
		}
	} else if err := s.measureTruth(ctx, targetNew, centres); err != nil {
		return err
	}
	if err := s.options.Noise.Apply(ctx, targetNew, targetNew); err != nil {
		return err
	}
	switch {
	case targetOld == nil:
	case reconstruction == nil || s.samples == 0:
		copy(targetOld, targetNew)
	default:
		return s.measureAccumulated(ctx, targetOld, reconstruction)
	}
	return ctx.Err()
}

// measureAccumulated writes the measurement of a reconstruction through the accumulated
// mask: the coherent union of all earlier apertures, without noise or cache.
func (s *MeasurementSystem) measureAccumulated(ctx context.Context, dst, picture []float32) error {
	return s.telescope.Measure(ctx, dst, picture, s.cumulative,
		optics.Support{Rows: s.options.Rows, Columns: s.columns})
}

// AddMask adds a sample's apertures to the accumulated mask, once per sample,
// after its training. The only error is that of a context that ends first.
func (s *MeasurementSystem) AddMask(ctx context.Context, centres []optics.Point) error {
	a := s.options.Aperture
	if s.options.Faithful {
		a = optics.Aperture{Kind: optics.Circular, Radius: a.Radius}
	}
	for _, c := range centres {
		if err := s.options.Masks.Add(ctx, s.cumulative, a, c); err != nil {
			return err
		}
		if _, columns := a.Bounds(c, s.options.Size); columns[0] < columns[1] {
			if s.columns[0] == s.columns[1] {
				s.columns = columns
			}
			s.columns = [2]int{min(s.columns[0], columns[0]), max(s.columns[1], columns[1])}
		}
	}
	s.samples++
	s.coverage = optics.Coverage(s.cumulative)
	return nil
}

// clearMasks forgets the samples added by AddMask.
func (s *MeasurementSystem) clearMasks() {
	clear(s.cumulative)
	s.columns, s.samples, s.coverage = [2]int{}, 0, 0
}

// measureTruth writes the noiseless measurement of the truth, from the cache if
// possible.
func (s *MeasurementSystem) measureTruth(ctx context.Context, dst []float32, centres []optics.Point) error {
	c, bytes := s.options.Cache, 4*int64(len(dst))
	if !c.cache.Enabled() {
		start := c.clock()
		if err := s.compute(ctx, dst, centres); err != nil {
			return err
		}
		c.cache.Learn(bytes, c.clock()-start)
		return nil
	}
	lookup := c.cache.Begin()
	key := s.key(ctx, centres)
	if kept, ok := c.cache.Get(lookup, key); ok {
		if c.cache.Due(bytes) {
			if err := s.retime(ctx, dst, centres); err != nil {
				return err
			}
		}
		start := c.clock()
		s.copyPlane(dst, kept)
		c.cache.Charge(c.clock() - start)
		return nil
	}
	start := c.clock()
	if err := s.compute(ctx, dst, centres); err != nil {
		return err
	}
	cost := c.clock() - start
	if s.options.Faithful {
		start = c.clock()
		key = s.key(ctx, centres)
		c.cache.Charge(c.clock() - start)
	}
	if err := ctx.Err(); err != nil {
		return err // the key may cover only a part of the picture
	}
	c.keep(key, dst, cost)
	return nil
}

// retime recomputes a cached measurement at the point where it would be computed
// without the cache, to time it. The caches it uses do not count this.
func (s *MeasurementSystem) retime(ctx context.Context, dst []float32, centres []optics.Point) error {
	c := s.options.Cache
	s.options.Host.Plans().SetUnseen(true)
	s.options.Masks.SetUnseen(true)
	start := c.clock()
	err := s.compute(ctx, dst, centres)
	if err == nil {
		c.cache.Retime(4*int64(len(dst)), c.clock()-start)
	}
	s.options.Masks.SetUnseen(false)
	s.options.Host.Plans().SetUnseen(false)
	return err
}

// copyPlane copies a plane in bands of rows on all threads: one thread does not
// reach the full memory bandwidth.
func (s *MeasurementSystem) copyPlane(dst, src []float32) {
	s.copyTo, s.copyFrom = dst, src
	s.options.Host.Parallel(copyBands, s.copyBody)
	s.copyTo, s.copyFrom = nil, nil
}

// copyBand copies bands [lo, hi).
func (s *MeasurementSystem) copyBand(lo, hi int) {
	n := len(s.copyTo)
	copy(s.copyTo[lo*n/copyBands:hi*n/copyBands], s.copyFrom[lo*n/copyBands:])
}

// key returns the cache key of a measurement of the truth.
func (s *MeasurementSystem) key(ctx context.Context, centres []optics.Point) measurementKey {
	if s.options.Faithful || !s.hashed {
		s.picture, s.hashed = s.options.Cache.hashPicture(ctx, s.options.Truth), true
	}
	key := measurementKey{picture: s.picture, faithful: s.options.Faithful, count: len(centres)}
	if !s.options.Faithful {
		key.size, key.aperture = s.options.Size, s.options.Aperture
	}
	if len(centres) == 1 {
		key.centre = centres[0]
	} else {
		key.centres = s.options.Cache.hashCentres(centres)
	}
	return key
}

// compute measures the truth. A line is the mean over its apertures: of
// amplitudes, like the prediction, or of intensities, like PRISM, if faithful.
func (s *MeasurementSystem) compute(ctx context.Context, dst []float32, centres []optics.Point) error {
	a, masks := s.options.Aperture, s.options.Masks
	if len(centres) == 1 {
		_, columns := a.Bounds(centres[0], s.options.Size)
		mask, err := masks.Mask(ctx, a, centres[0])
		if err != nil {
			return err
		}
		return s.telescope.Measure(ctx, dst, s.options.Truth, mask, optics.Support{Rows: s.rows, Columns: columns})
	}
	if s.spectrum == nil {
		s.spectrum, s.one = make([]complex64, len(dst)), make([]float32, len(dst))
	}
	if err := s.telescope.Spectrum(ctx, s.spectrum, s.options.Truth); err != nil {
		return err
	}
	clear(dst)
	for _, c := range centres {
		mask, err := masks.Mask(ctx, a, c)
		if err != nil {
			return err
		}
		if s.options.Faithful {
			err = s.telescope.InverseIntensity(ctx, s.one, s.spectrum, mask)
		} else {
			err = s.telescope.MeasureSpectrum(ctx, s.one, s.spectrum, mask)
		}
		if err != nil {
			return err
		}
		for i, v := range s.one {
			dst[i] += v
		}
	}
	share := 1 / float32(len(centres))
	for i := range dst {
		dst[i] *= share
	}
	return ctx.Err()
}
