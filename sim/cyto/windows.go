package cyto

import (
	"context"
	"fmt"
	"math"
	"time"

	"prismtop/sim/nn"
)

// The Gaussian weights of a window (§B2.2): the standard deviation as a part of the
// window's side, and the least weight.
const (
	windowSigma = 0.125
	leastWeight = 1e-3
)

// WindowStarts returns the first voxels of windows that cover a side: at even steps, the
// last one moved back to end at the border. overlap is the part of a window that the next
// one covers again.
func WindowStarts(side, window int, overlap float64) []int {
	step := max(int(float64(window)*(1-overlap)), 1)
	var starts []int
	for at := 0; ; at += step {
		if at+window >= side {
			return append(starts, max(side-window, 0))
		}
		starts = append(starts, at)
	}
}

// WindowWeights are the weights of a window's voxels: the product over the axes of
// Gaussians around its centre, and not less than a thousandth.
func WindowWeights(sides [3]int) []float32 {
	var axes [3][]float64
	for a, n := range sides {
		for i := range n {
			x, sigma := float64(i)-float64(n-1)/2, windowSigma*float64(n)
			axes[a] = append(axes[a], math.Exp(-x*x/(2*sigma*sigma)))
		}
	}
	w := make([]float32, 0, sides[0]*sides[1]*sides[2])
	for _, z := range axes[0] {
		for _, y := range axes[1] {
			for _, x := range axes[2] {
				w = append(w, float32(max(z*y*x, leastWeight)))
			}
		}
	}
	return w
}

// Windows predicts images of any sides in windows of one size, several at a time, and
// blends them where they overlap.
type Windows struct {
	plan    *nn.Plan
	exe     nn.Executable
	sides   [3]int
	batch   int
	weights []float32
	logits  []float32
	spent   Spent

	beside   nn.Detailer // of a device that computes beside the host; else nil
	fallible nn.Fallible // of one that can fail; else nil
}

// Spent is the time of the parts of a prediction.
type Spent struct {
	ToDevice time.Duration // copying windows to the plan's input
	Forward  time.Duration // the network
	Blending time.Duration // all else: reading logits, and their weighted means
}

// NewWindows loads a plan of prediction for batches of windows, on a state of the network:
// o.Sides are those of a window, o.Batch is the number of windows computed at a time, and
// there is no loss. Close frees it.
func NewWindows(ctx context.Context, n *Network, backend nn.Backend, state nn.State, o PlanOptions) (*Windows, error) {
	plan, err := n.Plan(ctx, o)
	if err != nil {
		return nil, err
	}
	exe, err := backend.Load(ctx, plan, state)
	if err != nil {
		return nil, fmt.Errorf("cyto windows: %w", err)
	}
	weights := WindowWeights(o.Sides)
	w := &Windows{plan: plan, exe: exe, sides: o.Sides, batch: o.Batch, weights: weights,
		logits: make([]float32, o.Batch*len(weights))}
	w.beside, _ = exe.(nn.Detailer)
	w.fallible, _ = backend.(nn.Fallible)
	return w, nil
}

// Detail switches the timing of every step on or off, on a device that computes beside the host; see nn.Detailer.
// beside is false on one that always times them.
func (w *Windows) Detail(on bool) (beside bool) {
	if w.beside != nil {
		w.beside.Detail(on)
	}
	return w.beside != nil
}

// Close frees the plan's memory.
func (w *Windows) Close() { w.exe.Close() }

// Plan returns the plan of a batch of windows, and StepNanos the time of each of its steps
// for the newest batch.
func (w *Windows) Plan() *nn.Plan { return w.plan }

// See Plan.
func (w *Windows) StepNanos() []int64 { return w.exe.StepNanos() }

// Bytes is the memory of the plan on its device.
func (w *Windows) Bytes() int64 { return w.plan.ArenaBytes + w.exe.ScratchBytes() }

// Spent returns the time of the parts of the newest prediction.
func (w *Windows) Spent() Spent { return w.spent }

