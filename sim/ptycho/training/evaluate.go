package training

import (
	"context"
	"math"
	"math/cmplx"

	"prismtop/profiles"
	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/ptycho"
)

// result is what the network makes of the test groups, beside the truth.
type result struct {
	aligned *ptycho.Alignment
	values  profiles.Values
}

// assemble returns the object that the network makes of groups, at least a minibatch of them.
func (t *training) assemble(ctx context.Context, all []group) (*ptycho.Canvas, error) {
	n, size := t.settings.Batch, t.settings.Size
	id, numbers := t.objects.elements(ptycho.ObjectOutput)
	parts := make([]float32, numbers)
	objects := make([]complex64, 0, len(all)*size*size)
	for at := 0; at < len(all); at += n {
		from := min(at, len(all)-n) // the last minibatch repeats groups of the one before
		t.objects.feed(t.groups, all[from:][:n])
		if err := t.objects.Run(ctx, nn.SegmentForward, nil); err != nil {
			return nil, err
		}
		t.objects.Exe.Read(id, parts)
		if err := t.device.Failure(); err != nil {
			return nil, err
		}
		for i := 2 * (at - from) * size * size; i < len(parts); i += 2 {
			objects = append(objects, complex(parts[i], parts[i+1]))
		}
	}
	return ptycho.Reassemble(objects, size, centresOf(all))
}

// evaluate reassembles the objects of the test groups, aligns them and compares them with
// the truth. If ctx ends first, the result before stays.
func (t *training) evaluate(ctx context.Context) error {
	canvas, err := t.assemble(ctx, t.groups.test)
	if err != nil {
		return err
	}
	aligned, err := t.truth.Align(canvas)
	if err != nil {
		return err
	}
	v := profiles.NoValues()
	if t.truth.Unknown {
		t.result = &result{aligned, v}
		return nil
	}
	side := t.truth.Side
	q, err := t.device.Metrics.Compare(ctx, moduli(aligned.Values), moduli(t.truth.Values), side,
		optics.Window{Size: side})
	if err != nil {
		return err
	}
	v[SeriesPSNR], v[SeriesSSIM], v[SeriesRMSE] = q.PSNR, q.SSIM, q.RMSE
	v[SeriesPhaseError], v[SeriesObjectError] = aligned.PhaseError, 100*aligned.Error
	t.result = &result{aligned, v}
	return nil
}

// testLoss returns the mean loss of the test groups, less the least possible.
func (t *training) testLoss(ctx context.Context) (loss float64, err error) {
	n, count := t.settings.Batch, 0.0
	for at := 0; at < len(t.groups.test); at += n {
		least := t.program.feed(t.groups, t.groups.test[at:][:n])
		for _, segment := range []nn.Segment{nn.SegmentForward, nn.SegmentEvaluate} {
			if err := t.program.Run(ctx, segment, nil); err != nil {
				return 0, err
			}
		}
		loss += t.program.Scalar(ptycho.LossOutput) - least
		count++
	}
	return loss / count, nil
}

// Quality compares what the newest weights make of the test groups with the truth.
func (t *training) Quality(ctx context.Context) (profiles.Values, error) {
	if err := t.evaluate(ctx); err != nil {
		return profiles.NoValues(), err
	}
	return t.result.values, nil
}

// Picture returns a copy of a picture: the newest comparison's, or the truth's.
func (t *training) Picture(id int) *profiles.Picture {
	if t.truth.Unknown && (id == PictureTruth || id == PicturePhaseTruth) {
		return nil
	}
	p := &profiles.Picture{ID: id, Width: t.truth.Side, Height: t.truth.Side}
	switch id {
	case PictureTruth:
		p.Pixels = moduli(t.truth.Values)
	case PicturePhaseTruth:
		p.Pixels = t.phases(nil)
	default:
		p.Pixels = make([]float32, len(t.truth.Values))
		if t.result == nil {
			break
		}
		if id == PictureAmplitude {
			p.Pixels = moduli(t.result.aligned.Values)
		} else {
			p.Pixels = t.phases(t.result.aligned)
		}
	}
	return p
}

// phases returns phases in radians above −π: the truth's, or, given an alignment, its own,
// each within π of the truth's.
func (t *training) phases(a *ptycho.Alignment) []float32 {
	all := make([]float32, len(t.truth.Values))
	for i, z := range t.truth.Values {
		phase := cmplx.Phase(complex128(z))
		if a != nil {
			phase += a.PhaseAt(t.truth, i)
		}
		all[i] = float32(phase + math.Pi)
	}
	return all
}

// moduli returns the moduli of complex numbers.
func moduli(values []complex64) []float32 {
	all := make([]float32, len(values))
	for i, z := range values {
		all[i] = float32(cmplx.Abs(complex128(z)))
	}
	return all
}
