package cuda

import (
	"math"

	"prismtop/gpu/driver"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// Transforms of planes, fast ones and others, with their tables; masks, moduli and their gradients.

// fftP is FftP of fft.cu.
type fftP struct {
	X, Y, Twiddles                                     driver.Pointer
	Log, Shift, Lines, Width, RealIn, RealOut, Inverse int32
	Scale                                              float32
}

// dftP is DftP of fft.cu.
type dftP struct {
	X, Y, Twiddles                                 driver.Pointer
	Plane                                          int64
	N, Stride, Per, Step, RealIn, RealOut, Inverse int32
	Scale                                          float32
}

const (
	leastFFT   = 16   // the shortest line of fft.h
	mostFFT    = 4096 // the longest
	mostDFT    = 6144 // the longest line of fft_any, in shared memory
	complex64s = 8    // bytes of a complex number
)

// LongestTransform returns the most numbers of a line of an FFT: those that fit the shared memory of a block.
func (b *Backend) LongestTransform() int { return mostDFT }

// fast reports whether lines of n elements have a fast transform.
func fast(n int) bool { return n >= leastFFT && n <= mostFFT && n&(n-1) == 0 }

// rootOfUnity writes e^(−2πi·k/n) to a table's entry.
func rootOfUnity(to []float32, k, n int) {
	sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(n))
	switch { // multiples of a quarter turn are exact
	case 2*k%n == 0:
		sin = 0
	case 4*k%n == 0:
		cos = 0
	}
	to[0], to[1] = float32(cos), float32(-sin)
}

// rootsOfUnity returns a table of e^(−2πi·k/n), k = 0 … n−1.
func (b *measurements) rootsOfUnity(n int) driver.Pointer {
	w := make([]float32, 2*n)
	for k := range n {
		rootOfUnity(w[2*k:], k, n)
	}
	return b.table(bytesOf(w))
}

// twiddles returns the table of a fast transform; see Line of fft.h.
func (b *measurements) twiddles(l lines) driver.Pointer {
	w := make([]float32, 2<<l.log)
	for s := (l.log-1)%3 + 1; s < l.log; s += 3 {
		for r := 1; r < 8; r++ {
			for k := range 1 << s {
				rootOfUnity(w[2*(r<<s+k):], k*r, 8<<s)
			}
		}
	}
	return b.table(bytesOf(w))
}

// lines is how kernels of lines of 2^log elements divide them over blocks; see fft.h.
type lines struct {
	log   int
	rows  int // of a block
	shift int // log₂ of the columns of a block
}

func linesOf(n int) lines {
	l := lines{rows: max(1, 32*8/n), shift: 2}
	for 1<<l.log < n {
		l.log++
	}
	for ; n<<l.shift > mostFFT; l.shift-- {
	}
	for ; n<<l.shift < 32*8; l.shift++ {
	}
	return l
}

// rowBlock and columnBlock return the threads and the shared memory of a block.
func (l lines) rowBlock() (threads driver.Dim, shared int) {
	n := 1 << l.log
	return driver.X(l.rows * n / 8), l.rows * (n + n/16) * complex64s
}

func (l lines) columnBlock() (threads driver.Dim, shared int) {
	n := 1 << l.log
	return driver.X(n / 8 << l.shift), (n + n/8) << l.shift * complex64s
}

// groups is the number of blocks for the columns.
func (l lines) groups(columns int) int { return (columns + 1<<l.shift - 1) >> l.shift }

// mustBe checks the element type of operands.
func mustBe(d tensor.DType, all ...operand) error {
	for _, o := range all {
		if o.dtype != d {
			return operandError("an operand of %v, want %v", o.dtype, d)
		}
	}
	return nil
}

// onPlanes returns the operands and the result of the current step, whose first operand and result are planes of one
// shape, and the elements of a plane.
func (b *measurements) onPlanes() (x []operand, y operand, plane int64) {
	x, y = b.ins(), b.outs()[0]
	h, w := y.shape.Plane()
	return x, y, int64(h * w)
}

