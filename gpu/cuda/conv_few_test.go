package cuda

import (
	"testing"

	"prismtop/gpu/driver"
)

// The convolutions with few channels of PRISM's decoder at 512/128 and at 1024/512 get the kernels made for them, with
// work for at least half of the device's multiprocessors.
func TestFewChannels(t *testing.T) {
	same := func(small, large, side, pad int32) convGeometry {
		across := side + 2 - 2*pad
		return convGeometry{1, small, large, side, side, across, across, 3, 3, 1, pad}
	}
	for _, c := range []struct {
		sum  convSum
		g    convGeometry
		want fewKernel // its grid is not compared
	}{
		{gathers, same(4, 8, 128, 1), fewKernel{name: "conv_few3", out: 4, high: 1}},
		{gathers, same(1, 2, 126, 0), fewKernel{name: "conv_few3", out: 1, high: 1}},
		{scatters, same(4, 8, 128, 1), fewKernel{name: "conv_few3", out: 8, high: 1}},
		{weighs, same(4, 8, 128, 1), fewKernel{name: "conv_few_weights3", out: 4, high: 4}},
		{scatters, layer(16, 8, 64), fewKernel{name: "conv_few4", out: 2}},
		{gathers, layer(16, 8, 64), fewKernel{name: "conv_few_down4", out: 4}},
		{gathers, same(2, 4, 512, 1), fewKernel{name: "conv_few3", out: 2, high: 4}},
		{weighs, same(1, 2, 510, 0), fewKernel{name: "conv_few_weights3", out: 1, high: 16}},
		{scatters, layer(8, 4, 256), fewKernel{name: "conv_few4", out: 2}},
		{gathers, layer(8, 4, 256), fewKernel{name: "conv_few_down4", out: 8}},
	} {
		k, ok := chooseFew(c.sum, &c.g, 132)
		blocks := k.grid[0] * k.grid[1] * k.grid[2]
		k.grid = driver.Dim{}
		if !ok || k != c.want || blocks < 64 {
			t.Errorf("%v %+v: %+v, %v, %d blocks; want %+v", c.sum, c.g, k, ok, blocks, c.want)
		}
	}
	for _, g := range []convGeometry{layer(32, 16, 32), same(4, 8, 16, 1), same(16, 16, 128, 1)} {
		for _, s := range []convSum{gathers, scatters, weighs} {
			if k, ok := chooseFew(s, &g, 132); ok {
				t.Errorf("%v %+v: %+v, want tiles", s, g, k)
			}
		}
	}
}
