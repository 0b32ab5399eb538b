package vec

// Transforms of Winograd's F(2×2, 3×3) and F(4×4, 3×3) and of their gradients, a vector of
// sixteen channels at a time. With d a tile's input, g a kernel, y an output, and capitals
// for transformed values,
//
//	forward:  D = Bᵀ·d·B,  K = G·g·Gᵀ,  y = Aᵀ·(Σ D ⊙ K)·A
//	gradient of the kernel:  Y = A·y·Aᵀ,  g = Gᵀ·(Σ D ⊙ Y)·G

// A WinogradStage is one of these transforms.
type WinogradStage uint8

// The stages.
const (
	WinogradTile     WinogradStage = iota // Bᵀ·d·B
	WinogradProducts                      // Aᵀ·m·A
	WinogradKernel                        // G·g·Gᵀ
	WinogradUpstream                      // A·y·Aᵀ
	WinogradGradient                      // Gᵀ·u·G

	winogradStages
)

// WinogradScratch is the number of floats that a transform needs.
const WinogradScratch = WinogradTaps * PatchFloats

// winogradMatrices are Bᵀ, Aᵀ, G, A and Gᵀ of a tile of 2×2 outputs, and of 4×4.
var winogradMatrices = map[int][winogradStages][][]float32{
	2: withTransposes([][]float32{{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
		[][]float32{{1, 1, 1, 0}, {0, 1, -1, -1}},
		[][]float32{{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}}),
	4: withTransposes([][]float32{{4, 0, -5, 0, 1, 0}, {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0}, {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}},
		[][]float32{{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
		[][]float32{{1. / 4, 0, 0}, {-1. / 6, -1. / 6, -1. / 6}, {-1. / 6, 1. / 6, -1. / 6}, {1. / 24, 1. / 12, 1. / 6}, {1. / 24, -1. / 12, 1. / 6}, {0, 0, 1}}),
}

func withTransposes(b, a, g [][]float32) [winogradStages][][]float32 {
	transposed := func(m [][]float32) [][]float32 {
		t := make([][]float32, len(m[0]))
		for i := range t {
			for _, row := range m {
				t[i] = append(t[i], row[i])
			}
		}
		return t
	}
	return [winogradStages][][]float32{b, a, g, transposed(a), transposed(g)}
}

// winogradTransform computes, with T the matrix of a stage, for n tiles t and sixteen
// channels c,
//
//	y[i·yRow + j·yPixel + t·yStep + c] = (T·X·Tᵀ)[i, j],  X[k, l] = x[k·xRow + l·xPixel + t·xStep + c]
func winogradTransform(stage WinogradStage, side int, y []float32, yRow, yPixel, yStep int, x []float32, xRow, xPixel, xStep, n int) {
	m := winogradMatrices[side][stage]
	var half, column [winogradSide][winogradSide]float32
	for at := range n * PatchFloats {
		from, to := x[at/PatchFloats*xStep+at%PatchFloats:], y[at/PatchFloats*yStep+at%PatchFloats:]
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
