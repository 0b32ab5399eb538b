package cpu

import "prismtop/sim/nn"

const (
	// lossEpsilon is added to the divisor of a normalised loss (spec/prism.md
	// §5.5).
	lossEpsilon = 1e-8
	// sumBlock is the number of elements of a partial sum. It is fixed, so that
	// results do not depend on the number of threads.
	sumBlock = 4096
)

// loss binds a loss between two planes.
func (b *binder) loss(op nn.Loss) func() {
	if !b.operands(2, 2, 2) {
		return nil
	}
	h, w, ok := b.lossPlanes(op.Kind, 0, 1)
	if !ok {
		return nil
	}
	p, t := b.in(0), b.in(1)
	value, saved := b.scalar(b.out(0), "the loss"), b.out(1)
	if want := nn.LossSaved(op.Kind, h, w); len(saved) != want {
		return b.fail("saved has %d elements, want %d", len(saved), want)
	}
	if b.err != nil {
		return nil
	}
	switch op.Kind {
	case nn.L1, nn.L2:
		return b.pointwiseLoss(op, value, saved, p, t)
	case nn.SSIM:
		return b.ssimLoss(value, saved, p, t, h, w)
	default:
		return b.msssimLoss(value, saved, p, t, h, w)
	}
}

// lossGrad binds upstream·∂loss/∂prediction.
func (b *binder) lossGrad(op nn.LossGrad) func() {
	if !b.operands(4, 4, 1) || !b.sameShape(b.inShape(0), b.outShape(0)) {
		return nil
	}
	h, w, ok := b.lossPlanes(op.Kind, 0, 1)
	if !ok {
		return nil
	}
	p, t, saved, upstream, gp := b.in(0), b.in(1), b.in(2), b.scalar(b.in(3), "upstream"), b.out(0)
	if want := nn.LossSaved(op.Kind, h, w); len(saved) != want {
		return b.fail("saved has %d elements, want %d", len(saved), want)
	}
	if b.err != nil {
		return nil
	}
	set := b.backend.set
	switch op.Kind {
	case nn.L1:
		return b.each(len(gp), grain, func(lo, hi int) {
			set.Signs(gp[lo:hi], p[lo:hi], t[lo:hi], saved[0]*upstream[0])
		})
	case nn.L2:
		return b.each(len(gp), grain, func(lo, hi int) {
			set.Differences(gp[lo:hi], p[lo:hi], t[lo:hi], saved[0]*upstream[0])
		})
	case nn.SSIM:
		return b.ssimGrad(gp, p, t, saved, upstream, h, w)
	default:
		return b.msssimGrad(gp, p, t, saved, upstream, h, w)
	}
}

// lossPlanes checks that two inputs are one plane each, large enough for the loss.
func (b *binder) lossPlanes(kind nn.LossKind, i, j int) (h, w int, ok bool) {
	s := b.inShape(i)
	n, h, w, ok := b.planes(s)
	if !ok || !b.sameShape(s, b.inShape(j)) {
		return 0, 0, false
	}
	switch {
	case n != 1:
		b.fail("a loss compares single planes, got %v", s)
	case kind > nn.MSSSIM:
		b.fail("no loss of kind %d", kind)
	case kind == nn.SSIM && min(h, w) <= ssimPad:
		b.fail("SSIM of planes of %d×%d: sides below %d cannot be padded by reflection of %d pixels", h, w, ssimPad+1, ssimPad)
	case kind == nn.MSSSIM && nn.MSSSIMScales(h, w) == 0:
		b.fail("MS-SSIM of planes of %d×%d: sides below %d are too small for its window", h, w, 2*ssimPad+1)
	}
	return h, w, b.err == nil
}

// pointwiseLoss computes, with d = p − t,
//
//	L1: mean|d| / norm;  L2: mean(d²) / norm
//
// where norm = 1, or when normalised mean|t| + 1e-8 and mean(t²) + 1e-8. It saves
// the gradient's factor, 1/(n·norm) or 2/(n·norm).
func (b *binder) pointwiseLoss(op nn.Loss, value, saved, p, t []float32) func() {
	n := len(p)
	blocks := (n + sumBlock - 1) / sumBlock
	sums, norms := b.float64s(blocks), b.float64s(blocks)
	kernel, factor := b.backend.set.AbsoluteSums, 1.0
	if op.Kind == nn.L2 {
		kernel, factor = b.backend.set.SquareSums, 2
	}
	run := b.each(blocks, 1, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			from, to := i*sumBlock, min((i+1)*sumBlock, n)
			sums[i], norms[i] = kernel(p[from:to], t[from:to])
		}
	})
	return func() {
		run()
		total, norm := 0.0, 0.0
		for i := range sums {
			total += sums[i]
			norm += norms[i]
		}
		scale := 1 / float64(n)
		if op.Normalize {
			scale /= norm/float64(n) + lossEpsilon
		}
		value[0], saved[0] = float32(total*scale), float32(factor*scale)
	}
}
