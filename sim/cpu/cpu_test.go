package cpu_test

import (
	"testing"

	"go.uber.org/goleak"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open makes a backend that is closed with the test.
func open(t testing.TB, threads int) *cpu.Backend {
	t.Helper()
	b, err := cpu.New(cpu.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func TestConformance(t *testing.T) {
	nntest.Run(t, func(t *testing.T, threads int) nn.Backend { return open(t, threads) })
}
