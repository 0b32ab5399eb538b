package ptycho

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/weights"
)

// A network under PtychoPINN's names is read back with the same numbers; what differs is named by its field.
func TestPtychoPINNsNames(t *testing.T) {
	n, err := New(Config{Size: 64, GridSize: 2, FiltersScale: 1, ProbeBig: true})
	if err != nil {
		t.Fatal(err)
	}
	all := n.Seeded(3)
	for _, names := range n.Names() {
		path := filepath.Join(t.TempDir(), "w.safetensors")
		renamed := names.Rename(all)
		for i := range renamed {
			renamed[i].Name = "model." + renamed[i].Name // as trainers of Lightning have it
		}
		if err := weights.Write(path, renamed); err != nil {
			t.Fatal(err)
		}
		read, said, err := n.ReadWeights(t.Context(), path)
		if err != nil {
			t.Errorf("%s: %v", names.Key, err)
			continue
		}
		for i, w := range read {
			if w.Name != all[i].Name || !slices.Equal(w.Shape, all[i].Shape) || !slices.Equal(w.Values, all[i].Values) {
				t.Errorf("%s: %s differs", names.Key, w.Name)
			}
		}
		if got := said[len(said)-1]; got != "the names in the file of weights are those of "+names.Program {
			t.Errorf("%s: said %q", names.Key, got)
		}
	}

	keras := n.Names()[0].Rename(all)
	if first, last := keras[0], keras[len(keras)-2]; first.Name != "conv2d/kernel" || !slices.Equal(first.Shape, []int{3, 3, 4, 32}) || first.Values[1] != all[0].Values[36] || last.Name != "conv2d_15/bias" {
		t.Errorf("%s %v …, %s", first.Name, first.Shape, last.Name)
	}
	for change, want := range map[string]string{
		"autoencoder.encoder.blocks.0.attention.ChannelGate.mlp.1.weight": "cbam_encoder or eca_encoder is set",
		"autoencoder.decoder_phase.blocks.0.bn1.weight":                   "batch_norm is set",
	} {
		path := filepath.Join(t.TempDir(), "w.npz")
		if err := weights.Write(path, append(n.Names()[1].Rename(all), weights.Tensor{Name: change, Shape: []int{1}, Values: []float32{1}})); err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.ReadWeights(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, c := range []struct {
		config Config
		keys   string
		other  string // what refuses the names of the program whose heads differ
	}{
		{Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true}, "keras", "heads = ptycho_torch has them"},
		{Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true, Heads: "ptycho_torch"}, "ptycho_torch", ""},
		{Config{Size: 128, GridSize: 2, FiltersScale: 1, ProbeBig: true, Heads: "ptycho_torch"}, "ptycho_torch", ""},
		{Config{Size: 128, GridSize: 2, FiltersScale: 1, ProbeBig: true}, "keras", "heads = ptycho_torch has them"},
	} {
		n, err := New(c.config)
		if err != nil {
			t.Fatal(err)
		}
		keys := ""
		for _, names := range n.Names() {
			keys += names.Key
		}
		if keys != c.keys {
			t.Errorf("%+v has the names of %s, want %s", c.config, keys, c.keys)
		}
		port := c.config
		port.Heads = "ptycho_torch"
		theirs, err := New(port)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "w.npz")
		names := theirs.port()
		if err := weights.Write(path, names.Rename(theirs.Seeded(3))); err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.ReadWeights(t.Context(), path); (err == nil) != (c.other == "") || err != nil && !strings.Contains(err.Error(), c.other) {
			t.Errorf("%+v: %v, want %s", c.config, err, c.other)
		}
	}
	// The names of a network tell the setting by which it differs.
	for want, as := range map[string]Config{
		"it is of a network with gridsize = 3":                                  {Size: 64, GridSize: 3, FiltersScale: 1, ProbeBig: true},
		"it is of a network with filters_scale = 2, or of another size than 64": {Size: 64, GridSize: 2, FiltersScale: 2, ProbeBig: true},
	} {
		theirs, err := New(as)
		if err != nil {
			t.Fatal(err)
		}
		keras, port := theirs.keras(), theirs.port()
		for i, all := range [][]weights.Tensor{theirs.Seeded(3), keras.Rename(theirs.Seeded(3)), port.Rename(theirs.Seeded(3))} {
			path := filepath.Join(t.TempDir(), "w.npz")
			if err := weights.Write(path, all); err != nil {
				t.Fatal(err)
			}
			if _, _, err := n.ReadWeights(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("names %d: %v, want %s", i, err, want)
			}
		}
	}
	for _, as := range []Config{{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true, Heads: "ptycho_torch"}, {Size: 128, GridSize: 2, FiltersScale: 1, ProbeBig: true}} {
		theirs, err := New(as)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "w.npz")
		if err := weights.Write(path, theirs.Seeded(3)); err != nil {
			t.Fatal(err)
		}
		as.Heads = map[string]string{"ptycho_torch": "", "": "ptycho_torch"}[as.Heads]
		ours, err := New(as)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := ours.ReadWeights(t.Context(), path); err == nil || !strings.HasSuffix(err.Error(), "heads = "+cmp.Or(theirs.config.Heads, "keras")+" has them") {
			t.Errorf("%+v: %v", as, err)
		}
	}
	one, err := New(Config{Size: 64, GridSize: 1, FiltersScale: 1, ProbeBig: true})
	if err != nil {
		t.Fatal(err)
	}
	single := n.Names()[0].Rename(all)
	theirs := one.Names()[0].Rename(one.Seeded(3))
	for i := range single { // object_big = false: the heads of a network of groups put out one channel
		if strings.HasPrefix(single[i].Name, "conv2d_6/") || strings.HasPrefix(single[i].Name, "conv2d_7/") {
			single[i] = theirs[i]
		}
	}
	path := filepath.Join(t.TempDir(), "w.npz")
	if err := weights.Write(path, single); err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.ReadWeights(t.Context(), path); err == nil || !strings.Contains(err.Error(), "object_big = false") {
		t.Errorf("%v", err)
	}
}
