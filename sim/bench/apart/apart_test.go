package apart

import (
	"strings"
	"testing"
)

func TestOutputIsBounded(t *testing.T) {
	h, tail := Head{Most: 8}, Tail{Most: 8}
	for _, text := range []string{"one\n", "two\n", strings.Repeat("x", 100), "\nthree\n"} {
		for _, w := range []interface{ Write([]byte) (int, error) }{&h, &tail} {
			if n, err := w.Write([]byte(text)); n != len(text) || err != nil {
				t.Fatalf("%T wrote %d of %d bytes, %v", w, n, len(text), err)
			}
		}
	}
	if h.String() != "one\ntwo\n" {
		t.Errorf("the beginning is %q", h.String())
	}
	if tail.String() != "three\n" {
		t.Errorf("the end is %q", tail.String())
	}
}

func TestLastLines(t *testing.T) {
	for text, want := range map[string]string{"": "", "\n \n": "", "one": "one", "one\ntwo\n\n": "two", " one \n": "one"} {
		if got := LastLine(text); got != want {
			t.Errorf("LastLine(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCrashesOfTheRuntimeAreOfMemory(t *testing.T) {
	const nothing = "SIGSEGV: segmentation violation\nPC=0x436a3d m=4 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x2 m=4 mp=0x2 [idle]:\n"
	for complaint, want := range map[string]bool{
		nothing + "runtime.newMarkBits(0x96d?)\n":                                          true,
		nothing + "prismtop/sim/cpu/vec.kernel()\n":                                        false,
		strings.Replace(nothing, "goroutine 0", "goroutine 7", 1) + "runtime.sigpanic()\n": false,
		"fatal error: runtime: out of memory\n":                                            true,
		"panic: index out of range\n":                                                      false,
	} {
		if _, got := OutOfMemory(nil, complaint); got != want {
			t.Errorf("%q: %v", complaint, got)
		}
	}
}
