package picture

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write which pictures of testdata are refused")

// variant is a picture of testdata/pictures.zip with the result of another reader
// for it (testdata/generate).
type variant struct {
	name string
	data []byte
	// Reader is the program that produced the levels; empty if none reads the
	// variant.
	Reader        string
	Like          string // the picture that has the same levels
	Width, Height int
	Levels        []float64 // in 65535ths, as the tolerance
	Tolerance     float64
}

// variants are the pictures of testdata in the order of the archive.
func variants(t testing.TB) []*variant {
	t.Helper()
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var expected struct{ Pictures map[string]*variant }
	if err := json.Unmarshal(text, &expected); err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader("testdata/pictures.zip")
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if len(archive.File) != len(expected.Pictures) {
		t.Fatalf("%d pictures, expected.json has %d", len(archive.File), len(expected.Pictures))
	}
	var all []*variant
	for _, entry := range archive.File {
		v := expected.Pictures[entry.Name]
		if v == nil {
			t.Fatalf("expected.json has no %s", entry.Name)
		}
		v.name = entry.Name
		if v.Like != "" {
			same := expected.Pictures[v.Like]
			v.Width, v.Height, v.Levels = same.Width, same.Height, same.Levels
		}
		r, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		if v.data, err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		r.Close()
		all = append(all, v)
	}
	return all
}

// formatOf is the folder in the archive.
func (v *variant) formatOf() string {
	format, _, _ := strings.Cut(v.name, "/")
	return format
}

// compare describes how a picture differs from the expected one.
func (v *variant) compare(src source) error {
	if v.Reader == "" {
		return fmt.Errorf("read, but no other reader gave its levels")
	}
	if src.w != v.Width || src.h != v.Height {
		return fmt.Errorf("%d x %d pixels, want %d x %d", src.w, src.h, v.Width, v.Height)
	}
	row := make([]float64, src.w)
	for y := range src.h {
		if err := src.row(y, row); err != nil {
			return err
		}
		for x, got := range row {
			if want := v.Levels[y*src.w+x]; math.Abs(got*65535-want) > v.Tolerance {
				return fmt.Errorf("level %.1f in column %d of row %d, want %.0f ± %.0f (%s)", got*65535, x, y, want, v.Tolerance, v.Reader)
			}
		}
	}
	return nil
}

// Every variant of a format gives the levels that other readers give, or is
// refused by name, and which of them are refused stands in testdata/refused.txt.
func TestEveryVariantIsReadRightOrRefusedByName(t *testing.T) {
	var refused strings.Builder
	read := map[string]int{}
	for _, v := range variants(t) {
		src, _, err := open(t.Context(), bytes.NewReader(v.data), int64(len(v.data)), "")
		if err != nil {
			fmt.Fprintf(&refused, "%s: %v\n", v.name, err)
			if !strings.HasPrefix(err.Error(), "unsupported ") {
				t.Errorf("%s: %v", v.name, err)
			}
			continue
		}
		read[v.formatOf()]++
		if err := v.compare(src); err != nil {
			t.Errorf("%s: %v", v.name, err)
		}
	}
	for _, format := range []string{"png", "jpeg", "gif", "tiff", "bmp", "webp"} {
		if read[format] < 30 {
			t.Errorf("%d pictures of %s are read, want 30 at least", read[format], format)
		}
	}
	const list = "testdata/refused.txt"
	if *update {
		if err := os.WriteFile(list, []byte(refused.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	if refused.String() != string(want) {
		t.Errorf("other refusals than in %s (go test ./sim/picture -update writes it):\n%s", list, refused.String())
	}
}
