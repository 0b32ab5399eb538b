package cuda

import (
	"fmt"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// The telescope: its passes over the planes of masks, the measurements with their losses,
// the amplitudes, and the adjoints of both.

// measurements lowers the telescope: transforms, masks, moduli, and the measurements made of them at once.
type measurements struct{ *builder }

func (b *measurements) lower() (known bool, err error) {
	switch op := b.step.Op.(type) {
	case nn.FFT:
		return true, b.fft(op)
	case nn.MaskMultiply:
		return true, b.maskMultiply()
	case nn.ModulusFlip:
		return true, b.modulusFlip()
	case nn.ModulusFlipGrad:
		return true, b.modulusFlipGrad()
	case nn.Measure:
		return true, b.measure(op)
	case nn.MeasureGrad:
		return true, b.measureGrad(op)
	case nn.MeasureShare:
		return true, nil // no work
	case nn.Amplitudes:
		return true, b.amplitudes(op)
	case nn.AmplitudesGrad:
		return true, b.amplitudesGrad(op)
	}
	return false, nil
}

// masksAtOnce is MASKS of measure.h: the masks or views of one launch.
const masksAtOnce = 8

// measureRowsP is MeasureRowsP of measure.h, and so on below.
type measureRowsP struct {
	X, Rows, Twiddles             driver.Pointer
	Log, Top, Bottom, Left, Right int32
	_                             int32
}

type measureColumnsP struct {
	Rows, Fields, Used, Twiddles driver.Pointer
	Masks                        [masksAtOnce]driver.Pointer
	Spectrum, Field              int64
	Log, Top, Bottom, First, All int32
	Scale                        float32
}

type measureLossP struct {
	Fields, Used, Sums, Twiddles driver.Pointer
	Targets                      [masksAtOnce]driver.Pointer
	Field                        int64
	Log, First, Squares          int32
	_                            int32
}

type measureTotalP struct {
	Sums, Losses, Factors      driver.Pointer
	Elements                   float64
	Blocks, Normalize, Squares int32
	_                          int32
}

type measureBackP struct {
	Fields, Rows, Used, Twiddles driver.Pointer
	Masks                        [masksAtOnce]driver.Pointer
	Weights                      [masksAtOnce]float32
	Factors, Upstream            driver.Pointer
	Field                        int64
	Log, Top, Bottom, First, All int32
	Scale                        float32
}

type measureBackRowsP struct {
	Rows, Used, GX, Twiddles             driver.Pointer
	Log, Top, Bottom, Left, Right, Masks int32
}

type amplitudeRowsP struct {
	Fields, Used, Twiddles driver.Pointer
	Planes                 [masksAtOnce]driver.Pointer
	First, Last            [masksAtOnce]int32
	Field                  int64
	Log                    int32
	_                      int32
}

type amplitudeBackP struct {
	Directions, Fields, Twiddles driver.Pointer
	Planes                       [masksAtOnce]driver.Pointer
	Direction                    int64
	Log, First                   int32
}

// telescope is the common part of the passes of Measure and Amplitudes over planes of n×n.
type telescope struct {
	*measurements
	op                       nn.MeasureFrame
	n                        int
	lines                    lines
	top, bottom, left, right int // of the window, whole strips
	masks                    []operand
	field                    int64 // elements between two fields
	used                     driver.Pointer
	twiddles                 driver.Pointer
}

// telescope returns the common part for an object and its masks.
func (b *measurements) telescope(op nn.MeasureFrame, object operand, masks []operand) (*telescope, error) {
	h, w := object.shape.Plane()
	if w > mostFFT {
		return nil, operandError("measuring an object of %v", object.shape)
	}
	if err := mustBe(tensor.Float32, append([]operand{object}, masks...)...); err != nil {
		return nil, err
	}
	t := &telescope{measurements: b, op: op, n: w, lines: linesOf(w), bottom: h, right: w, masks: masks,
		field: int64(nn.MeasureSaved(h, w) / 2)}
	if op.Pruned {
		const strip = 16
		t.top, t.bottom = op.Top/strip*strip, (op.Bottom+strip-1)/strip*strip
		t.left, t.right = op.Left/strip*strip, (op.Right+strip-1)/strip*strip
	}
	t.used = b.scratch(4 * int64(len(masks)*t.lines.groups(w)))
	t.twiddles = b.twiddles(t.lines)
	return t, nil
}

// kernel returns the name of the kernel for planes of n×n: of those for any side, or for this one.
func (t *telescope) kernel(name string) string {
	switch t.n {
	case 256, 512, 1024:
		return fmt.Sprintf("%s_%d", name, t.n)
	}
	return name
}

// fields computes the columns of the masked fields.
func (t *telescope) fields(x, fields driver.Pointer) error {
	rows := t.bottom - t.top
	spectra, spectrum := 1, int64(0)
	if !t.op.Shared {
		spectra, spectrum = len(t.masks), int64(rows*t.n)
	}
	log := int32(t.lines.log)
	spectrumRows := t.scratch(int64(spectra*rows*t.n) * complex64s)
	p := measureRowsP{X: x, Rows: spectrumRows, Twiddles: t.twiddles, Log: log, Top: int32(t.top),
		Bottom: int32(t.bottom),
		Left:   int32(t.left), Right: int32(t.right)}
	threads, shared := t.lines.rowBlock()
	if err := t.launch(t.kernel("measure_rows"), driver.XY((rows+t.lines.rows-1)/t.lines.rows, spectra), threads,
		shared, parameter(&p)); err != nil {
		return err
	}
	threads, shared = t.lines.columnBlock()
	for first := 0; first < len(t.masks); first += masksAtOnce {
		p := measureColumnsP{Rows: spectrumRows, Fields: fields, Used: t.used, Twiddles: t.twiddles, Spectrum: spectrum,
			Field: t.field, Log: log, Top: int32(t.top), Bottom: int32(t.bottom), First: int32(first),
			All:   truth(!t.op.Pruned),
			Scale: t.scale()}
		n := t.chunk(&p.Masks, t.masks, first)
		if err := t.launch(t.kernel("measure_columns"), driver.XY(t.lines.groups(t.n), n), threads, shared,
			parameter(&p)); err != nil {
			return err
		}
	}
	return nil
}

// scale is the orthonormal factor of both transforms, before and after the mask.
func (t *telescope) scale() float32 { return 1 / (float32(t.n) * float32(t.n)) }

// chunk copies the addresses of operands from first on, and returns their number.
func (t *telescope) chunk(to *[masksAtOnce]driver.Pointer, from []operand, first int) int {
	n := min(len(from)-first, masksAtOnce)
	for i, o := range from[first : first+n] {
		to[i] = o.at
	}
	return n
}

// rowGrid is the grid of kernels of all rows.
func (t *telescope) rowGrid(y int) driver.Dim { return driver.XY(t.n/t.lines.rows, y) }

// back computes the gradient gx from the fields. Their weights are factors·upstream, or weights.
func (t *telescope) back(fields, gx driver.Pointer, field int64, factors, upstream driver.Pointer,
	weights []float32) error {
	rows := t.scratch(int64(len(t.masks)*(t.bottom-t.top)*t.n) * complex64s)
	log := int32(t.lines.log)
	threads, shared := t.lines.columnBlock()
	for first := 0; first < len(t.masks); first += masksAtOnce {
		p := measureBackP{Fields: fields, Rows: rows, Used: t.used, Twiddles: t.twiddles, Factors: factors,
			Upstream: upstream, Field: field,
			Log: log, Top: int32(t.top), Bottom: int32(t.bottom), First: int32(first), All: truth(!t.op.Pruned),
			Scale: t.scale()}
		n := t.chunk(&p.Masks, t.masks, first)
		if weights != nil {
			copy(p.Weights[:], weights[first:])
		}
		if err := t.launch(t.kernel("measure_back_columns"), driver.XY(t.lines.groups(t.n), n), threads, shared,
			parameter(&p)); err != nil {
			return err
		}
	}
	p := measureBackRowsP{Rows: rows, Used: t.used, GX: gx, Twiddles: t.twiddles, Log: log, Top: int32(t.top),
		Bottom: int32(t.bottom),
		Left:   int32(t.left), Right: int32(t.right), Masks: int32(len(t.masks))}
	threads, shared = t.lines.rowBlock()
	return t.launch(t.kernel("measure_back_rows"), t.rowGrid(1), threads, shared, parameter(&p))
}

// measure is the telescope with its losses. The fields are the rows that measure_loss leaves, of n×n each.
func (b *measurements) measure(op nn.Measure) error {
	count := (len(b.step.In) - 1) / 2
	x, y := b.ins(), b.outs()
	var masks, targets []operand
	for k := range count {
		masks, targets = append(masks, x[1+2*k]), append(targets, x[2+2*k])
	}
	t, err := b.telescope(op.MeasureFrame, x[0], masks)
	if err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, append(append([]operand{}, targets...), y...)...); err != nil {
		return err
	}
	if err := t.fields(x[0].at, y[2].at); err != nil {
		return err
	}
	grid := t.rowGrid(0)
	sums := b.scratch(int64(count) * int64(grid[0]) * 8)
	threads, shared := t.lines.rowBlock()
	for first := 0; first < count; first += masksAtOnce {
		p := measureLossP{Fields: y[2].at, Used: t.used, Sums: sums, Twiddles: t.twiddles, Field: t.field,
			Log: int32(t.lines.log), First: int32(first), Squares: truth(op.Kind == nn.L2)}
		n := t.chunk(&p.Targets, targets, first)
		if err := b.launch(t.kernel("measure_loss"), t.rowGrid(n), threads, shared, parameter(&p)); err != nil {
			return err
		}
	}
	p := measureTotalP{Sums: sums, Losses: y[0].at, Factors: y[1].at, Elements: float64(t.n) * float64(t.n),
		Blocks: int32(grid[0]), Normalize: truth(op.Normalize), Squares: truth(op.Kind == nn.L2)}
	return b.launch("measure_total", driver.X(count), driver.X(256), 0, parameter(&p))
}

