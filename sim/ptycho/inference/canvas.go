package inference

import (
	"bytes"
	"context"
	"math"
	"math/cmplx"

	"prismtop/profiles"
	"prismtop/sim/learning"
	"prismtop/sim/npy"
	"prismtop/sim/picture"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
)

// canvas is the object being assembled, the newest complete one, and the truth on the same pixels, 0
// where no patch lies.
type canvas struct {
	assembly *ptycho.Assembly
	whole    *ptycho.Canvas // nil before the end of the first pass
	truth    []complex64
	unknown  bool // there is no truth
	side     int
}

// spreadOut makes an empty canvas of groups with the given centres.
func (c *canvas) spreadOut(object *scan.Object, centres [][2]float64) (err error) {
	if c.assembly, err = ptycho.NewAssembly(centres); err != nil {
		return err
	}
	c.side = c.assembly.Canvas().Side
	if c.unknown = object == nil; c.unknown {
		c.truth = make([]complex64, c.side*c.side)
		return nil
	}
	c.truth = c.assembly.Truth(object, 0)
	return c.mask(centres)
}

// mask sets the truth to 0 where no patch lies.
func (c *canvas) mask(centres [][2]float64) error {
	ones := make([]complex64, len(centres)*patchPixels)
	for i := range ones {
		ones[i] = 1
	}
	covered, err := ptycho.Reassemble(ones, ptycho.PatchSide, centres)
	if err != nil {
		return err
	}
	for i, z := range covered.Object {
		if z == 0 {
			c.truth[i] = 0
		}
	}
	return nil
}

// finish keeps the complete canvas and begins an empty one.
func (c *canvas) finish(centres [][2]float64) (err error) {
	c.whole = c.assembly.Canvas()
	c.assembly, err = ptycho.NewAssembly(centres)
	return err
}

// current returns the canvas in progress over the newest complete one.
func (c *canvas) current() []complex64 {
	object := c.assembly.Canvas().Object
	if c.whole == nil {
		return object
	}
	for i, z := range object {
		if z == 0 {
			object[i] = c.whole.Object[i]
		}
	}
	return object
}

// turnTo returns the phase by which an object is turned to come closest to the truth: diffraction does
// not show a constant one.
func (c *canvas) turnTo(object []complex64) complex128 {
	product := complex128(0)
	for i, z := range object {
		product += cmplx.Conj(complex128(z)) * complex128(c.truth[i])
	}
	if product == 0 {
		return 1
	}
	return product / complex(cmplx.Abs(product), 0)
}

// scaleTo returns the factor of least squares by which the moduli of an object come closest to the
// truth's: a network's amplitudes have no scale of their own. It is 0 for an empty object, and 1 without a truth.
func (c *canvas) scaleTo(object []complex64) float64 {
	if c.unknown {
		return 1
	}
	product, square := 0.0, 0.0
	for i, z := range object {
		if z != 0 {
			a := cmplx.Abs(complex128(z))
			product += a * cmplx.Abs(complex128(c.truth[i]))
			square += a * a
		}
	}
	if square == 0 {
		return 0
	}
	return product / square
}

// compare compares the newest complete canvas with the truth where it is covered: the moduli by PSNR
// in dB, relative to the truth's largest modulus, and RMSE in percent of its root mean square, and the
// phases by the root mean square of their differences. All are NaN before the first pass is complete.
func (c *canvas) compare() (psnr, rmse, phase float64) {
	if c.whole == nil || c.unknown {
		return math.NaN(), math.NaN(), math.NaN()
	}
	scale, turn := c.scaleTo(c.whole.Object), c.turnTo(c.whole.Object)
	squares, energy, peak, n, turned := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, z := range c.whole.Object {
		if z == 0 {
			continue
		}
		want := cmplx.Abs(complex128(c.truth[i]))
		d := scale*cmplx.Abs(complex128(z)) - want
		squares, energy, peak, n = squares+d*d, energy+want*want, max(peak, want), n+1
		turned += math.Pow(c.lead(i, z, turn), 2)
	}
	return 10 * math.Log10(peak*peak*n/squares), 100 * math.Sqrt(squares/energy), math.Sqrt(turned / n)
}

// lead returns the phase of a turned pixel less that of the truth, in (−π, π].
func (c *canvas) lead(i int, z complex64, turn complex128) float64 {
	return cmplx.Phase(complex128(z) * turn * cmplx.Conj(complex128(c.truth[i])))
}

// Picture returns a picture of the schema.
func (t *Task) Picture(id int) *profiles.Picture {
	if id == pictureDiffraction {
		return t.diffraction()
	}
	if t.unknown && (id == pictureTruth || id == picturePhaseTruth) {
		return nil
	}
	object := t.truth
	if id == pictureReconstruction || id == picturePhase {
		object = t.current()
	}
	return t.pictureOf(id, object)
}

// pictureOf returns the amplitude or the phase of an object, the truth or one that is brought to its scale and phase.
func (t *Task) pictureOf(id int, object []complex64) *profiles.Picture {
	p := &profiles.Picture{ID: id, Width: t.side, Height: t.side, Pixels: make([]float32, t.side*t.side)}
	turn, scale := complex128(1), 1.0
	if id == pictureReconstruction || id == picturePhase {
		turn, scale = t.turnTo(object), t.scaleTo(object)
	}
	for i, z := range object {
		switch {
		case z == 0:
		case id == picturePhase && t.unknown:
			p.Pixels[i] = float32(math.Pi + cmplx.Phase(complex128(z)))
		case id == picturePhase || id == picturePhaseTruth:
			p.Pixels[i] = float32(math.Pi + cmplx.Phase(complex128(t.truth[i])) + t.lead(i, z, turn))
		default:
			p.Pixels[i] = float32(scale * cmplx.Abs(complex128(z)))
		}
	}
	return p
}

// diffraction returns the next pattern, the logarithm of its amplitudes.
func (t *Task) diffraction() *profiles.Picture {
	n := t.scan.Size
	p := &profiles.Picture{ID: pictureDiffraction, Width: n, Height: n, Pixels: make([]float32, n*n)}
	for i, v := range t.scan.Pattern(t.groups[t.next].Positions[0]) {
		p.Pixels[i] = float32(math.Log1p(float64(v) * t.scale))
	}
	return p
}

// Suffixes are the ends of the names of the files that Save writes: the complex object, its amplitude and its phase.
var Suffixes = []string{".npy", ".png", "-phase.png"}

// Save writes the newest complete canvas to base.npy, complex as the network drew it, 0 where no patch lies, and its
// amplitude and phase as in the pictures to base.png and base-phase.png (16 bit): all or none.
func (t *Task) Save(ctx context.Context, base string, fresh bool) ([]string, error) {
	if t.whole == nil {
		return nil, errNothing
	}
	return learning.Saving(base, func() ([]string, error) {
		var object bytes.Buffer
		if err := npy.Write(&object, []int{t.side, t.side}, t.whole.Object); err != nil {
			return nil, err
		}
		data := [][]byte{object.Bytes()}
		for _, id := range []int{pictureReconstruction, picturePhase} {
			p := t.pictureOf(id, t.whole.Object)
			encoded, err := picture.EncodePNG16(ctx, p.Pixels, p.Width, p.Height)
			if err != nil {
				return nil, err
			}
			data = append(data, encoded)
		}
		return learning.WriteNamed(base, fresh, Suffixes, data)
	})
}
