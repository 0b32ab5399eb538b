package prism

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
	"prismtop/sim/npy"
	"prismtop/sim/optics"
	"prismtop/sim/picture"
)

// The arrays of a file of measurements (docs/pictures.md). It has one of the first three.
const (
	amplitudesKey  = "amplitude" // [n, N, N], of the field in the image plane behind each aperture
	intensitiesKey = "intensity" // the same, squared
	fieldsKey      = "field"     // the same, complex
	centresKey     = "centres"   // [n, 2], row and column of each aperture's centre, in pixels from DC
	truthKey       = "truth"     // [S, S] or [N, N], the object's amplitude, if it is known
)

// Measured are measurements of an instrument, which stand for those that a run simulates.
type Measured struct {
	Amplitudes []float32 // [n, N, N]
	Centres    []optics.Point
	Known      bool // the truth
}

// noTruth is why the quality of a reconstruction from measurements is absent.
const noTruth = "the measurements have no truth to compare with"

// maxMeasured bounds the numbers of a file of measurements, which become 4 bytes each.
const maxMeasured = 1 << 31

// loadMeasured reads the file of measurements of the settings, and the object as far as it is known.
func loadMeasured(ctx context.Context, s *Settings) (*Measured, *picture.Object, error) {
	window := optics.ObjectWindow(s.Size, s.ObjectSize)
	object := &picture.Object{
		Name: filepath.Base(s.Measured), Size: s.Size, ObjectSize: s.ObjectSize, Offset: window.Top,
		Amplitude: make([]float32, s.Size*s.Size),
	}
	m, err := npy.ReadArchive(ctx, s.Measured, func(a *npy.Archive) (*Measured,
		error) {
		return readMeasured(a, s, object)
	})
	if err != nil && ctx.Err() == nil {
		err = &settings.KeyError{Key: measuredKey, Err: fmt.Errorf("measurements %s: %w", s.Measured, err)}
	}
	return m, object, err
}

func readMeasured(a *npy.Archive, s *Settings, object *picture.Object) (*Measured, error) {
	m := &Measured{}
	if err := m.readCentres(a, s); err != nil {
		return nil, err
	}
	key := ""
	for _, k := range []string{amplitudesKey, intensitiesKey, fieldsKey} {
		switch {
		case !a.Has(k):
		case key != "":
			return nil, fmt.Errorf("has both %s and %s: must have one of them", key, k)
		default:
			key = k
		}
	}
	if key == "" {
		return nil, fmt.Errorf("has no measurements: must have an array %s, %s or %s", amplitudesKey, intensitiesKey,
			fieldsKey)
	}
	if err := m.readPlanes(a, key, s); err != nil {
		return nil, err
	}
	if all := len(m.Centres); s.Samples > all {
		return nil, fmt.Errorf("has %d measurements, fewer than samples = %d: set samples = %[1]d", all, s.Samples)
	} else if s.Samples < all {
		object.Notes = append(object.Notes, fmt.Sprintf("the first %d of the %d measurements, by the setting samples",
			s.Samples, all))
	}
	largest := float32(0)
	for _, v := range m.Amplitudes {
		largest = max(largest, v)
	}
	if largest == 0 {
		return nil, fmt.Errorf("array %s: is 0 everywhere", key)
	}
	object.Notes = append(object.Notes,
		fmt.Sprintf("measurements by %s, amplitudes up to %.4g; the telescope is not simulated", key, largest))
	m.Centres = m.Centres[:s.Samples]
	m.Amplitudes = m.Amplitudes[:s.Samples*s.Size*s.Size]
	if !a.Has(truthKey) {
		return m, nil
	}
	m.Known = true
	return m, readTruth(a, s, object)
}

// readCentres reads where the apertures are.
func (m *Measured) readCentres(a *npy.Archive, s *Settings) error {
	var all []float64
	half := float64(s.Size) / 2
	err := a.Numbers(centresKey, func(h npy.Header) error {
		e, _ := npy.ElementOf(h.Type)
		if len(h.Shape) != 2 || h.Shape[1] != 2 || h.Shape[0] < 1 || h.Shape[0] > maxSamples || e.Complex || h.Fortran {
			return fmt.Errorf("has the shape (%s) of %s: must be (n, 2) of real numbers, row and column from DC, "+
				"stored by rows", npy.JoinShape(h.Shape), visible.Text(h.Type))
		}
		return nil
	}, func(v float64) { all = append(all, v) })
	if err != nil {
		return err
	}
	for i := 0; i < len(all); i += 2 {
		if !(math.Abs(all[i]) <= half && math.Abs(all[i+1]) <= half) {
			return fmt.Errorf("array %s: number %d is at (%g, %g): must be within ±%g pixels of DC", centresKey, i/2,
				all[i], all[i+1], half)
		}
		m.Centres = append(m.Centres, optics.Point{Y: all[i], X: all[i+1]})
	}
	return nil
}

