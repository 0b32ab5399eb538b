// Package winograd holds the transforms of Winograd's convolutions, Y = Aᵀ[(G g Gᵀ) ⊙ (Bᵀ d B)]A for a tile d and a
// kernel g of 3×3 (Lavin and Gray, Fast algorithms for convolutional neural networks, CVPR 2016), and products of pairs
// of bfloat16 of their tiles. Package vec says how its files are named.
package winograd

// Winograd's F(4×4, 3×3) computes a tile of 4×4 outputs of a 3×3 convolution from 6×6
// inputs with 36 multiplications instead of 144 (Lavin and Gray, "Fast Algorithms for
// Convolutional Neural Networks", 2016; interpolation at 0, ±1, ±2 and infinity):
//
//	Y = Aᵀ·((G·g·Gᵀ) ⊙ (Bᵀ·d·B))·A
//
// Images have their channels last here: a pixel is a run of channels.

// Taps is the number of products of a tile.
const Taps = 36

// Lanes is the number of floats that the kernels transform side by side.
const Lanes = 16

// tileSide is the side of a tile's input, tileOut of its output.
const tileSide, tileOut = 6, 4

// transformInput computes v[k·step + c] = (Bᵀ·d·B)[k] for n channels c of a tile, d[i, j] =
// x[i·row + j·pixel + c]. n is a multiple of sixteen.
func transformInput(v []float32, step int, x []float32, row, pixel, n int) {
	var d, t [Taps]float32
	for c := range n {
		for i := range tileSide {
			for j := range tileSide {
				d[i*tileSide+j] = x[i*row+j*pixel+c]
			}
		}
		for j := range tileSide {
			forward(t[j:], d[j:], tileSide)
		}
		for i := range tileSide {
			forward(d[i*tileSide:], t[i*tileSide:], 1)
		}
		for k, u := range d {
			v[k*step+c] = u
		}
	}
}

// forward computes y = Bᵀ·d for six elements a stride apart.
func forward(y, d []float32, stride int) {
	d0, d1, d2 := d[0], d[stride], d[2*stride]
	d3, d4, d5 := d[3*stride], d[4*stride], d[5*stride]
	y[0] = 4*d0 - 5*d2 + d4
	a, b := d4-4*d2, d3-4*d1
	y[stride], y[2*stride] = a+b, a-b
	a, b = d4-d2, 2*(d3-d1)
	y[3*stride], y[4*stride] = a+b, a-b
	y[5*stride] = 4*d1 - 5*d3 + d5
}

// transformOutput computes y[i·row + j·pixel + c] = (Aᵀ·m·A)[i, j] + bias[c] for n channels
// c of a tile, with ReLU the larger of that and 0, m[k] = m[k·step + c]. n is a multiple of
// sixteen.
func transformOutput(y []float32, row, pixel int, m []float32, step int, bias []float32, relu bool, n int) {
	var d, t [Taps]float32
	for c := range n {
		for k := range d {
			d[k] = m[k*step+c]
		}
		for j := range tileSide {
			back(t[j:], d[j:], tileSide)
		}
		for i := range tileOut {
			back(d[:], t[i*tileSide:], 1)
			for j := range tileOut {
				u := d[j] + bias[c]
				if relu {
					u = max(u, 0)
				}
				y[i*row+j*pixel+c] = u
			}
		}
	}
}

// back computes y = Aᵀ·m, four elements from six a stride apart.
func back(y, m []float32, stride int) {
	p, q := m[stride]+m[2*stride], m[stride]-m[2*stride]
	r, s := m[3*stride]+m[4*stride], m[3*stride]-m[4*stride]
	y[0] = m[0] + p + r
	y[stride] = q + 2*s
	y[2*stride] = p + 4*r
	y[3*stride] = q + 8*s + m[5*stride]
}

// Weights computes u[k·step] = (G·g·Gᵀ)[k] for a 3×3 kernel g.
func Weights(u []float32, step int, g []float32) {
	var t [3 * tileSide]float64
	for j := range 3 {
		side := kernelColumn(float64(g[j]), float64(g[3+j]), float64(g[6+j]))
		for i, v := range side {
			t[3*i+j] = v
		}
	}
	for i := range tileSide {
		for j, v := range kernelColumn(t[3*i], t[3*i+1], t[3*i+2]) {
			u[(i*tileSide+j)*step] = float32(v)
		}
	}
}

// kernelColumn is G·g for a column of three.
func kernelColumn(a, b, c float64) [tileSide]float64 {
	return [tileSide]float64{
		a / 4,
		-(a + b + c) / 6, -(a - b + c) / 6,
		(a + 2*b + 4*c) / 24, (a - 2*b + 4*c) / 24,
		c,
	}
}
