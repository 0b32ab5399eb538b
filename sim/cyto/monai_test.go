package cyto

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/weights"
)

// CytoDL's checkpoints of MONAI's DynUNet put out what MONAI does (testdata/make.py), and what is written under MONAI's
// names has all names of its state_dict with the same numbers.
func TestMONAIsNetwork(t *testing.T) {
	for _, c := range []struct {
		config Config
		sides  [3]int
	}{
		{Config{Axes: 3, Filters: []int{2, 3, 4}}, [3]int{8, 8, 8}}, {Config{Axes: 2, Filters: []int{2, 3, 4, 5}}, [3]int{1, 16, 16}},
	} {
		p := load(t, c.config, PlanOptions{Batch: 1, Sides: c.sides}, cpu.Options{Threads: 1})
		path := fmt.Sprintf("testdata/monai-%dd.ckpt", c.config.Axes)
		all, said, err := p.net.ReadWeights(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(said, "; "); !strings.HasSuffix(got, "the names in the file of weights are those of MONAI's DynUNet") || !strings.Contains(got, "left out backbone. of ") {
			t.Errorf("said %q", got)
		}
		if err := p.net.SetWeights(p.State, all); err != nil {
			t.Fatal(err)
		}
		shape := []int{1, 1, c.sides[0], c.sides[1], c.sides[2]}
		if c.config.Axes == 2 {
			shape = []int{1, 1, c.sides[1], c.sides[2]}
		}
		want, _, err := weights.Read(t.Context(), fmt.Sprintf("testdata/monai-%dd.npz", c.config.Axes), weights.Network{Arrays: []weights.Tensor{{Name: "image", Shape: shape}, {Name: "output", Shape: shape}}})
		if err != nil {
			t.Fatal(err)
		}
		p.Write(ImageInput, want[0].Values)
		p.Run(nn.SegmentForward)
		for i, v := range p.Read(LogitsOutput) {
			if math.Abs(float64(v-want[1].Values[i])) > 2e-5 {
				t.Errorf("%s: output %d is %g, MONAI's %g", path, i, v, want[1].Values[i])
				break
			}
		}

		names := p.net.Names()[0]
		renamed := names.Rename(all)
		written := filepath.Join(t.TempDir(), "w.safetensors")
		if err := weights.Write(written, renamed); err != nil {
			t.Fatal(err)
		}
		both := weights.Network{} // MONAI's names, of which none may be missing in either file
		for _, r := range renamed {
			both.Arrays = append(both.Arrays, weights.Tensor{Name: r.Name, Shape: r.Shape})
		}
		theirs, _, err := weights.Read(t.Context(), path, both)
		if err != nil {
			t.Fatal(err)
		}
		ours, _, err := weights.Read(t.Context(), written, both)
		if err != nil {
			t.Fatal(err)
		}
		for i := range ours {
			if !slices.Equal(ours[i].Values, theirs[i].Values) {
				t.Errorf("%s differs", ours[i].Name)
			}
		}
	}
}
