package against_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/verify/against"
)

var tiny = against.Options{Sizes: [][2]int{{16, 8}}, Modes: []string{"off", "bf16"}, Iterations: 2}

func processor(t *testing.T) nn.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// flawed computes one operator wrongly, or not at all.
type flawed struct {
	nn.Backend
	op     string
	off    float32 // added to its first result
	absent bool
}

func (b flawed) Load(ctx context.Context, plan *nn.Plan, s nn.State) (nn.Executable, error) {
	exe, err := b.Backend.Load(ctx, plan, s)
	if err != nil {
		return nil, err
	}
	for i := range plan.Steps {
		if strings.HasSuffix(fmt.Sprintf("%T", plan.Steps[i].Op), "."+b.op) {
			if b.absent {
				exe.Close()
				return nil, errors.New("no kernel")
			}
			return flawedExecutable{exe, plan.Steps[i].Out[0], b.off}, nil
		}
	}
	return exe, nil
}

type flawedExecutable struct {
	nn.Executable
	out nn.BufferID
	off float32
}

func (x flawedExecutable) Read(id nn.BufferID, dst []float32) {
	x.Executable.Read(id, dst)
	if id == x.out {
		dst[0] += x.off
	}
}

func TestABackendIsItself(t *testing.T) {
	r, err := against.Compare(t.Context(), processor(t), processor(t), tiny)
	if err != nil || !fine(r) {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(r.Operators) < 30 || len(r.Trainings) != 2 {
		t.Errorf("%d operators, %d trainings", len(r.Operators), len(r.Trainings))
	}
	for _, o := range r.Operators {
		if o.Worst != 0 || o.Steps == 0 || o.Limit <= 0 || !strings.HasSuffix(o.At, " 16/8") {
			t.Errorf("%+v", o)
		}
	}
	for _, training := range r.Trainings {
		if !training.Repeats || training.Mode == "off" && training.Worst != 0 {
			t.Errorf("%+v", training)
		}
	}
}

// The networks of the other workloads bring operators that PRISM's plans do not have.
func TestNetworksHaveTheirOwnOperators(t *testing.T) {
	o := tiny
	o.Ptychography, o.Cells, o.Modes, o.Iterations = true, [][3]int{{4, 8, 8}, {1, 16, 16}}, []string{"off"}, 0
	r, err := against.Compare(t.Context(), flawed{Backend: processor(t), op: "SumPatches", off: 10}, processor(t), o)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, operator := range r.Operators {
		if found[operator.Name] = true; operator.OK == (operator.Name == "SumPatches") {
			t.Errorf("%+v", operator)
		}
	}
	for _, name := range []string{"Polar", "PolarGrad", "SumPatches", "ExtractPatches", "DivideByCoverage", "ProbeMultiply", "Intensity", "IntensityGrad", "ExpScale",
		"ExpScaleGrad", "PoissonLoss", "PoissonLossGrad", "Inset", "Upsample", "MaxPool", "Swish", "Conv3D", "Conv3DGradInput", "Conv3DGradWeight",
		"ConvTranspose3D", "ConvTranspose3DGradInput", "ConvTranspose3DGradWeight", "InstanceNorm", "InstanceNormGrad", "DiceBCE", "DiceBCEGrad", "SquaredError", "SquaredErrorGrad"} {
		if !found[name] {
			t.Errorf("%s is not compared", name)
		}
	}
}

func TestAnOperatorThatIsOffIsFound(t *testing.T) {
	for _, op := range []string{"ConvTranspose2D", "Measure", "LossGrad", "ConvAdam", "FFT"} {
		r, err := against.Compare(t.Context(), flawed{Backend: processor(t), op: op, off: 10}, processor(t), tiny)
		if err != nil || fine(r) {
			t.Fatalf("%s: OK, %v", op, err)
		}
		for _, o := range r.Operators {
			if o.OK == (o.Name == op) {
				t.Errorf("%s is off: %+v", op, o)
			}
		}
	}
}

func TestAnOperatorWithoutAKernelIsNamed(t *testing.T) {
	r, err := against.Compare(t.Context(), flawed{Backend: processor(t), op: "BatchNorm", absent: true}, processor(t), tiny)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range r.Operators {
		if failed := o.Name == "BatchNorm"; failed != (o.Error == "no kernel") || failed != (o.Worst == -1) || failed == o.OK {
			t.Errorf("%+v", o)
		}
	}
	for _, training := range r.Trainings {
		if training.OK || training.Error != "no kernel" {
			t.Errorf("%+v", training)
		}
	}
}

func TestADeviceThatIsLostEndsTheComparison(t *testing.T) {
	n := 0
	b := &beside.Backend{Backend: processor(t), Fault: func(operation string) error {
		if n++; operation == "run" && n > 100 {
			return &beside.LostError{During: "kernel x"}
		}
		return nil
	}}
	r, err := against.Compare(t.Context(), b, processor(t), tiny)
	if !nn.Lost(err) || r == nil || len(r.Operators) == 0 || fine(r) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAContextEndsTheComparison(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := tiny
	o.Progress = func(string) { cancel() }
	if _, err := against.Compare(ctx, processor(t), processor(t), o); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestModesAreKnown(t *testing.T) {
	_, err := against.Compare(t.Context(), processor(t), processor(t), against.Options{Sizes: [][2]int{{16, 8}}, Modes: []string{"fp8"}})
	if err == nil || err.Error() != `mode "fp8": must be one of off, tf32, bf16x3, bf16, fp16` {
		t.Errorf("error %v", err)
	}
}

// fine reports whether everything was within its limit.
func fine(r *against.Report) bool {
	return !slices.ContainsFunc(r.Operators, func(o against.Operator) bool { return !o.OK }) &&
		!slices.ContainsFunc(r.Trainings, func(t against.Training) bool { return !t.OK })
}
