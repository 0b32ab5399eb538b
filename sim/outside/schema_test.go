package outside

import (
	"testing"

	"prismtop/profiles/loop"
	"prismtop/profiles/preset"
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

// Recordings of a program whose malloc keeps its memory from the start allow less for the process, and say so.
func TestMemoryKeptFromTheStartIsInTheRecording(t *testing.T) {
	for _, kept := range []bool{false, true} {
		knob := loop.Knob{Key: "keep_memory", Type: loop.Bool, Values: []string{"off", "on"}, Value: "off", Price: loop.Cheap}
		want := layout
		if kept {
			knob.Value, knob.Why, want = "on", "from the start", keptLayout
		}
		g := &loop.Greeting{Kept: kept, Knobs: []loop.Knob{knob}}
		if got := Schema(g).Layout; got != want {
			t.Errorf("kept %t: %g are allowed for the process, want %g", kept, got, want)
		}
		shelf, err := Table(g)
		if err != nil {
			t.Fatal(err)
		}
		found, err := preset.Shelves{shelf}.Lookup(shelf.Default)
		if v := found.Settings; err != nil || v.On("keep_memory") != kept {
			t.Errorf("kept %t: keep_memory is %t, %v", kept, v.On("keep_memory"), err)
		}
	}
}