// fft is the centred transform: rows first, then columns.
func (b *measurements) fft(op nn.FFT) error {
	operands, y, plane := b.onPlanes()
	x := operands[0]
	for _, o := range []operand{x, y} {
		if o.real() && o.dtype != tensor.Float32 {
			return operandError("an FFT of %v", o.dtype)
		}
	}
	between := y
	if y.real() {
		between = operand{b.scratch(x.n() * complex64s), y.shape, tensor.Complex64}
	}
	h, w := x.shape.Plane()
	count := int(x.n() / plane)
	if err := b.along(x, between, count, h, w, false, op.Inverse); err != nil {
		return err
	}
	return b.along(between, y, count, h, w, true, op.Inverse)
}

// along transforms the rows or the columns of planes of h×w.
func (b *measurements) along(x, y operand, count, h, w int, columns, inverse bool) error {
	n := w
	if columns {
		n = h
	}
	flags := [3]int32{truth(x.real()), truth(y.real()), truth(inverse)}
	scale := float32(1 / math.Sqrt(float64(n)))
	if !fast(n) {
		if n > mostDFT {
			return operandError("FFT of lines of %d", n)
		}
		p := dftP{X: x.at, Y: y.at, Twiddles: b.rootsOfUnity(n), Plane: int64(h * w), N: int32(n), Stride: 1,
			Per: int32(h), Step: int32(w),
			RealIn: flags[0], RealOut: flags[1], Inverse: flags[2], Scale: scale}
		blocks := count * h
		if columns {
			p.Stride, p.Per, p.Step, blocks = int32(w), int32(w), 1, count*w
		}
		return b.launch("fft_any", driver.X(blocks), driver.X(128), n*complex64s, parameter(&p))
	}
	l := linesOf(n)
	p := fftP{X: x.at, Y: y.at, Twiddles: b.twiddles(l), Log: int32(l.log), Shift: int32(l.shift),
		Lines: int32(count * h), Width: int32(w),
		RealIn: flags[0], RealOut: flags[1], Inverse: flags[2], Scale: scale}
	if columns {
		threads, shared := l.columnBlock()
		return b.launch("fft_columns", driver.XY(l.groups(w), count), threads, shared, parameter(&p))
	}
	threads, shared := l.rowBlock()
	return b.launch("fft_rows", driver.X((count*h+l.rows-1)/l.rows), threads, shared, parameter(&p))
}

// truth is 1 for true.
func truth(v bool) int32 {
	if v {
		return 1
	}
	return 0
}

// maskP is MaskP of fft.cu.
type maskP struct {
	Z, Mask, Y driver.Pointer
	N, Plane   int64
}

func (b *measurements) maskMultiply() error {
	x, y, plane := b.onPlanes()
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := maskP{x[0].at, x[1].at, y.at, x[0].n(), plane}
	return b.over("mask_multiply", p.N, parameter(&p))
}

// modulusP is ModulusP of fft.cu.
type modulusP struct {
	Z, Y     driver.Pointer
	N, Plane int64
}

func (b *measurements) modulusFlip() error {
	x, y, plane := b.onPlanes()
	if err := mustBe(tensor.Float32, y); err != nil {
		return err
	}
	p := modulusP{x[0].at, y.at, x[0].n(), plane}
	return b.over("modulus_flip", p.N, parameter(&p))
}

// modulusGradP is ModulusGradP of fft.cu.
type modulusGradP struct {
	Z, GY, GZ driver.Pointer
	N, Plane  int64
}

func (b *measurements) modulusFlipGrad() error {
	x, y, plane := b.onPlanes()
	if err := mustBe(tensor.Float32, x[1]); err != nil {
		return err
	}
	p := modulusGradP{x[0].at, x[1].at, y.at, x[0].n(), plane}
	return b.over("modulus_flip_grad", p.N, parameter(&p))
}
