package verify

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"prismtop/sim/cpu/host"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/tensor"
)

// telescope checks the instrument (spec/prism.md §2.2): the aperture masks from
// their centres and radius, their union, the spectrum of the object, its
// measurements through masks with their gradients, and the measurement through
// no mask at all.
func telescope(c *checker) error {
	if !c.has("object") || !c.has("masks") || !c.has("centres") {
		return nil
	}
	c.run("telescope", "object", func() error {
		t, err := c.readTelescope()
		if err != nil {
			return err
		}
		if err := t.checkMasks(); err != nil {
			return err
		}
		if err := t.checkUnion(); err != nil {
			return err
		}
		if err := t.checkSpectrum(); err != nil {
			return err
		}
		return t.checkMeasurements()
	})
	return nil
}

// telescopeCase is the instrument of one file: a square field of n×n pixels.
type telescopeCase struct {
	*checker
	n       int
	object  *array
	masks   *array // [K, n, n]
	centres *array // [K, 2], y before x, in pixels from DC
	union   *array // [n, n]
	radius  float64
	g       *array // weights of the sum whose gradient is checked
}

func (c *checker) readTelescope() (t telescopeCase, err error) {
	t.checker = c
	if t.object, err = c.takeReal("object", 2); err != nil {
		return t, err
	}
	if t.masks, err = c.takeReal("masks", 3); err != nil {
		return t, err
	}
	if t.centres, err = c.takeReal("centres", 2); err != nil {
		return t, err
	}
	if t.g, err = c.takeReal("g", 2); err != nil {
		return t, err
	}
	if t.union, err = c.takeReal("cum_mask", 2); err != nil {
		return t, err
	}
	radius, err := c.take("radius")
	if err != nil {
		return t, err
	}
	t.n, t.radius = t.object.shape[0], radius.values[0]
	plane := tensor.Shape{t.n, t.n}
	count := t.masks.shape[0]
	switch {
	case !t.object.shape.Equal(plane) || !t.g.shape.Equal(plane) || !t.union.shape.Equal(plane) ||
		!t.masks.shape[1:].Equal(plane):
		return t, fmt.Errorf("object %v, g %v, cum_mask %v, masks %v: want square planes of one size",
			t.object.shape, t.g.shape, t.union.shape, t.masks.shape)
	case !t.centres.shape.Equal(tensor.Shape{count, 2}):
		return t, fmt.Errorf("centres %v for %d masks", t.centres.shape, count)
	case len(radius.values) != 1:
		return t, fmt.Errorf("radius has the shape %v", radius.shape)
	}
	return t, optics.Aperture{Radius: t.radius}.Validate(t.n)
}

// checkMasks draws the masks again: they must consist of the same pixels.
func (t telescopeCase) checkMasks() error {
	grid := optics.Coordinates(t.n)
	drawn := make([]float32, len(t.masks.values))
	for k := range t.masks.shape[0] {
		centre := optics.Point{Y: t.centres.values[2*k], X: t.centres.values[2*k+1]}
		if err := (optics.Aperture{Radius: t.radius}).Add(t.backend.ctx, drawn[k*t.n*t.n:][:t.n*t.n], grid,
			centre); err != nil {
			return err
		}
	}
	t.exact("masks", drawn)
	return nil
}

// checkUnion finds the number of leading masks whose union is the accumulated
// mask. If none fits, the closest is compared.
func (t telescopeCase) checkUnion() error {
	union := make([]float32, t.n*t.n)
	var nearest []float32
	least := len(union) + 1
	for k := range t.masks.shape[0] {
		differ := 0
		for i, v := range t.mask(k) {
			union[i] = max(union[i], v)
			if float64(union[i]) != t.union.values[i] {
				differ++
			}
		}
		if differ < least {
			least, nearest = differ, append([]float32(nil), union...)
		}
	}
	t.exact("cum_mask", nearest)
	return nil
}

// mask returns mask k of the file.
func (t telescopeCase) mask(k int) []float32 { return t.plane(t.masks, k) }

// plane returns plane k of an array of planes.
func (t telescopeCase) plane(a *array, k int) []float32 {
	m := array{values: a.values[k*t.n*t.n:][:t.n*t.n]}
	return m.float32s()
}

func (t telescopeCase) checkSpectrum() error {
	var s script
	spectrum := s.result(tensor.Complex64, t.n, t.n)
	s.step(nn.FFT{}, []nn.BufferID{s.operand(t.object)}, spectrum)
	values, err := s.run(t.backend, spectrum)
	if err != nil {
		return err
	}
	t.compare("spectrum", values[0])
	return nil
}

// checkMeasurements checks every meas_…: m and a number denote a mask's index,
// cum the union. Measurements of the object are also computed on the host, as a
// run does for its targets.
func (t telescopeCase) checkMeasurements() error {
	everything := make([]float32, t.n*t.n)
	for i := range everything {
		everything[i] = 1
	}
	for _, name := range t.suffixed("_64") {
		key, measured := strings.CutPrefix(name, "meas_")
		mask := everything
		switch {
		case name == "identity":
		case !measured || strings.HasSuffix(name, "_gobj"):
			continue
		case key == "cum":
			mask = t.plane(t.union, 0)
		default:
			k, err := strconv.Atoi(strings.TrimPrefix(key, "m"))
			if err != nil || k < 0 || k >= t.masks.shape[0] {
				return fmt.Errorf("array %s_64: through which of the %d masks?", name, t.masks.shape[0])
			}
			mask = t.mask(k)
		}
		if err := t.checkMeasurement(name, mask); err != nil {
			return err
		}
	}
	return nil
}

