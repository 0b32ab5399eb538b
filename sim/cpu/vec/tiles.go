package vec

import "prismtop/sim/tensor"

// pairs rounds n elements of rows of two matrices to bfloat16 and lays them out as
// the b of a TileProduct:
//
//	y[r·yPitch + 2·i] = bf16(even[r·pitch + i]);  y[r·yPitch + 2·i + 1] = bf16(odd[r·pitch + i])
func pairs(y []uint16, yPitch int, even, odd []float32, pitch, rows, n int) {
	for r := range rows {
		for i := range n {
			y[r*yPitch+2*i] = tensor.F32ToBF16(even[r*pitch+i])
			y[r*yPitch+2*i+1] = tensor.F32ToBF16(odd[r*pitch+i])
		}
	}
}

// pairColumns rounds elements that lie a stride apart to bfloat16:
//
//	y[2·i] = bf16(even[i·stride]);  y[2·i + 1] = bf16(odd[i·stride])
func pairColumns(y []uint16, even, odd []float32, stride, n int) {
	for i := range n {
		y[2*i] = tensor.F32ToBF16(even[i*stride])
		y[2*i+1] = tensor.F32ToBF16(odd[i*stride])
	}
}
