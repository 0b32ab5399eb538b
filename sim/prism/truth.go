package prism

import (
	"context"
	"encoding/hex"

	"prismtop/profiles"
	"prismtop/sim/optics"
	"prismtop/sim/picture"
)

// truth is the object that is reconstructed, and the comparison with it.
type truth struct {
	object   *picture.Object
	measured *Measured // of the object; nil if they are simulated
	metrics  optics.Metrics
	hash     string // of what is reconstructed, for checkpoints; empty until the first
}

// compare returns how near a plane, [N, N], is to the object on its window (spec/prism.md §6).
func (t *truth) compare(ctx context.Context, plane []float32, s *Settings) (profiles.Values, error) {
	if t.unknown() {
		return profiles.NoValues(), ctx.Err()
	}
	q, err := t.metrics.Compare(ctx, plane, t.object.Amplitude, s.Size, s.window())
	return qualities(q, err), err
}

// qualities returns the values of the series of the quality, none after an error.
func qualities(q optics.Quality, err error) profiles.Values {
	v := profiles.NoValues()
	if err == nil {
		v[SeriesPSNR], v[SeriesSSIM], v[SeriesRMSE] = q.PSNR, q.SSIM, q.RMSE
	}
	return v
}

// unknown reports whether there are only measurements of the object.
func (t *truth) unknown() bool { return t.measured != nil && !t.measured.Known }

// sum returns the SHA-256 sum of the object's amplitudes, or of those measured, in hexadecimal.
func (t *truth) sum(ctx context.Context) (string, error) {
	if t.hash == "" {
		of := t.object.Amplitude
		if t.measured != nil {
			of = t.measured.Amplitudes
		}
		sum := NewMeasurementCache(0, false, nil).hashPicture(ctx, of)
		if err := ctx.Err(); err != nil {
			return "", err
		}
		t.hash = hex.EncodeToString(sum[:])
	}
	return t.hash, nil
}

// window is the part of the field used for metrics and pictures: the object's
// window, or with --faithful the one that PRISM crops (docs/faithful.md).
func (s *Settings) window() optics.Window {
	if s.Faithful {
		return optics.PRISMWindow(s.Size, s.ObjectSize)
	}
	return optics.ObjectWindow(s.Size, s.ObjectSize)
}

// crop returns a copy of a plane, [N, N], on the window.
func (s *Settings) crop(id int, plane []float32) *profiles.Picture {
	w := s.window()
	p := &profiles.Picture{ID: id, Width: w.Size, Height: w.Size, Pixels: make([]float32, w.Size*w.Size)}
	w.Crop(p.Pixels, plane, s.Size)
	return p
}
