package prism

import (
	"context"

	"prismtop/profiles"
	"prismtop/sim/optics"
)

// window is the part of the field used for metrics and pictures: the object's
// window, or with --faithful the one that PRISM crops (docs/faithful.md).
func (r *Reconstruction) window() optics.Window {
	n, s := r.settings.Size, r.settings.ObjectSize
	if r.settings.Faithful {
		return optics.PRISMWindow(n, s)
	}
	return optics.ObjectWindow(n, s)
}

// Quality compares the newest output with the truth on the object's window
// (spec/prism.md §6). The only errors are that of a context that ends first and that of the device.
func (r *Reconstruction) Quality(ctx context.Context) (profiles.Values, error) {
	output, err := r.newest()
	if err != nil {
		return profiles.NoValues(), err
	}
	return r.QualityOf(ctx, output)
}

// QualityOf is Quality of another output, [N, N]. The only error is that of a context that ends first.
func (r *Reconstruction) QualityOf(ctx context.Context, output []float32) (profiles.Values, error) {
	v := profiles.NoValues()
	q, err := r.metrics.Compare(ctx, output, r.object.Amplitude, r.settings.Size, r.window())
	if err == nil {
		v[SeriesPSNR], v[SeriesSSIM], v[SeriesRMSE] = q.PSNR, q.SSIM, q.RMSE
	}
	return v, err
}

// Picture returns a copy of the newest output, or of the object, on the object's
// window. It is nil if the device failed: the next operation returns the error.
func (r *Reconstruction) Picture(id int) *profiles.Picture {
	if id == PictureTruth {
		return r.crop(id, r.object.Amplitude)
	}
	output, err := r.newest()
	if err != nil {
		r.report(err)
		return nil
	}
	return r.crop(id, output)
}

func (r *Reconstruction) crop(id int, plane []float32) *profiles.Picture {
	w := r.window()
	p := &profiles.Picture{ID: id, Width: w.Size, Height: w.Size, Pixels: make([]float32, w.Size*w.Size)}
	w.Crop(p.Pixels, plane, r.settings.Size)
	return p
}
