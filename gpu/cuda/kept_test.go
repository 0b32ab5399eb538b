package cuda_test

import (
	"math"
	"testing"

	"prismtop/gpu/cuda"
	"prismtop/gpu/driver"
	"prismtop/gpu/emulator"
	"prismtop/sim/nn"
	"prismtop/sim/prism"
	"prismtop/sim/tensor"
)

// counting counts the graphs that a driver makes.
type counting struct {
	driver.Driver
	made, freed int
}

func (d *counting) GraphInstantiate(g driver.Graph) (driver.GraphExec, error) {
	d.made++
	return d.Driver.GraphInstantiate(g)
}

func (d *counting) GraphExecDestroy(x driver.GraphExec) error {
	d.freed++
	return d.Driver.GraphExecDestroy(x)
}

// counted returns a backend on an emulated device, with its driver.
func counted(t *testing.T, o emulator.Options) (*cuda.Backend, *counting) {
	t.Helper()
	d := &counting{Driver: emulator.New(o)}
	b, err := cuda.Open(d, cuda.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, d
}

// switched trains a decoder by turns in the modes, an iteration each, and calls after with the training before each
// change.
func switched(t *testing.T, b nn.Backend, turns int, after func(r *training)) *training {
	t.Helper()
	c := prism.DecoderConfig{Size: 32, ObjectSize: 16, BatchNorm: true, Seed: 3}
	d, err := prism.NewDecoder(c)
	if err != nil {
		t.Fatal(err)
	}
	r := &training{t: t, model: d.Model()}
	variables, err := d.Model().InitialVariables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.state, err = b.NewState(t.Context(), variables); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.state.Close() })
	changing := []prism.PlanOptions{{}, fused(prism.PlanOptions{AMP: tensor.BFloat16}), fused(prism.PlanOptions{AMP: tensor.Float16})}
	for i := range turns {
		o := changing[i%len(changing)]
		o.Loss = l1(t)
		if r.plan, err = d.ProgressivePlan(t.Context(), o); err != nil { // anew, as a run does
			t.Fatal(err)
		}
		if r.exe, err = b.Load(t.Context(), r.plan, r.state); err != nil {
			t.Fatal(err)
		}
		feed(r, c)
		r.iterate()
		r.exe.Close()
		after(r)
	}
	return r
}

// A setting that is switched back and forth captures the graphs of each plan once. The weights are those of plans that
// are captured at each change, bit for bit.
func TestGraphsAreKept(t *testing.T) {
	const turns = 9
	b, d := counted(t, emulator.Options{})
	made := make([]int, 0, turns)
	kept := switched(t, b, turns, func(*training) { made = append(made, d.made) })
	for i, n := range made {
		if first := made[min(i, 2)]; n != first || i < 3 && n <= 3*i {
			t.Errorf("%d graphs after %d turns; after each: %v", n, i+1, made)
		}
	}
	held := b.DeviceMemory()
	if held.Kept <= 0 || held.Kept >= held.Allocated {
		t.Errorf("%d of %d bytes are kept", held.Kept, held.Allocated)
	}

	fresh, _ := counted(t, emulator.Options{})
	anew := switched(t, fresh, turns, func(r *training) { // a new state keeps nothing
		variables := r.model.Variables()
		state, err := fresh.NewState(t.Context(), variables)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range variables {
			if v.Category != nn.Gradients {
				x := make([]float32, v.Shape.Elements())
				r.state.Read(i, x)
				state.Write(i, x)
			}
		}
		r.state.Close()
		r.state = state
	})
	want := anew.weights()
	for name, x := range kept.weights() {
		for i := range x {
			if math.Float32bits(x[i]) != math.Float32bits(want[name][i]) {
				t.Fatalf("%s[%d] is %v, with graphs captured anew %v", name, i, x[i], want[name][i])
			}
		}
	}

	kept.state.Close()
	if left := b.DeviceMemory(); left.Allocated != 0 || left.Kept != 0 || d.freed != d.made {
		t.Errorf("%d bytes are allocated after the state was closed, %d kept, and %d of %d graphs were freed", left.Allocated, left.Kept, d.freed, d.made)
	}
}