func (t telescopeCase) checkMeasurement(name string, mask []float32) error {
	y, gradient, err := t.measure(mask)
	if err != nil {
		return err
	}
	t.compare(name, y)
	if t.has(name + "_gobj_64") {
		t.compare(name+"_gobj", gradient)
	}
	telescope, err := hostTelescope(t.backend.ctx, t.n)
	if err != nil {
		return err
	}
	if err := telescope.Measure(t.backend.ctx, y, t.object.float32s(), mask, optics.Support{}); err != nil {
		return err
	}
	t.compareNoted(name, y, "by the host's telescope")
	if t.has(name + "_gobj_64") {
		if err := telescope.Gradient(t.backend.ctx, gradient, t.object.float32s(), mask, t.g.float32s()); err != nil {
			return err
		}
		t.compareNoted(name+"_gobj", gradient, "by the host's telescope")
	}
	return nil
}

// measure runs the operator and the gradient of Σ g·y on the backend.
func (t telescopeCase) measure(mask []float32) (y, gradient []float32, err error) {
	var s script
	field := func() nn.BufferID { return s.result(tensor.Complex64, t.n, t.n) }
	maskBuffer := s.result(tensor.Float32, t.n, t.n)
	s.inputs = append(s.inputs, operand{maskBuffer, mask})
	object, g := s.operand(t.object), s.operand(t.g)
	spectrum, masked, image, out := field(), field(), field(), s.like(t.object)
	s.step(nn.FFT{}, []nn.BufferID{object}, spectrum)
	s.step(nn.MaskMultiply{}, []nn.BufferID{spectrum, maskBuffer}, masked)
	s.step(nn.FFT{}, []nn.BufferID{masked}, image)
	s.step(nn.ModulusFlip{}, []nn.BufferID{image}, out)

	gImage, gMasked, gSpectrum, gObject := field(), field(), field(), s.like(t.object)
	s.step(nn.ModulusFlipGrad{}, []nn.BufferID{image, g}, gImage)
	s.step(nn.FFT{Inverse: true}, []nn.BufferID{gImage}, gMasked)
	s.step(nn.MaskMultiply{}, []nn.BufferID{gMasked, maskBuffer}, gSpectrum)
	s.step(nn.FFT{Inverse: true}, []nn.BufferID{gSpectrum}, gObject)
	values, err := s.run(t.backend, out, gObject)
	if err != nil {
		return nil, nil, err
	}
	return values[0], values[1], nil
}

// hostTelescope returns the telescope that measures the object in a run, on one
// thread and until ctx ends.
func hostTelescope(ctx context.Context, n int) (optics.Telescope, error) {
	const atOnce = 4
	serial := func(n int, body func(lo, hi int)) {
		for lo := 0; lo < n && ctx.Err() == nil; lo += atOnce {
			body(lo, min(lo+atOnce, n))
		}
	}
	return host.New(host.Options{Parallel: serial}).Telescope(n)
}

// fermat checks centres of Fermat spirals: arrays [n, 2] of y and x
// (spec/prism.md §4). Their number is the array's length; the spiral's radius,
// whose integer part is in a name like n100_r64, follows from the outermost
// centre.
func fermat(c *checker) error {
	for _, name := range c.suffixed("_64") {
		a := c.arrays[name+"_64"]
		if c.used[name+"_64"] || strings.Contains(name, ".") || a.complex || len(a.shape) != 2 || a.shape[1] != 2 {
			continue
		}
		c.run("Fermat spiral", name, func() error {
			n := a.shape[0]
			rMax, err := spiralRadius(name, a)
			if err != nil {
				return err
			}
			centres := make([]float32, 0, 2*n)
			for _, p := range optics.FermatSpiral(n, rMax) {
				centres = append(centres, float32(p.Y), float32(p.X))
			}
			c.compare(name, centres)
			return nil
		})
	}
	return nil
}

// spiralRadius is r_max of r_i = r_max·√(i/n).
func spiralRadius(name string, centres *array) (float64, error) {
	n := centres.shape[0]
	_, text, named := strings.Cut(name, "_r")
	whole, err := strconv.Atoi(text)
	named = named && err == nil
	if n == 1 { // the only centre is DC, whatever the radius
		return float64(max(whole, 1)), nil
	}
	outermost := math.Hypot(centres.values[2*n-2], centres.values[2*n-1])
	r := outermost / math.Sqrt(float64(n-1)/float64(n))
	if !(r > 0) || math.IsInf(r, 0) {
		return 0, fmt.Errorf("the last centre is %g pixels from DC: no spiral", outermost)
	}
	if math.Abs(r-math.Round(r)) < 1e-9*r {
		r = math.Round(r)
	}
	if named && int(r) != whole {
		return 0, fmt.Errorf("the name says a radius of %d pixels, the last centre of %d says %.6g", whole, n, r)
	}
	return r, nil
}
