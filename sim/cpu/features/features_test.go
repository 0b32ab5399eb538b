package features

import (
	"runtime"
	"testing"
)

func TestDetectExplainsEveryMissingSet(t *testing.T) {
	cpu := Detect()
	if cpu.Logical < 1 || cpu.Arch != runtime.GOARCH {
		t.Fatalf("Detect() = %+v", cpu)
	}
	if (cpu.Model == "") == (cpu.Reason == "") {
		t.Errorf("model %q with reason %q: exactly one must be given", cpu.Model, cpu.Reason)
	}
	for _, s := range cpu.Sets {
		if s.Available == (s.Reason != "") {
			t.Errorf("%s: available %v with reason %q", s.Name, s.Available, s.Reason)
		}
		if cpu.Has(s.Name) != s.Available {
			t.Errorf("Has(%q) = %v", s.Name, cpu.Has(s.Name))
		}
	}
	if cpu.Has("no such set") {
		t.Error("Has reports a set that does not exist")
	}
}

func TestSupportNamesWhatIsMissing(t *testing.T) {
	s := set{"x", []requirement{{"a", true}, {"b", false}, {"c", false}}}.support()
	if s.Available || s.Reason != "the processor or the operating system does not offer b, c" {
		t.Errorf("support() = %+v", s)
	}
}
