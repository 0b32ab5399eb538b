package emulator

import (
	"fmt"
	"testing"
	"time"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/ptx"
)

// BenchmarkKernels reports thread instructions per second on one goroutine, with and without checks.
func BenchmarkKernels(b *testing.B) {
	const n = 1 << 16
	x, u := make([]float32, n), make([]uint32, n)
	for i := range x {
		x[i], u[i] = float32(i), uint32(i+1)
	}
	for _, name := range []string{"saxpy", "transpose", "sum", "collatz"} {
		for _, checks := range []ptx.Checks{{}, {Uninitialised: true}, {Uninitialised: true, Races: true}} {
			b.Run(fmt.Sprintf("%s/%+v", name, checks), func(b *testing.B) {
				d := open(b, Options{Checks: checks, Workers: 1})
				f := kernel(b, d, loadFile(b, d, "basic_sm80.ptx"), name)
				px, py, pu := upload(b, d, x), upload(b, d, x), upload(b, d, u)
				grid, block, parameter := driver.X(n/256), driver.X(256), pack(b, px, py, int32(n), float32(2))
				switch name {
				case "transpose":
					grid, block, parameter = driver.XY(8, 8), driver.XY(32, 8), pack(b, px, py, int32(256), int32(256))
				case "sum":
					grid, parameter = driver.X(1), pack(b, px, py, int32(n), int32(0))
				case "collatz":
					parameter = pack(b, pu, py, int32(n))
				}
				before, began := d.Steps(), time.Now()
				for b.Loop() {
					must(b, d.LaunchKernel(f, grid, block, 0, 0, parameter))
				}
				must(b, d.ContextSynchronize())
				b.ReportMetric(float64(d.Steps()-before)/1e6/time.Since(began).Seconds(), "Minstr/s")
			})
		}
	}
}
