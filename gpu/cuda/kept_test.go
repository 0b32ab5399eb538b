package cuda_test

import (
	"errors"
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

// MemGetInfo reports a mebibyte for each graph.
func (d *counting) MemGetInfo() (free, total int64, err error) {
	free, total, err = d.Driver.MemGetInfo()
	return free - int64(d.made-d.freed)<<20, total, err
}

// counted returns a backend on an emulated device, with its driver.
func counted(t *testing.T, o emulator.Options) (*cuda.Backend, *counting) {
	t.Helper()
	d := &counting{Driver: emulator.New(o)}
	context := int64(10 << 20) // that Open takes
	b, err := cuda.Open(d, cuda.Options{Free: func(string) (int64, bool) { context -= 1 << 20; return context, true }})
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

// A setting that is switched back and forth captures no graphs after the first turns. The weights are those of plans that
// are captured at each change, bit for bit.
func TestGraphsAreKept(t *testing.T) {
	const turns = 9
	b, d := counted(t, emulator.Options{})
	made := make([]int, 0, turns)
	kept := switched(t, b, turns, func(*training) { made = append(made, d.made) })
	for i, n := range made { // the first plan's arena is too small for the second, so that it is captured again
		if n != made[min(i, 3)] || i > 0 && i < 4 && n <= made[i-1] {
			t.Errorf("%d graphs after %d turns; after each: %v", n, i+1, made)
		}
	}
	held := b.DeviceMemory()
	if held.Kept <= 0 || held.Kept >= held.Total() {
		t.Errorf("%d of %d bytes are kept", held.Kept, held.Total())
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

// A new plan that takes the arena of a kept one, and then runs short of memory, is loaded without that arena.
func TestAKeptArenaGivesWay(t *testing.T) {
	const n = 1 << 20 // numbers, 4 MiB an array
	b, _ := faulty(t, emulator.Options{Devices: []emulator.DeviceOptions{{Memory: 27 << 20}}})
	variables := []nn.Variable{{Name: "x", Shape: tensor.Shape{n}}, {Name: "g", Shape: tensor.Shape{2 * n}, Category: nn.Gradients}}
	state, first := loaded(t, b, doubling(n, 4), variables)
	first.Close()
	p := doubling(n, 3)
	p.Buffers = append(p.Buffers, nn.Buffer{Name: "g", Shape: variables[1].Shape, Variable: 1, Category: nn.Gradients})
	x, err := b.Load(t.Context(), p, state)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Run(t.Context(), nn.SegmentForward); err != nil {
		t.Error(err)
	}
	x.Close()
}

// Memory runs short in a run, too: what is kept is freed, and the run continues.
func TestARunTakesWhatIsKept(t *testing.T) {
	for _, call := range []string{"cuGraphLaunch", "cuMemHostAlloc"} {
		b, d := faulty(t, emulator.Options{})
		p, variables := scaling(8)
		state, first := loaded(t, b, p, variables)
		first.Close()
		x, err := b.Load(t.Context(), doubling(8, 3), state)
		if err != nil {
			t.Fatal(err)
		}
		d.Inject(emulator.Fault{Call: call, N: 1, Result: driver.OutOfMemory})
		state.Write(0, make([]float32, 8))
		if err := errors.Join(b.Failure(), x.Run(t.Context(), nn.SegmentForward)); err != nil {
			t.Errorf("%s: %v", call, err)
		}
		if m := b.DeviceMemory(); m.Kept != 0 {
			t.Errorf("%s: %d bytes are still kept", call, m.Kept)
		}
		x.Close()
	}
}

// What a plan holds does not depend on what is kept beside it, graphs included.
func TestKeptGraphsAreToldApart(t *testing.T) {
	b, _ := counted(t, emulator.Options{})
	state, x := loaded(t, b, doubling(64, 4), []nn.Variable{{Name: "x", Shape: tensor.Shape{64}}})
	held := map[int]int64{}
	for i, results := range []int{1, 2, 3, 1, 3, 2, 1} {
		x.Close()
		var err error
		if x, err = b.Load(t.Context(), doubling(64, results), state); err != nil {
			t.Fatal(err)
		}
		m := b.DeviceMemory()
		now := m.Allocated + m.Context - m.Kept
		if was, ok := held[results]; ok && was != now {
			t.Errorf("load %d: a plan of %d results holds %d bytes, %d before", i, results, now, was)
		}
		if held[results] = now; m.Kept < 2<<20 {
			t.Errorf("load %d: %d bytes are kept, want two graphs", i, m.Kept)
		}
	}
	x.Close()
}

// Plans that grow, as those of a run do, leave one arena: that of the largest.
func TestSmallerArenasAreNotKept(t *testing.T) {
	const n = 1 << 10
	b, d := counted(t, emulator.Options{})
	state, x := loaded(t, b, doubling(n, 1), []nn.Variable{{Name: "x", Shape: tensor.Shape{n}}})
	alone := b.DeviceMemory().Allocated
	for results := 2; results < 6; results++ {
		x.Close()
		var err error
		if x, err = b.Load(t.Context(), doubling(n, results), state); err != nil {
			t.Fatal(err)
		}
		if m, want := b.DeviceMemory(), alone+int64(results-1)*4*n; m.Allocated != want || m.Kept != 0 {
			t.Errorf("%d results: %d bytes, %d of them kept; want %d", results, m.Allocated, m.Kept, want)
		}
	}
	x.Close()
	made := d.made
	for range 2 {
		small, err := b.Load(t.Context(), doubling(n, 1), state)
		if err != nil {
			t.Fatal(err)
		}
		small.Close()
	}
	if d.made != made+2 {
		t.Errorf("%d graphs were made of a plan that returned twice, want the two of one capture", d.made-made)
	}
}

// An executable that is closed after its state is not kept.
func TestAnExecutableWithoutItsStateIsFreed(t *testing.T) {
	b, d := counted(t, emulator.Options{})
	p, variables := scaling(8)
	state, x := loaded(t, b, p, variables)
	state.Close()
	x.Close()
	if m := b.DeviceMemory(); m.Allocated != 0 || d.freed != d.made {
		t.Errorf("%d bytes are allocated, and %d of %d graphs were freed", m.Allocated, d.freed, d.made)
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
