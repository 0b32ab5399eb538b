package driver

import (
	"errors"
	"fmt"
	"testing"
)

func TestErrorNamesTheCallAndItsMeaning(t *testing.T) {
	for _, test := range []struct {
		err  Error
		want string
	}{
		{Error{Call: "cuInit", Result: SystemMismatch}, "cuInit: the driver library and the kernel module have different versions: reboot or reload the module (803)"},
		{Error{Call: "cuMemAlloc", Result: OutOfMemory, Detail: "64 bytes asked for"}, "cuMemAlloc: out of memory (2): 64 bytes asked for"},
		{Error{Call: "cuInit", Result: 77}, "cuInit: CUDA error 77"},
	} {
		if got := test.err.Error(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		if got := As(fmt.Errorf("starting: %w", &test.err)); got != test.err.Result {
			t.Errorf("As = %d, want %d", got, test.err.Result)
		}
	}
	if As(nil) != 0 || As(errors.New("of something else")) != 0 {
		t.Error("As finds a result in errors that have none")
	}
}

func TestClasses(t *testing.T) {
	for class, results := range map[Class][]Result{
		Memory:  {2},
		Absent:  {3, 34, 46, 100, 101},
		TooOld:  {209, 218, 221, 222, 802, 803, 804},
		Capture: {900, 901, 906, 908},
		Sticky:  {4, 214, 700, 702, 709, 710, 715, 716, 717, 719, 999},
		Other:   {0, 1, 201, 400, 500, 600, 701, 801, 899, 909},
	} {
		for _, r := range results {
			if got := r.Class(); got != class {
				t.Errorf("%v is of class %d, want %d", r, got, class)
			}
		}
	}
}

func TestErrorsOfADriverWithoutGraphs(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{&Error{Result: CaptureUnsupported}, true}, {&Error{Result: NotSupported}, true}, {fmt.Errorf("cuGraphLaunch: %w", ErrMissing), true},
		{&Error{Result: OutOfMemory}, false}, {&Error{Result: InvalidValue}, false}, {errors.New("another"), false}, {nil, false},
	} {
		if got := NoGraphs(test.err); got != test.want {
			t.Errorf("%v: %v, want %v", test.err, got, test.want)
		}
	}
}
