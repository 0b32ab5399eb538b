package fft

import "prismtop/sim/cpu/vec"

// transformPow2 is the forward transform of n rows of lanes elements, decimated
// in frequency: radix-4 passes of size n, n/4, … and a final pass of radix last.
// Row i ends as coefficient axis.frequency(i).
func transformPow2(set vec.Set, block []complex64, n, last int, twiddles []float32) {
	m := n
	for ; m > last; m /= 4 {
		count := 6 * (m/4 - 1)
		set.Radix4(block, m, twiddles[:count])
		twiddles = twiddles[count:]
	}
	switch last {
	case 2:
		radix2Last(block)
	case 4:
		set.Radix4(block, 4, nil)
	case 8:
		set.Radix8(block)
	}
}

type row = [lanes]complex64

func rowAt(block []complex64, i int) *row { return (*row)(block[i*lanes:]) }

func radix2Last(block []complex64) {
	for ; len(block) >= 2*lanes; block = block[2*lanes:] {
		a, b := rowAt(block, 0), rowAt(block, 1)
		for l := range lanes {
			x, y := a[l], b[l]
			a[l], b[l] = x+y, x-y
		}
	}
}