// measureGrad is the adjoint from the fields to the object.
func (b *measurements) measureGrad(op nn.MeasureGrad) error {
	x, y := b.ins(), b.outs()
	t, err := b.telescope(op.MeasureFrame, y[0], x[3:])
	if err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, x[:3]...); err != nil {
		return err
	}
	return t.back(x[0].at, y[0].at, t.field, x[1].at, x[2].at, nil)
}

// viewsOf returns the first mask of each measurement, and the end.
func viewsOf(op nn.Amplitudes) []int {
	first := []int{0}
	for i, count := range op.Apertures {
		first = append(first, first[i]+count)
	}
	return first
}

// amplitudes is the telescope for any loss. The directions are the transformed fields, of n×n each.
func (b *measurements) amplitudes(op nn.Amplitudes) error {
	first, views := viewsOf(op), len(op.Apertures)
	x, y := b.ins(), b.outs()
	t, err := b.telescope(op.MeasureFrame, x[0], x[1:])
	if err != nil {
		return err
	}
	if err := mustBe(tensor.Float32, y...); err != nil {
		return err
	}
	if err := t.fields(x[0].at, y[views].at); err != nil {
		return err
	}
	threads, shared := t.lines.rowBlock()
	for v := 0; v < views; v += masksAtOnce {
		p := amplitudeRowsP{Fields: y[views].at, Used: t.used, Twiddles: t.twiddles, Field: t.field,
			Log: int32(t.lines.log)}
		n := t.chunk(&p.Planes, y[:views], v)
		for i := range n {
			p.First[i], p.Last[i] = int32(first[v+i]), int32(first[v+i+1])
		}
		if err := b.launch(t.kernel("amplitude_rows"), t.rowGrid(n), threads, shared, parameter(&p)); err != nil {
			return err
		}
	}
	return nil
}

