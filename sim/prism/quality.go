package prism

import (
	"context"

	"prismtop/profiles"
	"prismtop/sim/optics"
)

// window is the part of the field that metrics and pictures show: the object's,
// or with --faithful the one that PRISM crops (docs/faithful.md).
func (r *Reconstruction) window() optics.Window {
	n, s := r.settings.Size, r.settings.ObjectSize
	if r.settings.Faithful {
		return optics.PRISMWindow(n, s)
	}
	return optics.ObjectWindow(n, s)
}

// Quality compares the newest output with the truth on the object's window
// (spec/prism.md §6). The error is that of a context that ends before.
func (r *Reconstruction) Quality(ctx context.Context) (profiles.Quality, error) {
	return r.metrics.Compare(ctx, r.Output(), r.object.Amplitude, r.settings.Size, r.window())
}

// Picture is a copy of the newest output on the object's window.
func (r *Reconstruction) Picture() *profiles.Picture { return r.crop(r.Output()) }

// Truth is the object on its window.
func (r *Reconstruction) Truth() *profiles.Picture { return r.crop(r.object.Amplitude) }

func (r *Reconstruction) crop(plane []float32) *profiles.Picture {
	w := r.window()
	p := &profiles.Picture{Width: w.Size, Height: w.Size, Pixels: make([]float32, w.Size*w.Size)}
	w.Crop(p.Pixels, plane, r.settings.Size)
	return p
}
