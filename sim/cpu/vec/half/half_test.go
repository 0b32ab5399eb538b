package half

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/sim/cpu/vec"
	"prismtop/sim/cpu/vec/internal/vectest"
	"prismtop/sim/tensor"
)

// awkward is random values of every size with all special ones among them.
func awkward(rng *rand.Rand, n int) []float32 {
	special := []uint32{0, 1 << 31, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0x7f800000, 0xff800000, 0x7f800001, 0x7fffffff,
		0xffffffff, 0x7fc00000, 0x3f808000, 0x3f818000, 0x3f80ffff, 0x477fefff, 0x477ff000, 0x38800000, 0x387fffff, 0x33000000, 0x33000001}
	x := make([]float32, n)
	for i := range x {
		switch rng.IntN(3) {
		case 0:
			x[i] = math.Float32frombits(special[rng.IntN(len(special))])
		case 1:
			x[i] = math.Float32frombits(rng.Uint32())
		default:
			x[i] = float32(rng.NormFloat64())
		}
	}
	return x
}

// equal compares bits; of NaNs, that both are.
func equal(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func TestConversionsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		for _, d := range []tensor.DType{tensor.BFloat16, tensor.Float16} {
			x := awkward(rng, n)
			got, want := make([]uint16, n+1), make([]uint16, n)
			got[n] = 0xdead
			Narrow(s, d, got[:n:n], x)
			tensor.Narrow(d, want, x)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%v of %x is %#x, plain Go has %#x", d, math.Float32bits(x[i]), got[i], want[i])
				}
			}
			if got[n] != 0xdead {
				t.Fatal("wrote beyond the end")
			}
			wide, wider := vectest.Guarded(t, rng, n), make([]float32, n)
			Widen(s, d, wide, want)
			tensor.Widen(d, wider, want)
			for i := range wide {
				if !equal(wide[i], wider[i]) {
					t.Fatalf("%v %#x is %v, plain Go has %v", d, want[i], wide[i], wider[i])
				}
			}
		}
	})
}

func TestSplitsArePlainGos(t *testing.T) {
	vectest.ForEach(t, func(t *testing.T, s vec.Set, rng *rand.Rand, n int) {
		x := awkward(rng, n)
		high, low, wantHigh, wantLow := vectest.Guarded(t, rng, n), vectest.Guarded(t, rng, n), make([]float32, n), make([]float32, n)
		for name, f := range map[string]struct {
			set   func(s vec.Set, high, low, x []float32)
			plain func(high, low, x []float32)
		}{"Split": {Split, split}, "SplitSum": {SplitSum, splitSum}} {
			f.set(s, high, low, x)
			f.plain(wantHigh, wantLow, x)
			for i := range x {
				if !equal(high[i], wantHigh[i]) || !equal(low[i], wantLow[i]) {
					t.Fatalf("%s(%v) = %v, %v, plain Go has %v, %v", name, x[i], high[i], low[i], wantHigh[i], wantLow[i])
				}
			}
		}
	})
}

// Two values of bfloat16 hold 16 of float32's 24 bits, and a sum of the two is
// exact.
func TestSplitKeepsSixteenBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 1000)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(40)-20)))
	}
	high, low, again, sum := make([]float32, 1000), make([]float32, 1000), make([]float32, 1000), make([]float32, 1000)
	split(high, low, x)
	splitSum(again, sum, x)
	for i, v := range x {
		if d := math.Abs(float64(v) - float64(high[i]) - float64(low[i])); d > math.Abs(float64(v))*0x1p-17 {
			t.Errorf("%v is %v + %v but for %g", v, high[i], low[i], d)
		}
		if high[i] != again[i] || float64(sum[i]) != float64(high[i])+float64(low[i]) {
			t.Errorf("the sum of %v and %v became %v", high[i], low[i], sum[i])
		}
	}
}