// amplitudesGrad is the adjoint of amplitudes.
func (b *measurements) amplitudesGrad(op nn.AmplitudesGrad) error {
	first, views, count := viewsOf(op.Amplitudes), len(op.Apertures), op.Masks()
	x, y := b.ins(), b.outs()
	t, err := b.telescope(op.MeasureFrame, y[0], x[1+views:])
	if err != nil {
		return err
	}
	var gradients []operand // of each mask's view
	var weights []float32
	for i, o := range x[1 : 1+views] {
		for range op.Apertures[i] {
			gradients, weights = append(gradients, o), append(weights, 1/float32(first[i+1]-first[i]))
		}
	}
	if err := mustBe(tensor.Float32, x[:1+views]...); err != nil {
		return err
	}
	fields := b.scratch(int64(count*t.n*t.n) * complex64s)
	threads, shared := t.lines.rowBlock()
	for k := 0; k < count; k += masksAtOnce {
		p := amplitudeBackP{Directions: x[0].at, Fields: fields, Twiddles: t.twiddles, Direction: t.field,
			Log: int32(t.lines.log), First: int32(k)}
		n := t.chunk(&p.Planes, gradients, k)
		if err := b.launch(t.kernel("amplitude_back_rows"), t.rowGrid(n), threads, shared, parameter(&p)); err != nil {
			return err
		}
	}
	return t.back(fields, y[0].at, int64(t.n*t.n), 0, 0, weights)
}
