package loader

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"prismtop/sim/cyto"
	"prismtop/sim/cyto/stack"
)

func load(t testing.TB, d Dataset, i int) cyto.Pair {
	t.Helper()
	p, _, err := d.Load(t.Context(), i)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Synthetic images depend on their seed alone, whether they are in memory or drawn on
// demand; a signal is the same nuclei without noise.
func TestSyntheticImagesComeFromTheirSeed(t *testing.T) {
	o := SyntheticOptions{Images: 3, Cells: cyto.CellsOptions{Sides: [3]int{4, 24, 24}, Cells: 3, Noise: 0.05, Seed: 8}}
	kept, err := Synthetic(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.OnDemand = true
	drawn, err := Synthetic(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Signal = true
	signals, err := Synthetic(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range kept.Len() {
		a, b, s := load(t, kept, i), load(t, drawn, i), load(t, signals, i)
		if !slices.Equal(a.Image.Values, b.Image.Values) || !slices.Equal(a.Target.Values, b.Target.Values) || !slices.Equal(a.Image.Values, s.Image.Values) {
			t.Errorf("image %d differs if it is drawn on demand", i)
		}
		if i > 0 && slices.Equal(a.Image.Values, load(t, kept, i-1).Image.Values) {
			t.Errorf("images %d and %d are the same", i-1, i)
		}
		correlation := 0.0
		for j := range s.Image.Values {
			correlation += float64(s.Image.Values[j]*s.Target.Values[j]) / float64(len(s.Image.Values))
		}
		if correlation < 0.9 || correlation > 0.9999 { // both have a mean of 0 and a deviation of 1
			t.Errorf("the correlation of image and signal is %.4f", correlation)
		}
	}
	if kept.Name(2) != "synthetic image 3" {
		t.Errorf("%q", kept.Name(2))
	}
	for want, o := range map[string]SyntheticOptions{
		"0 synthetic images":  {Cells: cyto.CellsOptions{Sides: [3]int{1, 1, 1}}},
		"sides of 0x4x4":      {Images: 1, Cells: cyto.CellsOptions{Sides: [3]int{0, 4, 4}}, OnDemand: true},
		"noise of NaN":        {Images: 1, Cells: cyto.CellsOptions{Sides: [3]int{1, 4, 4}, Noise: math.NaN()}, OnDemand: true},
		"-1 cells":            {Images: 1, Cells: cyto.CellsOptions{Sides: [3]int{1, 4, 4}, Cells: -1}, OnDemand: true},
		"cells: sides of 4x0": {Images: 2, Cells: cyto.CellsOptions{Sides: [3]int{4, 0, 4}}},
	} {
		if _, err := Synthetic(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Every image is loaded once, by however many goroutines it is asked for, as long as it
// fits.
func TestCachedImagesAreLoadedOnce(t *testing.T) {
	d := newNumbered(4, [3]int{1, 2, 2})
	c := Cached(d, 3*2*4*4) // three pairs of four voxels
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 3 {
				if p, _, err := c.Load(t.Context(), i); err != nil || p.Image.Values[0] != float32(i*10000) {
					t.Errorf("%v, %v", p, err)
				}
			}
		})
	}
	group.Wait()
	if d.loads.Load() != 3 {
		t.Errorf("%d loads of 3 images", d.loads.Load())
	}
	if _, read, _ := c.Load(t.Context(), 1); read != 0 {
		t.Errorf("%d bytes read for an image in memory", read)
	}
	for range 2 {
		if _, read, _ := c.Load(t.Context(), 3); read != 100 {
			t.Errorf("%d bytes read for an image that does not fit", read)
		}
	}
}

// write writes a stack of two channels: a ramp, and its place in a chess board of 0 and 0.5.
func write(t testing.TB, path string, sides [3]int) {
	t.Helper()
	n := sides[0] * sides[1] * sides[2]
	p := stack.Pixels[float32]{Sides: [4]int{2, sides[0], sides[1], sides[2]}, Values: make([]float32, 2*n)}
	for i := range n {
		p.Values[i] = float32(i)
		p.Values[n+i] = float32(i%2) / 2
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := stack.Write(t.Context(), path, p); err != nil {
		t.Fatal(err)
	}
}

// Files are read as CytoDL's experiments read them: one channel of each, smaller, images
// normalised, targets above a threshold.
func TestFilesBecomePairs(t *testing.T) {
	folder := t.TempDir()
	a, b := filepath.Join(folder, "a.ome.tif"), filepath.Join(folder, "b.npy")
	write(t, a, [3]int{4, 8, 8})
	write(t, b, [3]int{4, 8, 8})
	open := func(o FileOptions, items ...Item) Dataset {
		d, err := Files(items, o)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	normal := func(x ...float32) []float32 {
		cyto.Normalise(x)
		return x
	}
	one := Item{Image: a, ImageChannel: "0", Target: a, TargetChannel: "1"}
	p := load(t, open(FileOptions{Zoom: CytoZoom}, one), 0)
	if want := normal(109.5, 113.5, 141.5, 145.5); p.Image.Sides != [3]int{1, 2, 2} || !slices.Equal(p.Image.Values, want) || !slices.Equal(p.Target.Values, []float32{1, 1, 1, 1}) {
		t.Errorf("%v, want %v", p, want)
	}
	p = load(t, open(FileOptions{Planar: true, Plane: 3, Signal: true}, Item{Image: a, ImageChannel: "0", Target: b, TargetChannel: "1"}), 0)
	if p.Image.Sides != [3]int{1, 8, 8} || p.Target.Values[0] != -1 || p.Target.Values[1] != 1 || p.Image.Values[0] != -p.Image.Values[63] {
		t.Errorf("%v", p)
	}
	if p = load(t, open(FileOptions{}, Item{Image: b, ImageChannel: "0"}), 0); p.Target.Values != nil || len(p.Image.Values) != 256 {
		t.Errorf("%v", p)
	}
	self := Item{Image: a, ImageChannel: "0", Target: a}
	if p = load(t, open(FileOptions{}, self), 0); p.Image.Values[0] == p.Target.Values[0] || p.Target.Values[0] != 0 || len(p.Target.Values) != len(p.Image.Values) {
		t.Errorf("a channel that is its own target: %v", p)
	}
	_, together, err := open(FileOptions{}, one).Load(t.Context(), 0)
	if info, _ := os.Stat(a); err != nil || together > info.Size() {
		t.Errorf("%d bytes read of %d for two channels of one file (%v)", together, info.Size(), err)
	}

	small, infinite := filepath.Join(folder, "small.tif"), filepath.Join(folder, "infinite.npy")
	write(t, small, [3]int{4, 8, 6})
	if err := stack.Write(t.Context(), infinite, stack.Pixels[float32]{Sides: [4]int{1, 1, 1, 2}, Values: []float32{0, float32(math.Inf(1))}}); err != nil {
		t.Fatal(err)
	}
	for want, item := range map[string]Item{
		"a.ome.tif: TIFF: channel 2: must be 0 to 1 (setting image_channel)":   {Image: a, ImageChannel: "2"},
		"a.ome.tif: TIFF: channel 3: must be 0 to 1 (setting target_channel)":  {Image: a, ImageChannel: "0", Target: a, TargetChannel: "3"},
		"cells.csv:7: " + filepath.Join(folder, "none.tif") + ": no such file": {Image: a, ImageChannel: "0", Target: filepath.Join(folder, "none.tif"), From: "cells.csv:7"},
		"a.ome.tif has sides [4 8 8], its target":                              {Image: a, ImageChannel: "0", Target: small},
		"infinite.npy: voxel 1 is +Inf: must be finite":                        {Image: infinite},
		"none.tif: no such file or directory":                                  {Image: a, ImageChannel: "0", Target: filepath.Join(folder, "none.tif")},
		filepath.Base(folder) + ": is a folder":                                {Image: folder},
		"small.tif: TIFF: channel 7: must be 0 to 1 (setting target_channel)":  {Image: a, ImageChannel: "0", Target: small, TargetChannel: "7"},
		"list_test.go: neither TIFF nor NPY: must be a":                        {Image: "list_test.go"},
	} {
		if _, _, err := open(FileOptions{}, item).Load(t.Context(), 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, _, err := open(FileOptions{Planar: true, Plane: 4}, one).Load(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "plane 4: must be 0 to 3 (setting plane)") {
		t.Error(err)
	}
	if _, err := Files(nil, FileOptions{Zoom: 2}); err == nil || !strings.Contains(err.Error(), "zoom of 2: must be above 0 and at most 1") {
		t.Error(err)
	}
}

// BenchmarkLoading makes batches of eight patches from four files of 16x64x64, for a loop
// that computes for about as long as a batch takes to make. waited is what the loop lost to
// loading.
func BenchmarkLoading(b *testing.B) {
	folder := b.TempDir()
	var items []Item
	for i := range 4 {
		path := filepath.Join(folder, fmt.Sprintf("%d.ome.tif", i))
		write(b, path, [3]int{16, 64, 64})
		items = append(items, Item{Image: path, ImageChannel: "0", Target: path, TargetChannel: "1"})
	}
	d, err := Files(items, FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{0, 1, 2, 4} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			l := open(b, d, Options{Batch: 8, Patch: [3]int{16, 32, 32}, PatchesPerImage: 8, Augment: true, Shuffle: true, Lane: Lane{Workers: workers, Persistent: true}})
			var waited, worked float64
			sum := 0.0
			for b.Loop() {
				batch := next(b, l)
				waited += batch.Waited.Seconds()
				worked += batch.Worked.Seconds()
				for range 24 {
					for _, v := range batch.Images {
						sum += float64(v)
					}
				}
			}
			if math.IsNaN(sum) {
				b.Error("a voxel is no number")
			}
			b.ReportMetric(waited*1e3/float64(b.N), "waited-ms/op")
			b.ReportMetric(worked*1e3/float64(b.N), "worked-ms/op")
		})
	}
}
