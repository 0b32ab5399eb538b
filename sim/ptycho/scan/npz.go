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

// How the numbers of patterns are read.
const (
	AsAmplitude = "amplitude" // as they are, whatever their type: what PtychoPINN's loader does
	AsIntensity = "intensity" // their square roots
)

// ReadOptions say how a file is read.
type ReadOptions struct {
	As     string  // AsAmplitude or AsIntensity
	Factor float64 // Scan.Factor
}

// Read reads a scan from an NPZ file by PtychoPINN's schema. Patterns may be stored by
// either axis first, and are read as amplitudes or as intensities. An error
// names the file, the array, and what would be right, or is that of ctx if it ends first. Choices that were made are in
// the scan's notes, the factor of its patterns in that of Chosen and of NoteFactor.
func Read(ctx context.Context, path string, o ReadOptions) (*Scan, error) {
	s, err := npy.ReadArchive(ctx, path, func(a *npy.Archive) (*Scan, error) { return read(a, o) })
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("data %s: %w", path, err)
	}
	return s, err
}

// Chosen reads the scan of settings: of a file, of which count positions are drawn, patterns of size×size.
func Chosen(ctx context.Context, path string, o ReadOptions, size, count int, seed uint64) (*Scan, error) {
	s, err := Read(ctx, path, o)
	if err != nil {
		return nil, err
	}
	all := len(s.X)
	switch {
	case s.Size != size:
		return nil, fmt.Errorf("data %s: has patterns of %d×%[2]d, not of size = %d: set size = %[2]d", path, s.Size,
			size)
	case all < count:
		return nil, fmt.Errorf("data %s: has %d patterns, fewer than positions = %d: set positions = %[2]d", path,
			all, count)
	}
	if s, err = s.Sample(count, seed); err == nil && all > count {
		s.Notes = append(slices.Clone(s.Notes), fmt.Sprintf("%d of the %d patterns, drawn by the setting positions",
			count, all))
	}
	if err == nil {
		err = s.NoteFactor()
	}
	return s, err
}

// NoteFactor adds the factor of the amplitudes to the notes.
func (s *Scan) NoteFactor() error {
	factor, err := s.Normalisation()
	if err != nil {
		return err
	}
	why := "by PtychoPINN's rule: the mean sum of their squares becomes (N/2)²"
	if s.Factor > 0 {
		why = "the data_factor"
	}
	s.Notes = append(slices.Clip(s.Notes), fmt.Sprintf("amplitudes are multiplied by %.4g, %s", factor, why))
	return nil
}

// read reads a scan from an archive.
func read(from *npy.Archive, o ReadOptions) (s *Scan, err error) {
	a := archive{from}
	for _, key := range []string{xKey, yKey, probeKey} {
		if !a.Has(key) {
			return nil, fmt.Errorf("has no array %s: must have %s or %s, and %s, %s and %s", key, diffractionKey,
				oldDiffractionKey, xKey, yKey, probeKey)
		}
	}
	s = &Scan{Factor: o.Factor}
	if s.X, err = a.coordinates(xKey); err != nil {
		return nil, err
	}
	if s.Y, err = a.coordinates(yKey); err != nil {
		return nil, err
	}
	if len(s.X) != len(s.Y) {
		return nil, fmt.Errorf("%s has %d numbers and %s %d: must have one for each pattern", xKey, len(s.X), yKey,
			len(s.Y))
	}
	if err := a.diffraction(s, o.As); err != nil {
		return nil, err
	}
	probe, modes, err := a.plane(probeKey)
	if err != nil {
		return nil, err
	}
	if probe.Height != s.Size || probe.Width != s.Size {
		return nil, fmt.Errorf("%s is %d×%d: must have the size of the patterns, %d×%[4]d", probeKey, probe.Height,
			probe.Width, s.Size)
	}
	s.Probe = probe.Values
	if len(modes) > 1 {
		all := 0.0
		for _, power := range modes {
			all += power
		}
		s.Notes = append(s.Notes, fmt.Sprintf("%s has %d modes: the first, %.0f %% of the intensity, is the probe",
			probeKey, len(modes), 100*modes[0]/all))
	}
	if a.Has(objectKey) {
		object, slices, err := a.plane(objectKey)
		if err != nil {
			return nil, err
		}
		if s.Object = object; len(slices) > 1 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s has %d slices: the first is compared", objectKey, len(slices)))
		}
	}
	return s, nil
}

// archive is a file being read.
type archive struct{ *npy.Archive }

// coordinates reads the positions along one axis.
func (a *archive) coordinates(key string) (all []float64, err error) {
	finite := true
	err = a.Numbers(key, func(h npy.Header) error {
		if e, _ := npy.ElementOf(h.Type); len(h.Shape) != 1 || h.Shape[0] < 1 || h.Shape[0] > maxPositions ||
			e.Complex {
			return fmt.Errorf("has the shape (%s) of %s: must be a list of 1 to %d real numbers",
				npy.JoinShape(h.Shape), visible.Text(h.Type), maxPositions)
		}
		return nil
	}, func(v float64) {
		finite = finite && math.Abs(v) < maxCoordinate
		all = append(all, v)
	})
	if err == nil && !finite {
		err = fmt.Errorf("array %s: a position is not finite or beyond ±%g: must be pixels of the object", key,
			float64(maxCoordinate))
	}
	return all, err
}

// maxCoordinate bounds positions, in pixels.
const maxCoordinate = 1 << 24

