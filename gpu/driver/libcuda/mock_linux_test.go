//go:build !nogpu

package libcuda

import (
	"runtime"
	"strings"
	"testing"

	"prismtop/gpu/driver"
	"prismtop/gpu/library"
	"prismtop/gpu/library/librarytest"
)

const ptx = ".version 7.0\n.target sm_75\n.visible .entry fill(\n\t.param .align 8 .b8 fill_param_0[16]\n)\n{ ret; }\n\x00"

// mock is the library of testdata, with a state of its own.
type mock struct {
	*cuda
	fail func(calls string)
	log  func(text *byte, bytes uint64)
	live func() int32
	seen func() uintptr
}

// build compiles the library of testdata without some of its functions.
func build(t testing.TB, without ...string) string {
	t.Helper()
	var flags []string
	for _, symbol := range without {
		flags = append(flags, librarytest.Without(symbol))
	}
	return librarytest.Build(t, "testdata/libcuda.c", flags...)
}

func open(t testing.TB, path string) mock {
	t.Helper()
	opened, err := OpenFrom("libabsent.so.1", path)
	if err != nil {
		t.Fatal(err)
	}
	l, err := library.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	m := mock{cuda: opened.(*cuda)}
	err = l.BindAll([]library.Binding{
		{Symbol: "mock_fail", Func: &m.fail},
		{Symbol: "mock_log", Func: &m.log},
		{Symbol: "mock_live", Func: &m.live},
		{Symbol: "mock_seen", Func: &m.seen},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// calls returns the calls of the library since the last time, with their arguments.
func (m mock) calls() []string {
	text := make([]byte, 1<<16)
	m.log(&text[0], uint64(len(text)))
	return strings.Split(strings.TrimSuffix(library.Text(text), "\n"), "\n")
}

// ready makes the context current to the test's thread until the test ends.
func (m mock) ready(t testing.TB) {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	must(t, m.Init())
	must(t, m.ContextSetCurrent(result(m.PrimaryContextRetain(result(m.DeviceGet(0))(t)))(t)))
	m.calls()
}

func (m mock) fill(t testing.TB) driver.Function {
	t.Helper()
	f := result(m.ModuleGetFunction(result(m.ModuleLoadData([]byte(ptx)))(t), "fill"))(t)
	m.calls()
	return f
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// result returns a function that returns value, and ends the test if there is an error.
func result[T any](value T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return value
	}
}
