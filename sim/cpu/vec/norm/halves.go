package norm

import "prismtop/sim/tensor"

// halfPiece is the number of elements that plain Go widens at a time.
const halfPiece = 256

// widenPiece widens the piece of x that begins at an element.
func widenPiece(to *[halfPiece]float32, x []uint16, at int) []float32 {
	piece := to[:min(halfPiece, len(x)-at)]
	tensor.Widen(tensor.BFloat16, piece, x[at:][:len(piece)])
	return piece
}

// momentsHalf is moments of bfloat16.
func momentsHalf(x []uint16, shift float32) (total, square float64) {
	var piece [halfPiece]float32
	for at := 0; at < len(x); at += halfPiece {
		t, s := moments(widenPiece(&piece, x, at), shift)
		total, square = total+t, square+s
	}
	return total, square
}

// gradSumsReLUHalf is gradSumsReLU of bfloat16.
func gradSumsReLUHalf(x, gy []uint16, mean, factor, shift float32) (total, product float64) {
	var xs, gys [halfPiece]float32
	for at := 0; at < len(x); at += halfPiece {
		t, p := gradSumsReLU(widenPiece(&xs, x, at), widenPiece(&gys, gy[:len(x)], at), mean, factor, shift)
		total, product = total+t, product+p
	}
	return total, product
}

// normaliseReLUHalf is normaliseReLU of bfloat16.
func normaliseReLUHalf(y, x []uint16, mean, factor, shift float32) {
	var xs, results [halfPiece]float32
	for at := 0; at < len(y); at += halfPiece {
		piece := widenPiece(&xs, x[:len(y)], at)
		normaliseReLU(results[:len(piece)], piece, mean, factor, shift)
		tensor.Narrow(tensor.BFloat16, y[at:][:len(piece)], results[:len(piece)])
	}
}

// gradReLUHalf is gradReLU of bfloat16.
func gradReLUHalf(gx, x, gy []uint16, mean, factor, shift, slope, add float32) {
	var xs, gys, results [halfPiece]float32
	for at := 0; at < len(gx); at += halfPiece {
		piece := widenPiece(&xs, x[:len(gx)], at)
		gradReLU(results[:len(piece)], piece, widenPiece(&gys, gy[:len(gx)], at), mean, factor, shift, slope, add)
		tensor.Narrow(tensor.BFloat16, gx[at:][:len(piece)], results[:len(piece)])
	}
}