// What is kept is memory for other settings: while a plan is in use its own is not, and gradients read as zeros between
// two plans.
func TestKeptMemoryIsToldApart(t *testing.T) {
	b, _ := counted(t, emulator.Options{})
	var large int64
	r := switched(t, b, 1, func(r *training) {
		m := b.DeviceMemory()
		large = m.Kept
		if large < r.plan.ArenaBytes {
			t.Errorf("%d bytes are kept, with an arena of %d", large, r.plan.ArenaBytes)
		}
		for i, v := range r.model.Variables() {
			if v.Category == nn.Gradients {
				x := make([]float32, v.Shape.Elements())
				r.state.Read(i, x)
				for _, g := range x {
					if g != 0 {
						t.Fatalf("%s has %v without a plan", v.Name, g)
					}
				}
			}
		}
	})
	before := b.DeviceMemory()
	x, err := b.Load(t.Context(), r.plan, r.state)
	if err != nil {
		t.Fatal(err)
	}
	if m := b.DeviceMemory(); m.Kept != 0 || m.Allocated != before.Allocated {
		t.Errorf("%d bytes are kept of %d while the only plan is in use; before, %d of %d", m.Kept, m.Allocated, before.Kept, before.Allocated)
	}
	second, err := b.Load(t.Context(), r.plan, r.state) // the same plan twice at a time
	if err != nil {
		t.Fatal(err)
	}
	if m := b.DeviceMemory(); m.Kept != 0 || m.Allocated <= before.Allocated {
		t.Errorf("%d bytes are kept of %d with two plans in use", m.Kept, m.Allocated)
	}
	second.Close()
	x.Close()
}

// Plans that are kept give way where the device runs short of memory.
func TestKeptGraphsGiveWay(t *testing.T) {
	const n = 1 << 20                                                                                    // numbers, 4 MiB an array
	for call, memory := range map[string]int64{"cuMemAlloc": 30 << 20, "cuGraphInstantiate": 90 << 20} { // both fit the second
		b, d := faulty(t, emulator.Options{Devices: []emulator.DeviceOptions{{Memory: memory}}})
		state, first := loaded(t, b, doubling(n, 4), []nn.Variable{{Name: "x", Shape: tensor.Shape{n}}})
		first.Close()
		if call == "cuGraphInstantiate" {
			d.Inject(emulator.Fault{Call: call, N: 1, Result: driver.OutOfMemory})
		}
		x, err := b.Load(t.Context(), doubling(n, 5), state)
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		if m := b.DeviceMemory(); m.Kept != 0 {
			t.Errorf("%s: %d bytes are still kept", call, m.Kept)
		}
		if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		x.Close()
	}
}

// The oldest plan is freed where too many are kept, and an arena that is large enough serves the next plan.
func TestTheOldestGraphsAreFreed(t *testing.T) {
	b, d := counted(t, emulator.Options{})
	state, first := loaded(t, b, doubling(64, 12), []nn.Variable{{Name: "x", Shape: tensor.Shape{64}}})
	first.Close()
	held := b.DeviceMemory().Allocated
	load := func(results int) (graphs int) {
		made := d.made
		x, err := b.Load(t.Context(), doubling(64, results), state)
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
			t.Fatal(err)
		}
		x.Close()
		return d.made - made
	}
	for results := range 8 { // with the first, one more than are kept
		if load(results+1) == 0 {
			t.Errorf("%d results: an unknown plan has graphs", results+1)
		}
	}
	if now := b.DeviceMemory().Allocated; now != held {
		t.Errorf("%d bytes are allocated, %d before", now, held)
	}
	if load(8) != 0 || load(1) != 0 {
		t.Error("graphs that were kept are captured again")
	}
	if load(12) == 0 {
		t.Error("the oldest graphs are still there")
	}
}

// doubling is a plan that doubles a variable into some results.
func doubling(n, results int) *nn.Plan {
	s := tensor.Shape{n}
	buffers := []nn.Buffer{{Name: "x", Shape: s, Variable: 0}}
	var steps []nn.Step
	for i := range results {
		buffers = append(buffers, nn.Buffer{Name: "y", Shape: s, Variable: -1, Offset: int64(i) * 4 * int64(n)})
		steps = append(steps, step(nn.Scale{Factor: 2}, nn.BufferID(i+1), 0))
	}
	return handmade(buffers, steps...)
}

// BenchmarkGPULoad is what a change of mixed precision takes on the host: anew, with graphs captured, and again.
func BenchmarkGPULoad(b *testing.B) {
	gpu := realGPU(b, cuda.Options{})
	o := fused(prism.PlanOptions{AMP: tensor.BFloat16})
	o.Loss = l1(b)
	r := newTraining(b, gpu, prism.DecoderConfig{Size: 512, ObjectSize: 128, BatchNorm: true, Seed: 1}, o)
	variables := r.model.Variables()
	load := func(b *testing.B, of nn.State) {
		x, err := gpu.Load(b.Context(), r.plan, of)
		if err != nil {
			b.Fatal(err)
		}
		x.Close()
	}
	b.Run("anew", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			state, err := gpu.NewState(b.Context(), variables)
			if err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			load(b, state)
			b.StopTimer()
			state.Close()
			b.StartTimer()
		}
	})
	r.exe.Close()
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			load(b, r.state)
		}
	})
}
