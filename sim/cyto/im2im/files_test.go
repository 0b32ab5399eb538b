package im2im_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/cyto/im2im"
	"prismtop/sim/cyto/stack"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// imagesIn writes images of two channels to a folder, with names and sizes of voxels.
func imagesIn(t *testing.T, names ...string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for k, name := range names {
		p := stack.Pixels[float32]{Sides: [4]int{2, 3, 40, 56}, Channels: []string{"DNA", "membrane"}, Voxel: [3]float64{0.29, 0.1083, 0.2}, Values: make([]float32, 2*3*40*56)}
		for i := range p.Values {
			p.Values[i] = float32((i*i + k) % 251)
		}
		if err := stack.Write(t.Context(), filepath.Join(folder, name), p); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// into predicts images into files.
func into(t *testing.T, data, folder string, more ...string) (predicted int, out workload.Outcome) {
	t.Helper()
	sets := append([]string{"mode=predict", "weights=seeded", "axes=2", "patch=32x32", "zoom=0.5", "plane=1", "image_channel=1", "batch=2", "threads=1", "data=" + data, "predictions=" + folder}, more...)
	task := begin(t, configured(t, sets...))
	for !out.Finished {
		var rec profiles.Iteration
		var err error
		if out, err = task.Iterate(t.Context(), &rec); err != nil {
			t.Fatal(err)
		}
	}
	return task.(im2im.Counter).Progress().Outputs, out
}

// Each image gets a file at its own scale, with its voxels and the name of its channel. A
// later run skips the files that are complete, and replaces those of other settings or of
// an image that has changed.
func TestPredictionsAreFilesOfTheirImages(t *testing.T) {
	data, folder := imagesIn(t, "a.ome.tif", "b.ome.tif", "c.ome.tif"), filepath.Join(t.TempDir(), "new", "folder")
	if n, out := into(t, data, folder); n != 3 || out.Said != nil {
		t.Fatalf("%d images predicted, said %v", n, out.Said)
	}
	found, err := filepath.Glob(filepath.Join(folder, "*"))
	b := filepath.Join(folder, "b.segmentation.ome.tif")
	if err != nil || len(found) != 3 || found[1] != b {
		t.Fatalf("%v, %v", found, err)
	}
	v, err := stack.Read(t.Context(), b, stack.ReadOptions{})
	if err != nil || v.Sides != [4]int{1, 1, 40, 56} || v.Voxel != [3]float64{0.29, 0.1083, 0.2} || v.Channels[0] != "segmentation of membrane" || v.Type != "uint8" {
		t.Fatalf("%v, %v", v, err)
	}
	if slices.Max(v.Values) < 200 || slices.Min(v.Values) > 50 {
		t.Errorf("values from %v to %v", slices.Min(v.Values), slices.Max(v.Values))
	}

	n, out := into(t, data, folder)
	if n != 0 || !out.NoIteration || len(out.Said) != 1 || out.Said[0].Text != "3 of 3 images are skipped: their prediction files in "+folder+" are complete" {
		t.Errorf("%d images predicted again, said %v", n, out.Said)
	}
	if err := os.Remove(b); err != nil {
		t.Fatal(err)
	}
	if n, _ := into(t, data, folder); n != 1 {
		t.Errorf("%d images predicted for a file that was removed", n)
	}
	if again, err := stack.Read(t.Context(), b, stack.ReadOptions{}); err != nil || !slices.Equal(again.Values, v.Values) {
		t.Errorf("the file differs from that of the whole run: %v", err)
	}
	if err := os.Truncate(b, 2000); err != nil {
		t.Fatal(err)
	}
	if n, _ := into(t, data, folder); n != 1 {
		t.Errorf("%d images predicted for a file that was truncated", n)
	}
	if n, _ := into(t, data, folder, "overlap=0.5"); n != 3 {
		t.Errorf("%d images predicted with another overlap", n)
	}
	if err := os.WriteFile(b, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	task := begin(t, configured(t, "mode=predict", "weights=seeded", "axes=2", "patch=32x32", "data="+data, "image_channel=1", "plane=0", "predictions="+folder))
	if _, err := task.Iterate(t.Context(), new(profiles.Iteration)); err == nil || !strings.Contains(err.Error(), "is no prediction of prismtop: must be moved away") {
		t.Errorf("another's file: %v", err)
	}
}

// The predictions do not go where the images are, which the next run would read.
func TestPredictionsNeedAFolderOfTheirOwn(t *testing.T) {
	data := imagesIn(t, "a.ome.tif")
	v := configured(t, "mode=predict", "weights=seeded", "axes=2", "patch=32x32", "data="+data, "plane=0", "image_channel=0", "predictions="+data)
	m := workloads.Of(v).Maker(workloads.Devices{})
	in, err := m.Load(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.New(t.Context(), v, in); err == nil || !strings.Contains(err.Error(), "predictions = "+data+": is the folder of the images") {
		t.Error(err)
	}
}
