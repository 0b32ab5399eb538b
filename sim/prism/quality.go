package prism

import (
	"context"

	"prismtop/profiles"
)

// Quality compares the newest output with the truth on the object's window
// (spec/prism.md §6), on a GPU if that has it. The only errors are that of a context that ends first and that of the
// device.
func (r *Reconstruction) Quality(ctx context.Context) (profiles.Values, error) {
	if r.ComparesOnDevice() {
		return r.qualityOnDevice(ctx)
	}
	output, err := r.newest()
	if err != nil {
		return profiles.NoValues(), err
	}
	return r.QualityOf(ctx, output)
}

// ComparesOnDevice reports whether Quality of the newest output is computed on a GPU.
func (r *Reconstruction) ComparesOnDevice() bool {
	return r.comparer != nil && r.program != nil && r.program.passed
}

// QualityOn is Quality on the GPU, which ComparesOnDevice must report, or on the processor, to which the output is
// copied: for measuring what the GPU saves.
func (r *Reconstruction) QualityOn(ctx context.Context, gpu bool) (profiles.Values, error) {
	if gpu {
		return r.qualityOnDevice(ctx)
	}
	r.hasOutput = false
	output, err := r.newest()
	if err != nil {
		return profiles.NoValues(), err
	}
	return r.QualityOf(ctx, output)
}

func (r *Reconstruction) qualityOnDevice(ctx context.Context) (profiles.Values, error) {
	q, err := r.comparer.compare(ctx, r.program)
	if err == nil {
		err = r.failure()
	}
	return qualities(q, err), err
}

// SavedQuality is Quality of what the newest Save has written (finalOutput): of the weights after the newest update,
// where the newest output is of those before it.
func (r *Reconstruction) SavedQuality() profiles.Values { return r.saved }

// QualityOf is Quality of another output, [N, N]. The only error is that of a context that ends first.
func (r *Reconstruction) QualityOf(ctx context.Context, output []float32) (profiles.Values, error) {
	values, err := r.truth.compare(ctx, output, &r.settings)
	if r.system.samples > 0 {
		values[SeriesCoverage] = r.system.Coverage()
	}
	return values, err
}

// Picture returns a copy of the newest output, or of the object, on the object's
// window. It is nil for an object that is only measured, and if the device failed: the next operation returns the
// error.
func (r *Reconstruction) Picture(id int) *profiles.Picture {
	if id == PictureTruth && r.truth.unknown() {
		return nil
	}
	if id == PictureTruth {
		return r.settings.crop(id, r.truth.object.Amplitude)
	}
	output, err := r.newest()
	if err != nil {
		r.report(err)
		return nil
	}
	return r.settings.crop(id, output)
}
