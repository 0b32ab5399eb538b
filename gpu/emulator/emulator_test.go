package emulator

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"prismtop/gpu/driver"
	"prismtop/gpu/emulator/ptx"
)

var checked = ptx.Checks{Uninitialised: true, Races: true}

// open starts an emulated driver with a current context for the test's thread.
func open(t testing.TB, o Options) *Driver {
	t.Helper()
	runtime.LockOSThread()
	d := New(o)
	must(t, d.Init())
	c, err := d.PrimaryContextRetain(0)
	must(t, err)
	must(t, d.ContextSetCurrent(c))
	t.Cleanup(runtime.UnlockOSThread)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// upload copies a slice to new device memory.
func upload[T any](t testing.TB, d *Driver, x []T) driver.Pointer {
	t.Helper()
	p, err := d.MemAlloc(int64(len(x)) * int64(unsafe.Sizeof(x[0])))
	must(t, err)
	must(t, d.MemcpyHtoD(p, rawBytes(x)))
	return p
}

func rawBytes[T any](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(x[0])))
}

// blank allocates device memory for n elements.
func blank[T any](t testing.TB, d *Driver, n int) driver.Pointer {
	t.Helper()
	var zero T
	p, err := d.MemAlloc(int64(n) * int64(unsafe.Sizeof(zero)))
	must(t, err)
	return p
}

func download[T any](t testing.TB, d *Driver, p driver.Pointer, n int) []T {
	t.Helper()
	x := make([]T, n)
	must(t, d.MemcpyDtoH(rawBytes(x), p))
	return x
}

func loadFile(t testing.TB, d *Driver, name string) driver.Module {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	must(t, err)
	m, err := d.ModuleLoadData(append(text, 0))
	must(t, err)
	return m
}

func kernel(t testing.TB, d *Driver, m driver.Module, name string) driver.Function {
	t.Helper()
	f, err := d.ModuleGetFunction(m, name)
	must(t, err)
	return f
}

// pack lays out parameters as a struct in C.
func pack(t testing.TB, fields ...any) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, f := range fields {
		for b.Len()%binary.Size(f) != 0 {
			b.WriteByte(0)
		}
		must(t, binary.Write(&b, binary.NativeEndian, f))
	}
	for b.Len()%8 != 0 {
		b.WriteByte(0)
	}
	return b.Bytes()
}

func TestBasicKernels(t *testing.T) {
	for _, arch := range []string{"75", "80"} {
		t.Run(arch, func(t *testing.T) {
			d := open(t, Options{Checks: checked})
			m := loadFile(t, d, "basic_sm"+arch+".ptx")
			const n = 1000
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				x[i], y[i] = float32(i)/7, float32(n-i)/3
			}
			px, py := upload(t, d, x), upload(t, d, y)
			must(t, d.LaunchKernel(kernel(t, d, m, "saxpy"), driver.X(3), driver.X(128), 0, 0, pack(t, px, py, int32(n), float32(2.5))))
			must(t, d.ContextSynchronize())
			for i, got := range download[float32](t, d, py, n) {
				if want := float32(math.FMA(2.5, float64(x[i]), float64(y[i]))); got != want {
					t.Fatalf("y[%d] = %v, want %v", i, got, want)
				}
			}
			pt := blank[float32](t, d, n)
			must(t, d.LaunchKernel(kernel(t, d, m, "transpose"), driver.XY(2, 1), driver.XY(32, 8), 0, 0, pack(t, px, pt, int32(40), int32(25))))
			for i, got := range download[float32](t, d, pt, n) {
				if want := x[i%25*40+i/25]; got != want {
					t.Fatalf("transposed[%d] = %v, want %v", i, got, want)
				}
			}
			ps := blank[float32](t, d, 1)
			must(t, d.LaunchKernel(kernel(t, d, m, "sum"), driver.X(1), driver.X(256), 0, 0, pack(t, px, ps, int32(n), int32(0))))
			must(t, d.ContextSynchronize())
			if got, want := download[float32](t, d, ps, 1)[0], 999.0*1000/14; math.Abs(float64(got)-want) > 0.05 {
				t.Errorf("sum = %v, want %v", got, want)
			}
			u := make([]uint32, n)
			for i := range u {
				u[i] = uint32(i + 1)
			}
			pu, pc, pl := upload(t, d, u), blank[uint32](t, d, n), blank[uint64](t, d, n)
			must(t, d.LaunchKernel(kernel(t, d, m, "collatz"), driver.X(8), driver.X(128), 0, 0, pack(t, pu, pc, int32(n))))
			must(t, d.LaunchKernel(kernel(t, d, m, "local"), driver.X(8), driver.X(128), 0, 0, pack(t, pu, pl, int32(n))))
			must(t, d.ContextSynchronize())
			reversed := download[uint64](t, d, pl, n)
			for i, got := range download[uint32](t, d, pc, n) {
				var want uint32
				for v := u[i]; v != 1; want++ {
					if v&1 == 1 {
						v = 3*v + 1
					} else {
						v /= 2
					}
				}
				if got != want {
					t.Fatalf("collatz(%d) = %d, want %d", u[i], got, want)
				}
				var r uint64
				for v := uint64(u[i]) * 4294967291; v > 0; v /= 10 {
					r = r*10 + v%10
				}
				if reversed[i] != r {
					t.Fatalf("reversed digits %d, want %d", reversed[i], r)
				}
			}
		})
	}
}
