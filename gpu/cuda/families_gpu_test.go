package cuda_test

import (
	"fmt"
	"math"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// array describes an operand of a step to time.
type array struct {
	shape    tensor.Shape
	d        tensor.DType
	variable bool
}

// timed runs a plan of n times the same steps as one graph and reports the time of a round, launches included. inPlace
// gives the operand that a result updates, by result; others are new.
func timed(b *testing.B, gpu nn.Backend, n int, ops []nn.Op, in [][]array, out [][]array, inPlace map[int]int) {
	p := &nn.Plan{}
	var variables []nn.Variable
	add := func(a array) nn.BufferID {
		buffer := nn.Buffer{Name: "x", Shape: a.shape, DType: a.d, Variable: -1, Offset: p.ArenaBytes, Pinned: true}
		if a.variable {
			buffer.Variable = len(variables)
			variables = append(variables, nn.Variable{Name: fmt.Sprint("v", len(variables)), Shape: a.shape})
		} else {
			p.ArenaBytes += (buffer.Bytes() + 63) &^ 63
		}
		p.Buffers = append(p.Buffers, buffer)
		return nn.BufferID(len(p.Buffers) - 1)
	}
	for i, op := range ops {
		s := nn.Step{Name: fmt.Sprintf("%T", op), Op: op}
		for _, a := range in[i] {
			s.In = append(s.In, add(a))
		}
		for k, a := range out[i] {
			if from, ok := inPlace[k]; ok {
				s.Out = append(s.Out, s.In[from])
			} else {
				s.Out = append(s.Out, add(a))
			}
		}
		p.Steps = append(p.Steps, s)
	}
	round := p.Steps
	for range n - 1 {
		p.Steps = append(p.Steps, round...)
	}
	for i := range p.Segments {
		p.Segments[i] = [2]int{len(p.Steps), len(p.Steps)}
	}
	p.Segments[nn.SegmentForward] = [2]int{0, len(p.Steps)}
	state, err := gpu.NewState(b.Context(), variables)
	if err != nil {
		b.Fatal(err)
	}
	defer state.Close()
	x, err := gpu.Load(b.Context(), p, state)
	if err != nil {
		b.Fatal(err)
	}
	defer x.Close()
	for id := range p.Buffers {
		if p.Buffers[id].Variable < 0 {
			ones := make([]float32, p.Buffers[id].Shape.Elements())
			for i := range ones {
				ones[i] = 1
			}
			x.Write(nn.BufferID(id), ones)
		}
	}
	last := make([]float32, p.Buffers[len(p.Buffers)-1].Shape.Elements())
	least := int64(math.MaxInt64)
	for b.Loop() {
		if err := x.Run(b.Context(), nn.SegmentForward); err != nil {
			b.Fatal(err)
		}
		x.Read(nn.BufferID(len(p.Buffers)-1), last) // waits
		var total int64
		for _, nanos := range x.StepNanos() {
			total += nanos
		}
		least = min(least, total)
	}
	b.ReportMetric(float64(least)/float64(n)/1e3, "µs/step")
}

// BenchmarkGPUNormalisation times the normalisations of PRISM's layers at 512/128 and 1024/512.
func BenchmarkGPUNormalisation(b *testing.B) {
	gpu := realGPU(b, cuda.Options{})
	for _, s := range [][2]int{{256, 4}, {128, 8}, {64, 16}, {32, 32}, {16, 64}, {8, 128}, {4, 128}, {2, 128}, {8, 256}, {8, 512}, {4, 512}, {2, 512}} {
		for _, d := range []tensor.DType{tensor.Float32, tensor.BFloat16} {
			image, channel := array{tensor.Shape{1, s[0], s[1], s[1]}, d, false}, array{shape: tensor.Shape{s[0]}}
			name := fmt.Sprintf("%v/%v", image.shape, d)
			b.Run("forward/"+name, func(b *testing.B) {
				timed(b, gpu, 50, []nn.Op{nn.BatchNorm{Eps: 1e-5, Momentum: 0.1, Train: true, ReLU: true}},
					[][]array{{image, channel, channel, channel, channel}}, [][]array{{image, channel, channel, channel, channel}}, map[int]int{3: 3, 4: 4})
			})
			b.Run("gradient/"+name, func(b *testing.B) {
				timed(b, gpu, 50, []nn.Op{nn.BatchNormGrad{ReLU: true}},
					[][]array{{image, image, channel, channel, channel, channel}}, [][]array{{image, channel, channel}}, nil)
			})
		}
	}
}

// BenchmarkGPUOptimiser times the updates of PRISM's arrays at 512/128, and what a gradient scaler and a plan of 16 bits
// add.
func BenchmarkGPUOptimiser(b *testing.B) {
	gpu := realGPU(b, cuda.Options{})
	shapes := []tensor.Shape{{1, 512, 1, 1}, {512, 256, 4, 4}, {256, 128, 4, 4}, {128, 64, 4, 4}, {64, 32, 4, 4}, {32, 16, 4, 4}, {16, 8, 4, 4},
		{4, 8, 3, 3}, {2, 4, 3, 3}, {1, 2, 3, 3}, {256}, {256}, {128}, {128}, {64}, {64}, {32}, {32}, {16}, {16}, {8}, {8}, {4}, {4}, {2}, {2}, {1}}
	scalar := array{}
	b.Run("Adam", func(b *testing.B) {
		var ops []nn.Op
		var in, out [][]array
		for _, s := range shapes {
			v := array{shape: s, variable: true}
			ops = append(ops, nn.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8})
			in, out = append(in, []array{{shape: s}, scalar, scalar, v, v, v}), append(out, []array{v, v, v})
		}
		timed(b, gpu, 20, ops, in, out, map[int]int{0: 3, 1: 4, 2: 5})
	})
	b.Run("unscale", func(b *testing.B) {
		var ops []nn.Op
		var in, out [][]array
		for _, s := range shapes {
			ops, in, out = append(ops, nn.Unscale{}), append(in, []array{{shape: s}, scalar, scalar}), append(out, []array{{}, {}})
		}
		timed(b, gpu, 20, ops, in, out, map[int]int{0: 0, 1: 2})
	})
	b.Run("weights to bf16", func(b *testing.B) {
		var ops []nn.Op
		var in, out [][]array
		for _, s := range shapes[:10] {
			ops = append(ops, nn.Cast{})
			in, out = append(in, []array{{shape: s, variable: true}}), append(out, []array{{shape: s, d: tensor.BFloat16}})
		}
		timed(b, gpu, 20, ops, in, out, nil)
	})
}

// BenchmarkGPUPlacement times the frames around PRISM's output and the crops of their gradients.
func BenchmarkGPUPlacement(b *testing.B) {
	gpu := realGPU(b, cuda.Options{})
	square := func(n int) array { return array{shape: tensor.Shape{1, 1, n, n}} }
	for _, c := range []struct{ from, to, at int }{{126, 128, 1}, {128, 512, 192}, {512, 1024, 256}, {512, 128, -192}} {
		b.Run(fmt.Sprintf("%d to %d", c.from, c.to), func(b *testing.B) {
			timed(b, gpu, 50, []nn.Op{nn.Place{Top: c.at, Left: c.at}}, [][]array{{square(c.from)}}, [][]array{{square(c.to)}}, nil)
		})
	}
}
