package winograd

// Transforms of Winograd's F(2×2, 3×3) and F(4×4, 3×3) and of their gradients, a vector of
// sixteen channels at a time. With d a tile's input, g a kernel, y an output, and capitals
// for transformed values,
//
//	forward:  D = Bᵀ·d·B,  K = G·g·Gᵀ,  y = Aᵀ·(Σ D ⊙ K)·A
//	gradient of the kernel:  Y = A·y·Aᵀ,  g = Gᵀ·(Σ D ⊙ Y)·G

// A Stage is one of these transforms.
type Stage uint8

// The stages.
const (
	Tile     Stage = iota // Bᵀ·d·B
	Products              // Aᵀ·m·A
	Kernel                // G·g·Gᵀ
	Upstream              // A·y·Aᵀ
	Gradient              // Gᵀ·u·G

	stages
)

// Scratch is the number of floats that a transform needs.
const Scratch = Taps * Lanes

// matrices are Bᵀ, Aᵀ, G, A and Gᵀ of a tile of 2×2 outputs, and of 4×4.
var matrices = map[int][stages][][]float32{
	2: withTransposes([][]float32{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
		[][]float32{{1, 1, 1, 0}, {0, 1, -1, -1}},
		[][]float32{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}),
	4: withTransposes([][]float32{{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
		[][]float32{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
		[][]float32{{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6}, {1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}}),
}

func withTransposes(b, a, g [][]float32) [stages][][]float32 {
	transposed := func(m [][]float32) [][]float32 {
		t := make([][]float32, len(m[0]))
		for i := range t {
			for _, row := range m {
				t[i] = append(t[i], row[i])
			}
		}
		return t
	}
	return [stages][][]float32{b, a, g, transposed(a), transposed(g)}
}

// transformStage computes, with T the matrix of a stage, for n tiles t and sixteen
// channels c,
//
//	y[i·yRow + j·yPixel + t·yStep + c] = (T·X·Tᵀ)[i, j],  X[k, l] = x[k·xRow + l·xPixel + t·xStep + c]
func transformStage(stage Stage, side int, y []float32, yRow, yPixel, yStep int, x []float32, xRow, xPixel,
	xStep, n int) {
	m := matrices[side][stage]
	var half, column [tileSide][tileSide]float32
	for at := range n * Lanes {
		from, to := x[at/Lanes*xStep+at%Lanes:], y[at/Lanes*yStep+at%Lanes:]
		for k := range m[0] {
			for l := range m[0] {
				column[k][l] = from[k*xRow+l*xPixel]
			}
		}
		for i, row := range m {
			for l := range m[0] {
				half[i][l] = 0
				for k, v := range row {
					half[i][l] += v * column[k][l]
				}
			}
		}
		for i := range m {
			for j, row := range m {
				sum := float32(0)
				for l, v := range row {
					sum += v * half[i][l]
				}
				to[i*yRow+j*yPixel] = sum
			}
		}
	}
}