// readPlanes reads the measurements as amplitudes.
func (m *Measured) readPlanes(a *npy.Archive, key string, s *Settings) error {
	var err error
	real, half := 0.0, false
	refused := a.Numbers(key, func(h npy.Header) error {
		e, _ := npy.ElementOf(h.Type)
		n, side := int64(len(m.Centres)), int64(s.Size)
		switch {
		case len(h.Shape) != 3 || h.Shape[0] != n || h.Shape[1] != h.Shape[2] || h.Fortran:
			return fmt.Errorf("has the shape (%s): must be (%d, N, N) for %[2]d centres, stored by rows",
				npy.JoinShape(h.Shape), n)
		case h.Shape[1] != side:
			return fmt.Errorf("has planes of %d×%[1]d, not of size = %d: set size = %[1]d, or pad them", h.Shape[1],
				side)
		case e.Complex != (key == fieldsKey):
			return fmt.Errorf("has numbers of type %s: must be complex for %s and real for %s and %s",
				visible.Text(h.Type), fieldsKey, amplitudesKey, intensitiesKey)
		case n*side*side > maxMeasured:
			return fmt.Errorf("has %d planes of %d×%[2]d: must be fewer than %d numbers", n, side, int64(maxMeasured))
		}
		m.Amplitudes = make([]float32, 0, n*side*side)
		return nil
	}, func(v float64) {
		switch {
		case key == fieldsKey && !half:
			real, half = v, true
			return
		case key == fieldsKey:
			v, half = math.Hypot(real, v), false
		case !(v >= 0) && err == nil:
			err = fmt.Errorf("array %s: number %d is %g: must be 0 or more", key, len(m.Amplitudes), v)
		case key == intensitiesKey:
			v = math.Sqrt(v)
		}
		if !(v <= math.MaxFloat32) && err == nil {
			err = fmt.Errorf("array %s: number %d is %g: must be finite in float32", key, len(m.Amplitudes), v)
		}
		m.Amplitudes = append(m.Amplitudes, float32(v))
	})
	if refused != nil {
		return refused
	}
	return err
}

// readTruth reads the object's amplitude into the middle of its field.
func readTruth(a *npy.Archive, s *Settings, object *picture.Object) error {
	side, offset, at := 0, 0, 0
	finite := true
	err := a.Numbers(truthKey, func(h npy.Header) error {
		e, _ := npy.ElementOf(h.Type)
		if len(h.Shape) != 2 || h.Shape[0] != h.Shape[1] || e.Complex || h.Fortran || h.Shape[0] != int64(s.Size) &&
			h.Shape[0] != int64(s.ObjectSize) {
			return fmt.Errorf("has the shape (%s) of %s: must be %d×%[3]d or %d×%[4]d real amplitudes, stored by rows",
				npy.JoinShape(h.Shape), visible.Text(h.Type), s.ObjectSize, s.Size)
		}
		if side = int(h.Shape[0]); side < s.Size {
			offset = object.Offset
		}
		return nil
	}, func(v float64) {
		finite = finite && v >= 0 && v <= math.MaxFloat32
		object.Amplitude[(offset+at/side)*s.Size+offset+at%side] = float32(v)
		at++
	})
	if err == nil && !finite {
		err = fmt.Errorf("array %s: must be finite amplitudes of 0 or more", truthKey)
	}
	return err
}

// samples are the apertures of the measurements, one each.
func (m *Measured) samples() [][]optics.Point {
	all := make([][]optics.Point, len(m.Centres))
	for i := range all {
		all[i] = m.Centres[i : i+1 : i+1]
	}
	return all
}

// errNotMeasured reports apertures that no measurement has.
var errNotMeasured = errors.New("measuring: apertures that were not measured")

// copyTo writes the measurement of a sample that samples returned.
func (m *Measured) copyTo(dst []float32, centres []optics.Point) error {
	for i := range m.Centres {
		if &m.Centres[i] == &centres[0] {
			copy(dst, m.Amplitudes[i*len(dst):])
			return nil
		}
	}
	return errNotMeasured
}