// Predict returns the logits of an image: the weighted mean of all windows that cover a
// voxel. An image smaller than a window is surrounded by zeros, as far on both sides, the
// further side last. overlap is from 0 to below 1. When ctx ends, Predict returns its
// error, and the windows must be closed.
func (w *Windows) Predict(ctx context.Context, image Image, overlap float64) (Image, error) {
	if !(overlap >= 0 && overlap < 1) {
		return Image{}, fmt.Errorf("windows with an overlap of %g: must be from 0 to below 1", overlap)
	}
	w.spent = Spent{}
	began := time.Now()
	defer func() { w.spent.Blending = time.Since(began) - w.spent.ToDevice - w.spent.Forward }()
	padded, margin := image, [3]int{}
	for a, side := range w.sides {
		if missing := side - image.Sides[a]; missing > 0 {
			padded.Sides[a], margin[a] = side, missing/2
		}
	}
	if padded.Sides != image.Sides {
		padded = NewImage(padded.Sides)
		paste(padded, image, margin)
	}
	var places [][3]int
	for _, z := range WindowStarts(padded.Sides[0], w.sides[0], overlap) {
		for _, y := range WindowStarts(padded.Sides[1], w.sides[1], overlap) {
			for _, x := range WindowStarts(padded.Sides[2], w.sides[2], overlap) {
				places = append(places, [3]int{z, y, x})
			}
		}
	}
	sum, total := NewImage(padded.Sides), NewImage(padded.Sides)
	for len(places) > 0 {
		n := min(w.batch, len(places))
		if err := w.add(ctx, padded, sum, total, places[:n]); err != nil {
			return Image{}, err
		}
		places = places[n:]
	}
	for i, v := range total.Values {
		sum.Values[i] /= v
	}
	if padded.Sides == image.Sides {
		return sum, nil
	}
	result := NewImage(image.Sides)
	crop(result.Values, sum, margin, image.Sides)
	return result, nil
}

// add predicts one batch of windows and adds their logits and weights. A batch that is
// not full repeats windows, whose logits are ignored.
func (w *Windows) add(ctx context.Context, image, sum, total Image, places [][3]int) error {
	began := time.Now()
	input, _ := w.plan.Input(ImageInput)
	size := len(w.weights)
	values := w.exe.Map(input)
	whole := values == nil
	if whole {
		values = make([]float32, w.batch*size)
	}
	for i := range w.batch {
		crop(values[i*size:][:size], image, places[i%len(places)], w.sides)
	}
	if whole {
		w.exe.Write(input, values)
	}
	copied := time.Now()
	w.spent.ToDevice += copied.Sub(began)
	err := w.exe.Run(ctx, nn.SegmentForward)
	if err == nil && w.beside != nil {
		err = w.beside.Settle(ctx)
	}
	if err != nil {
		return err
	}
	w.spent.Forward += time.Since(copied)
	output, _ := w.plan.Output(LogitsOutput)
	w.exe.Read(output, w.logits)
	if w.fallible != nil {
		if err := w.fallible.Failure(); err != nil {
			return err
		}
	}
	for i, at := range places {
		for row := range w.sides[0] * w.sides[1] {
			z, y := at[0]+row/w.sides[1], at[1]+row%w.sides[1]
			to := (z*image.Sides[1]+y)*image.Sides[2] + at[2]
			logits, weights := w.logits[i*size+row*w.sides[2]:][:w.sides[2]], w.weights[row*w.sides[2]:][:w.sides[2]]
			for x, v := range logits {
				sum.Values[to+x] += weights[x] * v
				total.Values[to+x] += weights[x]
			}
		}
	}
	return nil
}

// paste copies an image into a larger one.
func paste(dst, from Image, at [3]int) {
	for z := range from.Sides[0] {
		for y := range from.Sides[1] {
			row := ((at[0]+z)*dst.Sides[1]+at[1]+y)*dst.Sides[2] + at[2]
			copy(dst.Values[row:][:from.Sides[2]], from.Values[(z*from.Sides[1]+y)*from.Sides[2]:])
		}
	}
}
