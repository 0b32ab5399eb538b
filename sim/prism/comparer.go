package prism

import (
	"context"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/tensor"
)

// comparer compares the decoder's output with the truth on a device beside the host, where the output is. Its plan
// crops the output to the window and computes SSIM and the mean squared difference by the kernels of the losses: only
// these two numbers are copied to the host.
type comparer struct {
	backend nn.Backend
	window  optics.Window
	size    int // side of the output
	dtype   tensor.DType
	state   nn.State // without variables
	exe     nn.Executable

	output, ssim, square nn.BufferID
	power                float64 // mean square of the truth on the window
	held                 int64
	number               [1]float32
}

// prepareComparer makes the comparer of the program that is loaded, unless there is one. There is none on the
// processor, without a truth, and where the device's memory is short: the host then compares.
func (r *Reconstruction) prepareComparer(ctx context.Context) error {
	p, s := r.program, &r.settings
	_, copies := p.exe.(nn.Copier)
	if !r.device.beside() || !copies || r.truth.unknown() {
		r.closeComparer()
		return nil
	}
	like, w := p.plan.Buffers[p.reconstruction], s.window()
	if c := r.comparer; c != nil && c.backend == r.device.Backend && c.window == w && c.dtype == like.DType {
		return nil
	}
	r.closeComparer()
	c, err := newComparer(ctx, r.device.Backend, like.DType, s.Size, w, r.truth.object.Amplitude)
	if nn.Short(err) {
		return nil
	}
	if err != nil {
		return &deviceError{err}
	}
	r.comparer = c
	return nil
}

// closeComparer frees the comparer.
func (t *trainer) closeComparer() {
	if t.comparer != nil {
		t.comparer.close()
		t.comparer = nil
	}
}

// newComparer compiles and loads the plan that compares an output, [1, 1, n, n] of a type, with a truth, [n, n].
func newComparer(ctx context.Context, b nn.Backend, d tensor.DType, n int, w optics.Window, truth []float32) (*comparer,
	error) {
	g := nn.NewGraph(nn.NewModel(nn.ModelOptions{}))
	g.Layer("metrics", nn.PhaseLoss)
	shape := tensor.Shape{1, 1, w.Size, w.Size}
	output := g.Place(g.InputOf(ReconstructionOutput, tensor.Shape{1, 1, n, n}, d), -w.Top, -w.Left, w.Size, w.Size)
	against := g.Input(TargetInput, shape)
	g.Output("ssim", g.Loss(output, against, nn.SSIM, false))
	g.Output("square", g.Loss(output, against, nn.L2, false))
	plan, err := nn.Compile(ctx, g, nn.Value{}, nn.Options{})
	if err != nil {
		return nil, err
	}
	state, err := b.NewState(ctx, nil)
	if err != nil {
		return nil, err
	}
	exe, err := b.Load(ctx, plan, state)
	if err != nil {
		state.Close()
		return nil, err
	}
	c := &comparer{backend: b, window: w, size: n, dtype: d, state: state, exe: exe,
		held: plan.ArenaBytes + exe.ScratchBytes()}
	c.output, _ = plan.Input(ReconstructionOutput)
	c.ssim, _ = plan.Output("ssim")
	c.square, _ = plan.Output("square")
	cropped := make([]float32, w.Size*w.Size)
	w.Crop(cropped, truth, n)
	for _, v := range cropped {
		c.power += float64(v) * float64(v)
	}
	c.power /= float64(len(cropped))
	target, _ := plan.Input(TargetInput)
	exe.Write(target, cropped)
	return c, nil
}

// compare returns the quality of a program's newest output. Of operations that cannot return an error, the backend has
// it.
func (c *comparer) compare(ctx context.Context, p *program) (q optics.Quality, err error) {
	if err := c.exe.(nn.Copier).Copy(c.output, p.exe, p.reconstruction); err != nil {
		return q, err
	}
	if err := c.exe.Run(ctx, nn.SegmentForward); err != nil {
		return q, err
	}
	square := c.read(c.square)
	q.PSNR, q.SSIM = optics.PSNROf(square), 1-2*c.read(c.ssim)
	if square > 0 {
		q.RMSE = 100 * math.Sqrt(square/c.power)
	}
	return q, nil
}

func (c *comparer) read(id nn.BufferID) float64 {
	c.exe.Read(id, c.number[:])
	return float64(c.number[0])
}

// bytes is the memory on the device; 0 of nil.
func (c *comparer) bytes() int64 {
	if c == nil {
		return 0
	}
	return c.held
}

func (c *comparer) close() {
	c.exe.Close()
	c.state.Close()
}
