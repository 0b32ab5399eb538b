package nntest

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

func optimiserCases() []testCase {
	var cases []testCase
	for _, amsgrad := range []bool{false, true} {
		for _, scaler := range []bool{false, true} {
			for _, found := range []float32{0, 1} {
				if found == 0 || scaler {
					cases = append(cases, adamCase(amsgrad, scaler, found, 1, false, 0),
						adamCase(amsgrad, scaler, found, 37, false, 0), adamCase(amsgrad, scaler, found, 37, true, 0),
						adamCase(amsgrad, scaler, found, 37, false, 0.25))
				}
			}
		}
	}
	return append(cases, scalerCases()...)
}

// adamCase is one step on random state, with the formula of spec/prism.md §5.4.
// Outliers are separate cases, since the largest element sets the tolerance of
// all.
func adamCase(amsgrad, scaler bool, found, k float32, outliers bool, decay float32) testCase {
	const n, lr, beta1, beta2, eps = 9001, 1e-3, 0.9, 0.999, 1e-8
	s := newSource(uint64(k))
	g, p, m := s.normal(0, n), s.normal(0, n), s.normal(0, n)
	// So small that the new term (1−β2)·g² matters.
	v, vmax := s.uniform(0, 1e-3, n), s.uniform(0, 1e-3, n)
	copy(g.Values, []float32{0, 1e-9})
	copy(v.Values, []float32{0, 0})
	if outliers {
		copy(g.Values[2:], []float32{1e3, -1e3})
		copy(v.Values[2:], []float32{0, 1e6})
	}
	c := testCase{
		name: fmt.Sprintf("Adam step %v, AMSGrad %v, scaler %v, found %v, outliers %v, decay %v", k, amsgrad, scaler, found, outliers, decay),
		op:   nn.Adam{Beta1: beta1, Beta2: beta2, Eps: eps, Decay: decay, AMSGrad: amsgrad, Scaler: scaler},
		in:   []Array{g, scalar(lr), scalar(k), p, m, v},
	}
	want := [][]float64{floats64(p.Values), floats64(m.Values), floats64(v.Values)}
	if amsgrad {
		c.in, want = append(c.in, vmax), append(want, floats64(vmax.Values))
	}
	if scaler {
		c.in = append(c.in, scalar(found))
	}
	if found != 1 {
		want = adamReference(c.op.(nn.Adam), want, floats64(g.Values), lr, k)
	}
	for i, w := range want {
		c.out = append(c.out, Result{InPlace: true, Input: 3 + i})
		c.want = append(c.want, reference{w, 0, 3e-7})
	}
	return c
}

// adamReference is the state p, m, v and with AMSGrad vmax after step k with gradient g.
func adamReference(op nn.Adam, state [][]float64, g []float64, lr, k float32) [][]float64 {
	beta1, beta2, eps := decimal(op.Beta1), decimal(op.Beta2), decimal(op.Eps)
	after := make([][]float64, len(state))
	for i := range state {
		after[i] = slices.Clone(state[i])
	}
	for i, x := range g {
		x += float64(op.Decay) * after[0][i]
		after[1][i] = beta1*after[1][i] + (1-beta1)*x
		after[2][i] = beta2*after[2][i] + (1-beta2)*x*x
		largest := after[2][i]
		if op.AMSGrad {
			after[3][i] = max(after[3][i], largest)
			largest = after[3][i]
		}
		mHat, vHat := after[1][i]/(1-math.Pow(beta1, float64(k))), largest/(1-math.Pow(beta2, float64(k)))
		after[0][i] -= float64(lr) * mHat / (math.Sqrt(vHat) + eps)
	}
	return after
}

// decimal recovers the decimal value of a float32 constant.
func decimal(x float32) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(x), 'g', -1, 32), 64)
	return v
}

func scalerCases() []testCase {
	inPlace := func(inputs ...int) []Result {
		var r []Result
		for _, i := range inputs {
			r = append(r, Result{InPlace: true, Input: i})
		}
		return r
	}
	ones := func(v ...float64) []reference {
		var r []reference
		for _, x := range v {
			r = append(r, exact([]float64{x}))
		}
		return r
	}
	var cases []testCase
	add := func(name string, op nn.Op, in []Array, out []Result, want []reference) {
		cases = append(cases, testCase{name, op, in, out, want})
	}
	add("Adam step", nn.AdamStep{}, []Array{scalar(4)}, inPlace(0), ones(5))
	add("Adam step kept", nn.AdamStep{}, []Array{scalar(4), scalar(1)}, inPlace(0), ones(4))
	add("Adam step taken", nn.AdamStep{}, []Array{scalar(4), scalar(0)}, inPlace(0), ones(5))
	for _, c := range []struct{ found, scale, good, wantScale, wantGood float32 }{
		{0, 65536, 3, 65536, 4}, {1, 65536, 3, 32768, 0}, {0, 65536, 1999, 131072, 0},
		{0, 0x1p127, 1999, 0x1p127, 0}, // doubling would be infinite
	} {
		add(fmt.Sprintf("scaler %+v", c), nn.ScalerUpdate{Interval: 2000},
			[]Array{scalar(c.found), scalar(c.scale), scalar(c.good)}, inPlace(1, 2),
			ones(float64(c.wantScale), float64(c.wantGood)))
	}
	s := newSource(9)
	for _, bad := range []float32{0, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())} {
		for _, before := range []float32{0, 1} {
			g := s.normal(tensor.Float32, 10_000)
			want := reference{want: make([]float64, len(g.Values))}
			found := before
			if bad != 0 {
				g.Values[7001], found = bad, 1
			}
			for i, v := range g.Values {
				want.want[i] = float64(v) / 1024
			}
			refs := []reference{want, exact([]float64{float64(found)})}
			if bad != 0 {
				refs[0] = reference{} // not compared: the step is skipped
			}
			add(fmt.Sprintf("unscale %v, found %v", bad, before), nn.Unscale{},
				[]Array{g, scalar(1024), scalar(before)}, inPlace(0, 2), refs)
		}
	}
	return cases
}