// diffraction reads the patterns. Their order of axes is recognised by the number of
// positions.
func (a *archive) diffraction(s *Scan, as string) error {
	key := diffractionKey
	if !a.Has(key) {
		if a.Has(oldDiffractionKey) {
			key = oldDiffractionKey
		}
	}
	var place func(i int) int
	integers, at := false, 0
	err := a.Numbers(key, func(h npy.Header) (err error) {
		place, err = s.layout(h)
		e, _ := npy.ElementOf(h.Type)
		if err == nil && e.Complex {
			err = fmt.Errorf("has numbers of type %s: must be real amplitudes or intensities", visible.Text(h.Type))
		}
		integers = !strings.Contains(h.Type, "f")
		return err
	}, func(v float64) {
		if as == AsIntensity {
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
	doubts, err := s.sane()
	if err != nil {
		return fmt.Errorf("array %s: %w", key, err)
	}
	switch {
	case as == AsIntensity:
		s.Notes = append(s.Notes, key+" is read as intensities, whose square roots are the amplitudes")
	case integers:
		s.Notes = append(s.Notes, key+" has integers, read as amplitudes as PtychoPINN's loader does; data_as = "+
			"intensity takes their square roots")
	}
	for _, doubt := range doubts {
		s.Notes = append(s.Notes, key+" "+doubt)
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
	wrong := fmt.Errorf("has the shape (%s): must be (%d, N, N) or (N, N, %[2]d) for %[2]d positions",
		npy.JoinShape(h.Shape), n)
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

// sane returns an error for numbers that no amplitudes can be, and what PtychoPINN's data contract, whose rules are of
// 64×64 pixels, makes doubtful.
func (s *Scan) sane() (doubts []string, err error) {
	n := s.Size
	largest, aside, total := 0.0, 0.0, 0.0 // aside of the direct beam
	for i, v := range s.Diffraction {
		if !(v >= 0) || math.IsInf(float64(v), 0) {
			return nil, fmt.Errorf("pattern %d has the value %g: must be 0 or more, and finite", i/(n*n), v)
		}
		largest, total = max(largest, float64(v)), total+float64(v)
		if math.Hypot(float64(i/n%n-n/2), float64(i%n-n/2)) > float64(n)/8 {
			aside = max(aside, float64(v))
		}
	}
	mean, scale := total/float64(len(s.Diffraction)), max(1, float64(n)/64)
	if mean == 0 {
		return nil, errors.New("is 0 everywhere: must be amplitudes")
	}
	if largest >= largestAmplitude*scale {
		doubts = append(doubts, fmt.Sprintf("has values up to %.4g, not normalised to below %g", largest,
			largestAmplitude*scale))
	}
	switch {
	case largest/mean >= beamOverMean*scale:
		doubts = append(doubts, fmt.Sprintf("has values up to %.4g times the mean: are they intensities? data_as = "+
			"intensity takes their square roots", largest/mean))
	case aside/mean >= largestOverMean*scale:
		doubts = append(doubts, fmt.Sprintf("has values up to %.4g times the mean aside of the centre: is the direct "+
			"beam at [%d, %d], and no pixel hot?", aside/mean, n/2, n/2))
	}
	return doubts, nil
}

// maxModes bounds the planes of a probe or an object of several.
const maxModes = 64

// plane reads a complex plane, or the first of several, whose axis comes first, or last if the others are equal. powers
// are the sums of squares of all.
func (a *archive) plane(key string) (o *Object, powers []float64, err error) {
	o = &Object{}
	var parts []float64
	var sides, axes [3]int // of plane, row, column: their lengths, and their axes in the file
	fortran, last := false, false
	err = a.Numbers(key, func(h npy.Header) error {
		e, _ := npy.ElementOf(h.Type)
		shape := slices.Clone(h.Shape)
		if len(shape) == 2 {
			shape = append([]int64{1}, shape...)
		}
		if last = len(shape) == 3 && len(h.Shape) == 3 && shape[0] == shape[1] && shape[1] != shape[2] &&
			shape[2] <= maxModes; last {
			shape = []int64{shape[2], shape[0], shape[1]}
		}
		if len(shape) != 3 || !e.Complex || shape[0] < 1 || shape[0] > maxModes ||
			shape[0]*min(shape[1], maxPlane)*min(shape[2], maxPlane) > maxPlane*maxPlane || shape[1] < 1 ||
			shape[2] < 1 || shape[1] > maxPlane || shape[2] > maxPlane {
			return fmt.Errorf("has the shape (%s) of %s: must be a plane of complex numbers, of %d×%[3]d at most, or "+
				"up to %d of them", npy.JoinShape(h.Shape), visible.Text(h.Type), maxPlane, maxModes)
		}
		sides, fortran = [3]int{int(shape[0]), int(shape[1]), int(shape[2])}, h.Fortran
		return nil
	}, func(v float64) { parts = append(parts, v) })
	if err != nil {
		return nil, nil, err
	}
	axes = [3]int{0, 1, 2}
	if last {
		axes = [3]int{1, 2, 0}
	}
	if fortran {
		slices.Reverse(axes[:])
	}
	o.Height, o.Width = sides[1], sides[2]
	o.Values, powers = make([]complex64, sides[1]*sides[2]), make([]float64, sides[0])
	var at [3]int
	for i := 0; i < len(parts); i += 2 {
		re, im := parts[i], parts[i+1]
		if !(math.Abs(re) <= math.MaxFloat32 && math.Abs(im) <= math.MaxFloat32) {
			return nil, nil, fmt.Errorf("array %s: the value at [%d, %d] is not finite", key, at[1], at[2])
		}
		if powers[at[0]] += re*re + im*im; at[0] == 0 {
			o.Values[at[1]*o.Width+at[2]] = complex(float32(re), float32(im))
		}
		for k := 2; k >= 0; k-- {
			if at[axes[k]]++; at[axes[k]] < sides[axes[k]] {
				break
			}
			at[axes[k]] = 0
		}
	}
	return o, powers, nil
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
