package stack

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func pixels[T uint8 | float32](value func(i int) T) Pixels[T] {
	p := Pixels[T]{Sides: [4]int{2, 3, 5, 7}, Channels: []string{"raw", `a "b" <c> & d`}, Voxel: [3]float64{0.29, 0.1083, 0.2}, Values: make([]T, 2*3*5*7)}
	for i := range p.Values {
		p.Values[i] = value(i)
	}
	return p
}

// What is written in each format is read again, with what the format can keep.
func TestWrittenStacksAreReadAgain(t *testing.T) {
	for _, ending := range []string{".ome.tif", ".OME.TIFF", ".tif", ".tiff", ".npy"} {
		path := filepath.Join(t.TempDir(), "a"+ending)
		bytes := pixels(func(i int) uint8 { return uint8(i) })
		if err := Write(t.Context(), path, bytes); err != nil {
			t.Fatal(err)
		}
		v, err := Read(t.Context(), path, ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, v, bytes.Sides, func(c, z, y, x int) float32 { return float32(((c*3+z)*5+y)*7 + x) })
		names, voxel := bytes.Channels, bytes.Voxel
		if !strings.Contains(strings.ToLower(ending), "ome") {
			names = []string{"", ""}
		}
		if ending == ".npy" {
			voxel = [3]float64{}
		}
		if !slices.Equal(v.Channels, names) || v.Voxel != voxel {
			t.Errorf("%s: channels %q, voxels %v: want %q, %v", ending, v.Channels, v.Voxel, names, voxel)
		}
		floats := pixels(func(i int) float32 { return float32(math.Sin(float64(i))) })
		if err := Write(t.Context(), path, floats); err != nil { // replaces the file
			t.Fatal(err)
		}
		if v, err = Read(t.Context(), path, ReadOptions{}); err != nil || !slices.Equal(v.Values, floats.Values) {
			t.Errorf("%s of float32: %v", ending, err)
		}
	}
}

// A plane of one channel is a TIFF file without a description, which any viewer opens.
func TestAPlaneIsWrittenPlain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plane.tif")
	if err := Write(t.Context(), path, Pixels[uint8]{Sides: [4]int{1, 1, 2, 3}, Values: []uint8{1, 2, 3, 4, 5, 6}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), "ImageJ") {
		t.Errorf("%q, %v", data, err)
	}
	v, err := Read(t.Context(), path, ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, v, [4]int{1, 1, 2, 3}, func(_, _, y, x int) float32 { return float32(1 + y*3 + x) })
}

// A write that fails leaves what was there, and nothing else.
func TestNothingIsWrittenHalf(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a.ome.tif")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	good := pixels(func(i int) uint8 { return 0 })
	if err := Write(ctx, path, good); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the context has ended", err)
	}
	short := good
	short.Values = short.Values[1:]
	huge := good
	huge.Sides = [4]int{1 << 20, 1 << 20, 1 << 20, 1 << 20}
	for want, err := range map[string]error{
		"b.png: must end in .ome.tif, .ome.tiff, .tif, .tiff or .npy": Write(t.Context(), filepath.Join(folder, "b.png"), good),
		"209 values for sides of [2 3 5 7]":                           Write(t.Context(), path, short),
		"must be positive, and 2147483647 voxels at most":             Write(t.Context(), path, huge),
		"no such file or directory":                                   Write(t.Context(), filepath.Join(folder, "none", "a.npy"), good),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	entries, err := os.ReadDir(folder)
	if data, _ := os.ReadFile(path); err != nil || len(entries) != 1 || string(data) != "before" {
		t.Errorf("%d files, %q (%v)", len(entries), data, err)
	}
}
