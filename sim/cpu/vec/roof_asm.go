package vec

import "golang.org/x/sys/cpu"

// MultiplyAdds runs independent fused multiply-adds on registers for the given
// number of rounds, at least one, and returns the number of additions and
// multiplications.
func (s Set) MultiplyAdds(rounds int) int64 {
	rounds = max(rounds, 1)
	switch s {
	case AVX512:
		multiplyAddsAVX512(rounds)
		return int64(rounds) * 24 * 2 * 16
	case AVX2:
		multiplyAddsAVX2(rounds)
		return int64(rounds) * 12 * 2 * 8
	}
	var sums [4]float32
	multiplyAdds(&sums, rounds, 1)
	return int64(rounds) * 4 * 2
}

// DotProducts runs independent products of pairs of bfloat16, added in float32, on registers
// for the given number of rounds, at least one, and returns the number of additions and
// multiplications; 0 if the set or the processor has no such instruction.
func (s Set) DotProducts(rounds int) int64 {
	if s != AVX512 || !cpu.X86.HasAVX512BF16 {
		return 0
	}
	rounds = max(rounds, 1)
	multiplyAddsBF16(rounds)
	return int64(rounds) * 24 * 2 * 32
}

// ReadAll reads x once and returns the number of bytes read, a multiple of eight
// vectors.
func (s Set) ReadAll(x []float32) int64 {
	groups := len(x) / (8 * s.Lanes())
	if s == Go {
		readAll(x)
		return 4 * int64(len(x)&^3)
	}
	if groups == 0 {
		return 0
	}
	if s == AVX512 {
		readAllAVX512(&x[0], groups)
	} else {
		readAllAVX2(&x[0], groups)
	}
	return 4 * int64(groups*8*s.Lanes())
}
