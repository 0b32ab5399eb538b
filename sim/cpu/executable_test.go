package cpu_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/cpu/fft"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
	"prismtop/sim/tensor"
)

func TestStateKeepsVariablesApart(t *testing.T) {
	be := open(t, 1)
	s, err := be.NewState(t.Context(), []nn.Variable{
		{Name: "a", Shape: tensor.Shape{3}, Initial: []float32{1, 2, 3}},
		{Name: "b", Shape: tensor.Shape{2, 2}},
		{Name: "c", Shape: tensor.Shape{}, Initial: []float32{9}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	read := func(v, n int) []float32 {
		x := make([]float32, n)
		s.Read(v, x)
		return x
	}
	s.Write(1, []float32{4, 5, 6, 7})
	s.Write(0, []float32{7, 7, 7})
	if got := read(1, 4); !slices.Equal(got, []float32{4, 5, 6, 7}) {
		t.Errorf("b = %v", got)
	}
	if err := s.Zero(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if got := read(1, 4); !slices.Equal(got, make([]float32, 4)) {
		t.Errorf("b after Zero = %v", got)
	}
	if got := read(0, 3); !slices.Equal(got, []float32{7, 7, 7}) {
		t.Errorf("a after another's Zero = %v", got)
	}
	if got := read(2, 1); got[0] != 9 {
		t.Errorf("c = %v", got)
	}
	if _, err := be.NewState(t.Context(), []nn.Variable{{Name: "short", Shape: tensor.Shape{3}, Initial: []float32{1}}}); err == nil {
		t.Error("a variable with too few initial values was accepted")
	}
}

// counterPlan has two segments that advance one variable each, and an input.
func counterPlan() *nn.Plan {
	p := &nn.Plan{
		Buffers: []nn.Buffer{
			{Name: "first", Shape: tensor.Shape{}, Variable: 0},
			{Name: "second", Shape: tensor.Shape{}, Variable: 1},
			{Name: "half", Shape: tensor.Shape{3}, DType: tensor.BFloat16, Variable: -1},
			{Name: "wave", Shape: tensor.Shape{2}, DType: tensor.Complex64, Variable: -1, Offset: 64},
		},
		ArenaBytes: 128,
		Steps: []nn.Step{
			{Name: "one", Op: nn.AdamStep{}, In: []nn.BufferID{0}, Out: []nn.BufferID{0}},
			{Name: "two", Op: nn.AdamStep{}, In: []nn.BufferID{1}, Out: []nn.BufferID{1}},
		},
	}
	p.Segments = [nn.NumSegments][2]int{{0, 1}, {1, 1}, {1, 2}}
	return p
}

func counterState(t *testing.T, be *cpu.Backend) nn.State {
	t.Helper()
	s, err := be.NewState(t.Context(), []nn.Variable{{Name: "first"}, {Name: "second"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestVariablesOutlivePlansAndSegmentsRunAlone(t *testing.T) {
	be := open(t, 1)
	s := counterState(t, be)
	for range 2 {
		x, err := be.Load(t.Context(), counterPlan(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, segment := range []nn.Segment{nn.SegmentForward, nn.SegmentForward, nn.SegmentEvaluate, nn.SegmentUpdate} {
			if err := x.Run(t.Context(), segment); err != nil {
				t.Fatal(err)
			}
		}
		if nanos := x.StepNanos(); len(nanos) != 2 || nanos[0] <= 0 || nanos[1] <= 0 {
			t.Errorf("step times %v", nanos)
		}
		if err := x.Run(t.Context(), nn.NumSegments); err == nil {
			t.Error("ran a segment that does not exist")
		}
		x.Close()
		if err := x.Run(t.Context(), nn.SegmentForward); err == nil {
			t.Error("ran after Close")
		}
	}
	var first, second [1]float32
	s.Read(0, first[:])
	s.Read(1, second[:])
	if first[0] != 4 || second[0] != 2 {
		t.Errorf("counters %v and %v, want 4 and 2", first[0], second[0])
	}
}

func TestBuffersRoundToTheirType(t *testing.T) {
	be := open(t, 1)
	x, err := be.Load(t.Context(), counterPlan(), counterState(t, be))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	x.Write(2, []float32{1, 1.00001, -3.14159})
	x.Write(3, []float32{1, 2, 3, 4})
	half, wave := make([]float32, 3), make([]float32, 4)
	x.Read(2, half)
	x.Read(3, wave)
	if !slices.Equal(half, []float32{1, 1, -3.140625}) {
		t.Errorf("bf16 buffer holds %v", half)
	}
	if !slices.Equal(wave, []float32{1, 2, 3, 4}) {
		t.Errorf("complex buffer holds %v", wave)
	}
}

// Data written to the memory from Map is the same as after a Write, and visible
// to Read.
func TestMapIsABuffersMemory(t *testing.T) {
	be := open(t, 1)
	plan := counterPlan()
	plan.Buffers = append(plan.Buffers, nn.Buffer{Name: "plane", Shape: tensor.Shape{2}, Variable: -1, Offset: 128})
	plan.ArenaBytes = 192
	x, err := be.Load(t.Context(), plan, counterState(t, be))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	plane := nn.BufferID(len(plan.Buffers) - 1)
	copy(x.Map(plane), []float32{3, 4})
	got := make([]float32, 2)
	if x.Read(plane, got); !slices.Equal(got, []float32{3, 4}) {
		t.Errorf("reads %v", got)
	}
	x.Write(plane, []float32{5, 6})
	if !slices.Equal(x.Map(plane), []float32{5, 6}) {
		t.Errorf("maps %v", x.Map(plane))
	}
	if x.Map(2) != nil || x.Map(3) != nil {
		t.Error("maps what is not float32")
	}
}

func TestLoadNamesWhatDoesNotFit(t *testing.T) {
	be := open(t, 1)
	s := counterState(t, be)
	for name, c := range map[string]struct {
		change func(*nn.Plan)
		want   string
	}{
		"variable of another shape": {func(p *nn.Plan) { p.Buffers[0].Shape = tensor.Shape{2} }, `"first"`},
		"variable in two bytes":     {func(p *nn.Plan) { p.Buffers[0].DType = tensor.Float16 }, `"first"`},
		"no such variable":          {func(p *nn.Plan) { p.Buffers[1].Variable = 7 }, `"second"`},
		"buffer beyond the arena":   {func(p *nn.Plan) { p.Buffers[3].Offset = 128 }, `"wave"`},
		"buffer off its line":       {func(p *nn.Plan) { p.Buffers[3].Offset = 4 }, `"wave"`},
		"no such buffer":            {func(p *nn.Plan) { p.Steps[1].In[0] = 44 }, `"two"`},
		"no kernel":                 {func(p *nn.Plan) { p.Steps[0].Op = nil }, `"one"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := counterPlan()
			c.change(p)
			if _, err := be.Load(t.Context(), p, s); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one that names %s", err, c.want)
			}
		})
	}
	if _, err := be.Load(t.Context(), counterPlan(), nil); err == nil {
		t.Error("loaded without a state")
	}
}

func TestThreadsChangeWhileAPlanRuns(t *testing.T) {
	be := open(t, 1)
	l := decoderLayers[5]
	x, w := random(0, l.in...), random(0, l.weight()...)
	forward, _, _ := l.ops()
	s, err := nntest.NewStep(be, forward, []nntest.Array{x, w}, []nntest.Result{{Shape: l.out}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	want, err := s.Run()
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var other sync.WaitGroup
	other.Go(func() {
		for n := 1; ; n = n%4 + 1 {
			select {
			case <-stop:
				return
			default:
				be.SetThreads(n)
			}
		}
	})
	for range 10 {
		got, err := s.Run()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[0], want[0]) {
			t.Fatal("results changed with the number of threads")
		}
	}
	close(stop)
	other.Wait()
}

func TestThreadsOutOfRangeAreRefused(t *testing.T) {
	for _, n := range []int{-1, 5000} {
		if _, err := cpu.New(cpu.Options{Threads: n}); err == nil {
			t.Errorf("%d threads were accepted", n)
		}
	}
}

// countingPlans makes a new plan at every request, as a cache that is off does.
type countingPlans struct{ asked [][2]int }

func (c *countingPlans) Plan(h, w int) *fft.Plan {
	c.asked = append(c.asked, [2]int{h, w})
	p, err := fft.NewPlan(h, w)
	if err != nil {
		panic(err)
	}
	return p
}

func TestFFTPlansAreAskedForAtEveryExecution(t *testing.T) {
	plans := &countingPlans{}
	be, err := cpu.New(cpu.Options{Threads: 2, FFTPlans: plans})
	if err != nil {
		t.Fatal(err)
	}
	defer be.Close()
	z := random(tensor.Complex64, 8, 12)
	s, err := nntest.NewStep(be, nn.FFT{}, []nntest.Array{z}, []nntest.Result{{Shape: z.Shape, DType: z.DType}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 3 {
		if _, err := s.Run(); err != nil {
			t.Fatal(err)
		}
	}
	if want := [][2]int{{8, 12}, {8, 12}, {8, 12}}; !slices.Equal(plans.asked, want) {
		t.Errorf("asked for %v, want %v", plans.asked, want)
	}
}

func TestScratchIsReported(t *testing.T) {
	be := open(t, 1)
	x := random(tensor.BFloat16, 1000)
	s, err := nntest.NewStep(be, nn.Activation{}, []nntest.Array{x}, []nntest.Result{{Shape: x.Shape, DType: x.DType}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	// Both operands are widened to 4 bytes an element, at most a line apart.
	if got := s.Exec.ScratchBytes(); got < 8000 || got > 8000+128 {
		t.Errorf("%d bytes of scratch, want 8000 and padding", got)
	}
}
