package outside

import (
	"testing"

	"prismtop/profiles/loop"
)

// A knob of the program's own leaves PyTorch's their keys, if these are there.
func TestOwnKnobsLeavePyTorchsTheirKeys(t *testing.T) {
	there := []loop.Knob{{Key: "autocast"}, {Key: "compile", Why: "no compiler"}, {Key: "accumulate"}}
	for name, want := range map[string]string{"accumulate": "c", "aa": "A", "Compile": "C", "extra": "e"} {
		if got := letter(name, there); got != want {
			t.Errorf("%s asks for %q, want %q", name, got, want)
		}
	}
	if got := letter("accumulate", nil); got != "a" {
		t.Errorf("by itself it asks for %q", got)
	}
}
