package cuda_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/emulator"
	"prismtop/gpu/emulator/ptx"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// plane is a buffer of a plan made by hand.
func plane(name string, side int, d tensor.DType, offset int64) nn.Buffer {
	return nn.Buffer{Name: name, Shape: tensor.Shape{1, 1, side, side}, DType: d, Variable: -1, Offset: offset}
}

// handmade returns a plan whose forward segment is these steps.
func handmade(buffers []nn.Buffer, steps ...nn.Step) *nn.Plan {
	p := &nn.Plan{Buffers: buffers, Steps: steps}
	for _, b := range buffers {
		if b.Variable < 0 {
			p.ArenaBytes = max(p.ArenaBytes, b.Offset+(b.Bytes()+63)&^63)
		}
	}
	for i := range p.Segments {
		p.Segments[i] = [2]int{len(steps), len(steps)}
	}
	p.Segments[nn.SegmentForward] = [2]int{0, len(steps)}
	return p
}

// step is a step with one result.
func step(op nn.Op, out nn.BufferID, in ...nn.BufferID) nn.Step {
	return nn.Step{Name: "step", Op: op, In: in, Out: []nn.BufferID{out}}
}

// results runs a plan on a backend, with noise in its first buffer and in its variables, and returns the buffers asked for.
func results(t *testing.T, b nn.Backend, p *nn.Plan, variables []nn.Variable, want ...nn.BufferID) [][]float32 {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return x
	}
	state, err := b.NewState(t.Context(), variables)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	for i, v := range variables {
		state.Write(i, noise(v.Shape.Elements()))
	}
	x, err := b.Load(t.Context(), p, state)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if p.Buffers[0].Variable < 0 {
		x.Write(0, noise(p.Buffers[0].Shape.Elements()))
	}
	if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Fatal(err)
	}
	var all [][]float32
	for _, id := range want {
		y := make([]float32, p.Buffers[id].Shape.Elements())
		x.Read(id, y)
		all = append(all, y)
	}
	return all
}

// Places and casts that follow one another are one launch, and weights are converted by one, with the results of separate
// steps: even where a later result has the memory of an earlier operand, where another step reads a result between, and
// where a result between is rounded.
func TestCopiesShareALaunch(t *testing.T) {
	f, h := tensor.Float32, tensor.BFloat16
	weight := func(v int) nn.Buffer { b := plane("w", 8, f, 0); b.Variable = v; return b }
	variables := []nn.Variable{{Name: "a", Shape: tensor.Shape{1, 1, 8, 8}}, {Name: "b", Shape: tensor.Shape{1, 1, 8, 8}}}
	for _, c := range []struct {
		name      string
		plan      *nn.Plan
		variables []nn.Variable
		want      []nn.BufferID
		kernel    string
		launches  int
	}{
		{"two crops into the memory of the first's operand", handmade(
			[]nn.Buffer{plane("x", 20, f, 0), plane("y", 13, f, 2048), plane("z", 9, f, 640)},
			step(nn.Place{Top: -3, Left: -4}, 1, 0), step(nn.Place{Top: -2, Left: -1}, 2, 1)), nil, []nn.BufferID{2}, "place", 1},
		{"a conversion and two frames, the first of which is read again", handmade(
			[]nn.Buffer{plane("x", 6, h, 0), plane("c", 6, f, 128), plane("y", 9, f, 512), plane("z", 16, f, 1024), plane("s", 9, f, 4096)},
			step(nn.Cast{}, 1, 0), step(nn.Place{Top: 2, Left: 1}, 2, 1), step(nn.Place{Top: -1, Left: 5}, 3, 2), step(nn.Scale{Factor: 2}, 4, 2)),
			nil, []nn.BufferID{3, 4}, "place", 1},
		{"a result that is rounded between", handmade(
			[]nn.Buffer{plane("x", 6, f, 0), plane("c", 6, h, 256), plane("y", 9, f, 512)},
			step(nn.Cast{}, 1, 0), step(nn.Cast{}, 1, 0), step(nn.Place{Top: 2, Left: 1}, 2, 1)), nil, []nn.BufferID{2}, "place", 1},
		{"conversions of weights", handmade(
			[]nn.Buffer{weight(0), weight(1), plane("a", 8, h, 0), plane("b", 8, h, 128), plane("s", 8, h, 256), plane("t", 8, h, 384)},
			step(nn.Cast{}, 2, 0), step(nn.Scale{Factor: 2}, 4, 2), step(nn.Cast{}, 3, 1), step(nn.Add{}, 5, 3, 4)), variables, []nn.BufferID{4, 5}, "convert", 1},
		{"conversions of weights into memory that is still in use", handmade(
			[]nn.Buffer{weight(0), weight(1), plane("a", 8, h, 0), plane("s", 8, h, 128), plane("b", 8, h, 128), plane("d", 8, f, 256), plane("e", 8, f, 512)},
			step(nn.Cast{}, 2, 0), step(nn.Scale{Factor: 2}, 3, 2), step(nn.Add{}, 5, 3, 2), step(nn.Cast{}, 4, 1), step(nn.Add{}, 6, 5, 4)),
			variables, []nn.BufferID{5, 6}, "convert", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			host, err := cpu.New(cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer host.Close()
			d := emulator.New(emulator.Options{Checks: ptx.Checks{Uninitialised: true, Races: true}})
			device, err := cuda.Open(d, cuda.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer device.Close()
			want, got := results(t, host, c.plan, c.variables, c.want...), results(t, device, c.plan, c.variables, c.want...)
			for k := range want {
				for i := range want[k] {
					if math.Float32bits(want[k][i]) != math.Float32bits(got[k][i]) {
						t.Fatalf("buffer %d[%d] is %v, on the processor %v", c.want[k], i, got[k][i], want[k][i])
					}
				}
			}
			n := 0
			for _, l := range d.Launches() {
				if l.Kernel == c.kernel {
					n++
				}
			}
			if n != c.launches {
				t.Errorf("%d launches of %s, want %d", n, c.kernel, c.launches)
			}
		})
	}
}

// Short arrays of different lengths at one address are written in the order of the steps.
func TestScalarsThatShareMemory(t *testing.T) {
	p := handmade([]nn.Buffer{{Name: "s", Shape: tensor.Shape{1}, Variable: -1}, {Name: "v", Shape: tensor.Shape{2}, Variable: -1}},
		step(nn.Fill{Value: 1}, 0), step(nn.Fill{Value: 2}, 1), step(nn.Fill{Value: 3}, 0))
	got := results(t, emulated(t), p, nil, 0, 1)
	if got[0][0] != 3 || got[1][0] != 3 || got[1][1] != 2 {
		t.Errorf("%v, want [3] and [3 2]", got)
	}
}
