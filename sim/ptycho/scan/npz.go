package scan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/profiles/unit"
	"prismtop/profiles/visible"
	"prismtop/sim/npy"
)

// The arrays of PtychoPINN's NPZ files (spec/ptycho-cyto.md §A3.1). Others, such as a
// pickled _metadata, are not read.
const (
	diffractionKey, oldDiffractionKey = "diff3d", "diffraction"
	xKey, yKey                        = "xcoords", "ycoords"
	probeKey, objectKey               = "probeGuess", "objectGuess"
)

// maxData bounds the patterns of a file, as the float32 that they become, against damaged
// and compressed files; maxPlane bounds the sides of the other arrays.
const (
	maxData  = 1 << 32
	maxPlane = 1 << 13
)

// Bounds of amplitudes of 64×64 pixels, by which intensities, hot pixels and other scales
// are noticed. They grow with the side, as the central pixel of the far field does. The
// direct beam around it may exceed the mean by more: it does for a smooth object, such as
// those of Simulate.
const (
	largestAmplitude = 10
	largestOverMean  = 100
	beamOverMean     = 1000
)

// Read reads a scan from an NPZ file by PtychoPINN's schema. Patterns may be stored by
// either axis first, as amplitudes of real numbers or as intensities of integers. An error
// names the file, the array, and what would be right, or is that of ctx if it ends first.
func Read(ctx context.Context, path string) (*Scan, error) {
	s, err := await.Result(ctx, func() (*Scan, error) {
		f, info, err := inputfile.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return read(ctx, inputfile.ReaderAt{Context: ctx, Source: f}, info.Size())
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("data %s: %w", path, err)
	}
	return s, nil
}

// read reads a scan from an archive.
func read(ctx context.Context, f io.ReaderAt, size int64) (*Scan, error) {
	head := make([]byte, 4)
	if n, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	} else if !npy.IsArchive(head[:n]) {
		return nil, errors.New("is not an NPZ archive")
	}
	entries, err := npy.OpenArchive(f, size)
	if err != nil {
		return nil, err
	}
	a := archive{ctx: ctx, entries: map[string]npy.Entry{}}
	for _, e := range entries {
		if _, twice := a.entries[e.Name()]; twice {
			return nil, fmt.Errorf("%s is in the file twice", visible.Text(e.Name()))
		}
		a.entries[e.Name()] = e
	}
	s := &Scan{}
	if s.X, err = a.coordinates(xKey); err != nil {
		return nil, err
	}
	if s.Y, err = a.coordinates(yKey); err != nil {
		return nil, err
	}
	if len(s.X) != len(s.Y) {
		return nil, fmt.Errorf("%s has %d numbers and %s %d: must have one for each pattern", xKey, len(s.X), yKey, len(s.Y))
	}
	if err := a.diffraction(s); err != nil {
		return nil, err
	}
	probe, err := a.plane(probeKey)
	if err != nil {
		return nil, err
	}
	if probe.Height != s.Size || probe.Width != s.Size {
		return nil, fmt.Errorf("%s is %d×%d: must have the size of the patterns, %d×%[4]d", probeKey, probe.Height, probe.Width, s.Size)
	}
	s.Probe = probe.Values
	if _, ok := a.entries[objectKey]; ok {
		if s.Object, err = a.plane(objectKey); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// archive is a file being read.
type archive struct {
	ctx     context.Context
	entries map[string]npy.Entry
}

// array passes the numbers of an array to take, in the order of the file, after accept has
// seen its header.
func (a *archive) array(key string, accept func(npy.Header) error, take func(float64)) error {
	entry, ok := a.entries[key]
	if !ok {
		return fmt.Errorf("has no array %s: must have %s, %s, %s and %s", key, diffractionKey, xKey, yKey, probeKey)
	}
	err := entry.Read(func(r io.Reader, _ int64) error {
		r = inputfile.Reader{Context: a.ctx, Source: r}
		h, _, err := npy.ReadHeader(r)
		if err != nil {
			return err
		}
		e, known := npy.ElementOf(h.Type)
		bytes, bounded := h.Bytes()
		if !known || !bounded {
			return fmt.Errorf("elements of type %s, or a shape (%s), that are not supported", visible.Text(h.Type), npy.JoinShape(h.Shape))
		}
		if err := accept(h); err != nil {
			return err
		}
		chunk := make([]byte, 1<<16)
		for bytes > 0 {
			part := chunk[:min(int64(len(chunk)), bytes)]
			if _, err := io.ReadFull(r, part); err != nil {
				if a.ctx.Err() == nil {
					err = fmt.Errorf("damaged NPZ: the data end too early: %w", err)
				}
				return err
			}
			bytes -= int64(len(part))
			for ; len(part) > 0; part = part[e.Size:] {
				take(e.Read(part))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("array %s: %w", key, err)
	}
	return nil
}

// coordinates reads the positions along one axis.
func (a *archive) coordinates(key string) (all []float64, err error) {
	finite := true
	err = a.array(key, func(h npy.Header) error {
		if e, _ := npy.ElementOf(h.Type); len(h.Shape) != 1 || h.Shape[0] < 1 || h.Shape[0] > maxPositions || e.Complex {
			return fmt.Errorf("has the shape (%s) of %s: must be a list of 1 to %d real numbers", npy.JoinShape(h.Shape), visible.Text(h.Type), maxPositions)
		}
		return nil
	}, func(v float64) {
		finite = finite && math.Abs(v) < maxCoordinate
		all = append(all, v)
	})
	if err == nil && !finite {
		err = fmt.Errorf("array %s: a position is not finite or beyond ±%g: must be pixels of the object", key, float64(maxCoordinate))
	}
	return all, err
}

// maxCoordinate bounds positions, in pixels.
const maxCoordinate = 1 << 24

// diffraction reads the patterns. Their order of axes is recognised by the number of
// positions.
func (a *archive) diffraction(s *Scan) error {
	key := diffractionKey
	if _, ok := a.entries[key]; !ok {
		if _, old := a.entries[oldDiffractionKey]; old {
			key = oldDiffractionKey
		}
	}
	var place func(i int) int
	counts, at := false, 0
	err := a.array(key, func(h npy.Header) (err error) {
		place, err = s.layout(h)
		e, _ := npy.ElementOf(h.Type)
		if err == nil && e.Complex {
			err = fmt.Errorf("has numbers of type %s: must be real amplitudes, or intensities as integers", visible.Text(h.Type))
		}
		counts = !strings.Contains(h.Type, "f")
		return err
	}, func(v float64) {
		if counts {
			v = math.Copysign(math.Sqrt(math.Abs(v)), v)
		}
		if s.Diffraction == nil {
			s.Diffraction = make([]float32, s.Size*s.Size*len(s.X))
		}
		s.Diffraction[place(at)] = float32(v)
		at++
	})
	if err != nil {
		return err
	}
	if err := s.sane(counts); err != nil {
		return fmt.Errorf("array %s: %w", key, err)
	}
	return nil
}

// layout finds the axes of an array of patterns, sets the scan's size, and returns where
// each number of the file goes.
func (s *Scan) layout(h npy.Header) (func(i int) int, error) {
	shape, n := slices.Clone(h.Shape), int64(len(s.X))
	if len(shape) == 4 && shape[3] == 1 {
		shape = shape[:3]
	}
	wrong := fmt.Errorf("has the shape (%s): must be (%d, N, N) or (N, N, %[2]d) for %[2]d positions", npy.JoinShape(h.Shape), n)
	if len(shape) != 3 {
		return nil, wrong
	}
	first := shape[0] == n && shape[1] == shape[2]
	if !first && (shape[2] != n || shape[0] != shape[1]) {
		return nil, wrong
	}
	side := shape[1]
	switch {
	case side < 8 || side > maxSide/2 || side%2 != 0:
		return nil, fmt.Errorf("has patterns of %d×%[1]d: must be of an even side from 8 to %d", side, maxSide/2)
	case n > maxData/4/(side*side):
		return nil, fmt.Errorf("has %d patterns of %d×%[2]d: must be at most %s", n, side, unit.Limit(maxData))
	}
	s.Size = int(side)
	size, count := s.Size, len(s.X)
	// The strides of pattern, row and column in the file.
	strides := [3]int{size * size, size, 1}
	switch {
	case first && h.Fortran:
		strides = [3]int{1, count, count * size}
	case !first && h.Fortran:
		strides = [3]int{size * size, 1, size}
	case !first:
		strides = [3]int{1, size * count, count}
	}
	if strides == [3]int{size * size, size, 1} {
		return func(i int) int { return i }, nil
	}
	sides := [3]int{count, size, size}
	return func(i int) int {
		at := [3]int{}
		for axis, stride := range strides {
			at[axis] = i / stride % sides[axis]
		}
		return (at[0]*size+at[1])*size + at[2]
	}, nil
}

// sane checks amplitudes by the rules of PtychoPINN's data contract, which are of 64×64
// pixels. The number of photons sets the scale of intensities that were counted.
func (s *Scan) sane(counts bool) error {
	n := s.Size
	largest, aside, total := 0.0, 0.0, 0.0 // aside of the direct beam
	for i, v := range s.Diffraction {
		if !(v >= 0) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("pattern %d has the value %g: must be 0 or more, and finite", i/(n*n), v)
		}
		largest, total = max(largest, float64(v)), total+float64(v)
		if math.Hypot(float64(i/n%n-n/2), float64(i%n-n/2)) > float64(n)/8 {
			aside = max(aside, float64(v))
		}
	}
	mean, scale := total/float64(len(s.Diffraction)), max(1, float64(n)/64)
	switch {
	case mean == 0:
		return errors.New("is 0 everywhere: must be amplitudes")
	case counts:
		return nil
	case largest >= largestAmplitude*scale:
		return fmt.Errorf("has values up to %.4g: must be amplitudes below %g, the square roots of intensities, scaled", largest, largestAmplitude*scale)
	case largest/mean >= beamOverMean*scale:
		return fmt.Errorf("has values up to %.4g times the mean: must be amplitudes, below %g times; are they intensities?", largest/mean, beamOverMean*scale)
	case aside/mean >= largestOverMean*scale:
		return fmt.Errorf("has values up to %.4g times the mean aside of the centre: must be below %g times; is the direct beam at [%d, %d], and no pixel hot?", aside/mean, largestOverMean*scale, n/2, n/2)
	}
	return nil
}

// plane reads a complex plane.
func (a *archive) plane(key string) (*Object, error) {
	o := &Object{}
	var parts []float64
	fortran := false
	err := a.array(key, func(h npy.Header) error {
		e, _ := npy.ElementOf(h.Type)
		if len(h.Shape) != 2 || !e.Complex || h.Shape[0] < 1 || h.Shape[1] < 1 || h.Shape[0] > maxPlane || h.Shape[1] > maxPlane {
			return fmt.Errorf("has the shape (%s) of %s: must be a plane of complex numbers, of %d×%[3]d at most", npy.JoinShape(h.Shape), visible.Text(h.Type), maxPlane)
		}
		o.Height, o.Width, fortran = int(h.Shape[0]), int(h.Shape[1]), h.Fortran
		return nil
	}, func(v float64) { parts = append(parts, v) })
	if err != nil {
		return nil, err
	}
	o.Values = make([]complex64, len(parts)/2)
	for i := range o.Values {
		at := i
		if fortran {
			at = i%o.Height*o.Width + i/o.Height
		}
		re, im := parts[2*i], parts[2*i+1]
		if !(math.Abs(re) <= math.MaxFloat32 && math.Abs(im) <= math.MaxFloat32) {
			return nil, fmt.Errorf("array %s: the value at [%d, %d] is not finite", key, at/o.Width, at%o.Width)
		}
		o.Values[at] = complex(float32(re), float32(im))
	}
	return o, nil
}

// Write writes a scan to an NPZ file by PtychoPINN's schema: the whole file, or none.
func Write(path string, s *Scan) error {
	return atomicfile.WriteFrom(path, fs.FileMode(0o666), func(w io.Writer) error {
		archive := npy.NewWriter(w)
		n, all := s.Size, []int{len(s.X)}
		errs := []error{
			npy.Add(archive, diffractionKey, []int{len(s.X), n, n}, s.Diffraction),
			npy.Add(archive, xKey, all, s.X), npy.Add(archive, yKey, all, s.Y),
			npy.Add(archive, xKey+"_start", all, s.X), npy.Add(archive, yKey+"_start", all, s.Y),
			npy.Add(archive, probeKey, []int{n, n}, s.Probe),
		}
		if o := s.Object; o != nil {
			errs = append(errs, npy.Add(archive, objectKey, []int{o.Height, o.Width}, o.Values))
		}
		return errors.Join(append(errs, archive.Close())...)
	})
}
