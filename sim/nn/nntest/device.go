package nntest

import (
	"testing"

	"prismtop/sim/nn"
	"prismtop/sim/tensor"
)

// checkDevice checks a backend's description of itself, that the number of threads
// affects only its speed, and that it can be closed twice.
func checkDevice(t *testing.T, open func(t *testing.T, threads int) nn.Backend) {
	be := open(t, 2)
	if be.Name() == "" || be.Device() == "" || be.Kernels() == "" {
		t.Errorf("name %q, device %q, kernels %q: must not be empty", be.Name(), be.Device(), be.Kernels())
	}
	s := newSource(12)
	step, err := NewStep(be, nn.Conv2D{Stride: 1, Pad: 1},
		[]Array{s.normal(tensor.Float32, 1, 16, 32, 32), s.normal(tensor.Float32, 16, 16, 3, 3)},
		[]Result{{Shape: tensor.Shape{1, 16, 32, 32}}})
	if err != nil {
		t.Fatal(err)
	}
	kernels, fixed := be.Kernels(), be.Threads()
	var first []float32
	for _, n := range []int{1, 3, 2, 0, -1, 1 << 30, 1} {
		be.SetThreads(n)
		switch now := be.Threads(); {
		case now < 1:
			t.Errorf("%d threads after asking for %d: must be at least 1", now, n)
		case n >= 1 && n <= threads && now != n && now != fixed:
			t.Errorf("%d threads after asking for %d: must be %d, or always %d", now, n, n, fixed)
		}
		if n > threads {
			be.SetThreads(threads)
		}
		got, err := step.Run()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got[0]
		} else if at := firstDifference(got[0], first); at >= 0 {
			t.Errorf("asked for %d threads: output[%d] = %v, on one thread %v", n, at, got[0][at], first[at])
		}
	}
	if be.Kernels() != kernels {
		t.Errorf("kernels %q became %q with other threads", kernels, be.Kernels())
	}
	step.Close()
	be.Close()
	be.Close()
}
