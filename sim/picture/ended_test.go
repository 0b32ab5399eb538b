package picture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"prismtop/profiles/await/awaittest"
)

// Objects are drawn row by row, or shape by shape, and end with their context.
func TestAContextEndsDrawing(t *testing.T) {
	for _, name := range BuiltinNames() {
		whole := awaittest.After(1 << 40)
		o := Options{Size: 256, ObjectSize: 256}
		if _, err := Builtin(whole, name, o); err != nil || whole.Looks() < 256 {
			t.Errorf("%s: %d looks, %v", name, whole.Looks(), err)
		}
		for _, looks := range []int{0, 20, whole.Looks() - 10} {
			if _, err := Builtin(awaittest.After(looks), name, o); !errors.Is(err, context.Canceled) {
				t.Errorf("%s, ended after %d looks: %v", name, looks, err)
			}
		}
	}
}

// A file is read, resized and placed row by row.
func TestAContextEndsLoading(t *testing.T) {
	path := written(t, "wide.png", encoded(t, "png", wedge(512, 512, 8)))
	o := Options{Size: 256, ObjectSize: 256}
	whole := awaittest.After(1 << 40)
	if _, err := Load(whole, path, o); err != nil || whole.Looks() < 512+256 {
		t.Errorf("%d looks, %v", whole.Looks(), err)
	}
	for _, looks := range []int{0, 1, 100, 600} {
		if _, err := Load(awaittest.After(looks), path, o); !errors.Is(err, context.Canceled) {
			t.Errorf("ended after %d looks: %v", looks, err)
		}
	}
}

// Saving ends with its context while the files are encoded, and then leaves nothing.
func TestAContextEndsSaving(t *testing.T) {
	const side = 512
	folder, pixels := t.TempDir(), make([]float32, side*side)
	for i := range pixels {
		pixels[i] = float32(i * 7 % 1000)
	}
	base := filepath.Join(folder, "moon")
	for name, save := range map[string]func(context.Context, string, []float32, int, int) ([]string, error){
		"SavePair": SavePair, "SaveNewPair": SaveNewPair,
	} {
		for _, looks := range []int{0, side / 2, side + 5, 2*side + 5} {
			paths, err := save(awaittest.After(looks), base, pixels, side, side)
			if len(paths) > 0 || !errors.Is(err, context.Canceled) {
				t.Errorf("%s, ended after %d looks: %v, %v", name, looks, paths, err)
			}
		}
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
