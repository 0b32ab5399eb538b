package vec

import "testing"

func TestRoofKernelsCountTheirWork(t *testing.T) {
	for _, s := range Available() {
		one := s.MultiplyAdds(1)
		if one <= 0 || s.MultiplyAdds(1000) != 1000*one {
			t.Errorf("%v: a round has %d operations, 1000 rounds %d", s, one, s.MultiplyAdds(1000))
		}
		if one := s.DotProducts(1); one < 0 || one > 0 && s != AVX512 || s.DotProducts(1000) != 1000*one {
			t.Errorf("%v: a round has %d operations on bf16, 1000 rounds %d", s, one, s.DotProducts(1000))
		}
		for _, n := range []int{0, 1, 127, 128, 1000, 4096} {
			if got := s.ReadAll(make([]float32, n)); got < 0 || got > 4*int64(n) || got < 4*int64(n-127) {
				t.Errorf("%v: %d floats were read as %d bytes", s, n, got)
			}
		}
	}
}
