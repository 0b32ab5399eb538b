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
	object  *picture.Object
	metrics optics.Metrics
	hash    string // of the amplitudes, for checkpoints; empty until the first
}

// compare returns how near a plane, [N, N], is to the object on its window (spec/prism.md §6).
func (t *truth) compare(ctx context.Context, plane []float32, s *Settings) (profiles.Values, error) {
	v := profiles.NoValues()
	q, err := t.metrics.Compare(ctx, plane, t.object.Amplitude, s.Size, s.window())
	if err == nil {
		v[SeriesPSNR], v[SeriesSSIM], v[SeriesRMSE] = q.PSNR, q.SSIM, q.RMSE
	}
	return v, err
}

// sum returns the SHA-256 sum of the object's amplitudes, in hexadecimal.
func (t *truth) sum(ctx context.Context) (string, error) {
	if t.hash == "" {
		sum := NewMeasurementCache(0, false, nil).hashPicture(ctx, t.object.Amplitude)
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
