package stack

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/tiff"
)

// pattern is the value that testdata/README.md has at channel c of its bytes.
func pattern(c, z, y, x int) int { return (101*c + 37*z + 5*y + 3*x) % 256 }

// expect compares a volume with a function of its axes.
func expect(t *testing.T, v *Volume, sides [4]int, want func(c, z, y, x int) float32) {
	t.Helper()
	if v.Sides != sides || len(v.Values) != sides[0]*sides[1]*sides[2]*sides[3] {
		t.Fatalf("sides %v of %d values, want %v", v.Sides, len(v.Values), sides)
	}
	i := 0
	for c := range sides[0] {
		for z := range sides[1] {
			for y := range sides[2] {
				for x := range sides[3] {
					if got, want := v.Values[i], want(c, z, y, x); got != want {
						t.Fatalf("[%d %d %d %d] is %v, want %v", c, z, y, x, got, want)
					}
					i++
				}
			}
		}
	}
}

func read(t *testing.T, name string, o ReadOptions) *Volume {
	t.Helper()
	v, err := Read(t.Context(), filepath.Join("testdata", name), o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The files are of two other programs: tifffile and libtiff.
func TestStacksOfOtherProgramsAreRead(t *testing.T) {
	u8 := func(c, z, y, x int) float32 { return float32(pattern(c, z, y, x)) }
	u16 := func(c, z, y, x int) float32 { return float32(251*pattern(c, z, y, x) + 7) }
	real := func(c, z, y, x int) float32 { return float32(pattern(c, z, y, x))/8 - 3 }
	rgb := func(c, z, y, x int) float32 {
		if c == 2 {
			return float32(pattern(0, z, y, x) / 2)
		}
		return u8(c, z, y, x)
	}
	plain, named := [4]int{1, 3, 20, 37}, []string{"DNA", "membrane & more"}
	for _, c := range []struct {
		file, kind string
		sides      [4]int
		names      []string
		voxel      [3]float64
		want       func(c, z, y, x int) float32
	}{
		{"u16.ome.tif", "uint16", [4]int{2, 3, 20, 37}, named, [3]float64{0.29, 0.1083, 0.1083}, u16},
		{"f32.ome.tif", "float32", [4]int{2, 3, 20, 37}, named, [3]float64{0.29, 0.1083, 0.1083}, real},
		{"times.ome.tif", "uint8", [4]int{2, 3, 8, 9}, []string{"", ""}, [3]float64{}, u8},
		{"rgb.ome.tif", "uint8", [4]int{3, 3, 20, 37}, []string{"", "", ""}, [3]float64{}, rgb},
		{"pyramid.ome.tif", "uint8", plain, []string{""}, [3]float64{}, u8},
		{"imagej.tif", "uint16", [4]int{2, 3, 8, 9}, []string{"", ""}, [3]float64{2.5, 0.5, 0.25}, u16},
		{"pages64.tif", "float64", [4]int{1, 32, 32, 32}, []string{""}, [3]float64{}, func(_, z, y, x int) float32 { return float32(z) + float32((3*y+x)%5)/8 }},
		{"u8_packbits.tif", "uint8", plain, []string{""}, [3]float64{}, u8},
		{"u8_none_tiles.tif", "uint8", plain, []string{""}, [3]float64{}, u8},
		{"u16_lzw2_tiles_big.tif", "uint16", plain, []string{""}, [3]float64{}, u16},
		{"u32_zip2.tif", "uint32", plain, []string{""}, [3]float64{}, func(c, z, y, x int) float32 { return float32(uint32(pattern(c, z, y, x)) * 16843009) }},
		{"i16_lzw_bigtiff.tif", "int16", plain, []string{""}, [3]float64{}, func(c, z, y, x int) float32 { return float32(pattern(c, z, y, x) - 128) }},
		{"f32_zip3_tiles.tif", "float32", plain, []string{""}, [3]float64{}, real},
		{"f64_lzw3.tif", "float64", plain, []string{""}, [3]float64{}, real},
		{"rgb_separate_lzw2.tif", "uint8", [4]int{3, 3, 20, 37}, []string{"", "", ""}, [3]float64{}, rgb},
		{"rgb_zip2.tif", "uint8", [4]int{3, 3, 20, 37}, []string{"", "", ""}, [3]float64{}, rgb},
		{"u16_zstd2.ome.tif", "uint16", [4]int{2, 3, 20, 37}, named, [3]float64{0.29, 0.1083, 0.1083}, u16},
		{"f32_zstd3_tiles.tif", "float32", plain, []string{""}, [3]float64{}, real},
		{"i4_zyx.npy", ">i4", [4]int{1, 3, 4, 5}, []string{""}, [3]float64{}, u8},
	} {
		t.Run(c.file, func(t *testing.T) {
			v := read(t, c.file, ReadOptions{})
			expect(t, v, c.sides, c.want)
			if v.Type != c.kind || !slices.Equal(v.Channels, c.names) {
				t.Errorf("%s, channels %q: want %s, %q", v.Type, v.Channels, c.kind, c.names)
			}
			for i, want := range c.voxel {
				if d := v.Voxel[i] - want; d > 1e-12 || d < -1e-12 {
					t.Errorf("voxels of %v micrometres, want %v", v.Voxel, c.voxel)
				}
			}
			if info, err := os.Stat(filepath.Join("testdata", c.file)); err != nil || v.Bytes <= 0 || v.Bytes > info.Size() {
				t.Errorf("%d bytes read of %d (%v)", v.Bytes, info.Size(), err)
			}
		})
	}
}

// Only the selected channels, planes and times are read, in the order that is asked for.
func TestAPartOfAStackIsRead(t *testing.T) {
	for _, file := range []string{"u16.ome.tif", "f32.ome.tif", "rgb_zip2.tif", "rgb_separate_lzw2.tif", "imagej.tif"} {
		all := read(t, file, ReadOptions{})
		part := read(t, file, ReadOptions{Channels: []int{1, 0, 1}, Planes: []int{2, 0}})
		place := func(c, z, y, x int) int { return ((c*3+z)*all.Sides[2]+y)*all.Sides[3] + x }
		expect(t, part, [4]int{3, 2, all.Sides[2], all.Sides[3]}, func(c, z, y, x int) float32 {
			return all.Values[place([]int{1, 0, 1}[c], []int{2, 0}[z], y, x)]
		})
		if want := all.Channels[1]; part.Channels[0] != want || part.Channels[2] != want {
			t.Errorf("%s: channels %q", file, part.Channels)
		}
	}
	if one, all := read(t, "u16.ome.tif", ReadOptions{Channels: []int{1}}), read(t, "u16.ome.tif", ReadOptions{}); one.Bytes > all.Bytes*3/4 {
		t.Errorf("%d bytes read for one channel, %d for both", one.Bytes, all.Bytes)
	}
	later := read(t, "times.ome.tif", ReadOptions{Time: 1, Channels: []int{1}})
	expect(t, later, [4]int{1, 3, 8, 9}, func(_, z, y, x int) float32 { return float32(255 - pattern(1, z, y, x)) })
	if got, want := later.Channel(0)[13], float32(255-pattern(1, 0, 1, 4)); got != want {
		t.Errorf("voxel 13 of the channel is %v, want %v", got, want)
	}
	v := read(t, "i4_zyx.npy", ReadOptions{Planes: []int{2}})
	expect(t, v, [4]int{1, 1, 4, 5}, func(_, _, y, x int) float32 { return float32(pattern(0, 2, y, x)) })
	for want, o := range map[string]ReadOptions{
		"channel 2: must be 0 to 1":                             {Channels: []int{0, 2}},
		"plane 3: must be 0 to 2":                               {Planes: []int{3}},
		"time -1: must be 0 to 0":                               {Time: -1},
		"2 channels of 3x20x37 voxels: must be positive, and 4": {MaxVoxels: 4439},
	} {
		if _, err := Read(t.Context(), "testdata/u16.ome.tif", o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// damaged returns a file of testdata after a change of its bytes, which must occur in it.
func damaged(t *testing.T, file, old, new string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(old)) {
		t.Fatalf("%s has no %q", file, old)
	}
	return bytes.Replace(data, []byte(old), []byte(new), 1)
}

// Faults name the page, the tag and what would be right.
func TestFaultsNamePageAndTag(t *testing.T) {
	whole, err := os.ReadFile("testdata/pages64.tif")
	if err != nil {
		t.Fatal(err)
	}
	short := func(tag, value uint16) string { // an entry of one 16-bit number
		return string([]byte{byte(tag), byte(tag >> 8), 3, 0, 1, 0, 0, 0, byte(value), byte(value >> 8)})
	}
	for _, c := range []struct {
		name, want string
		data       []byte
	}{
		{"text", "neither TIFF nor NPY", []byte("raw,seg\n")},
		{"nothing", "neither TIFF nor NPY", nil},
		{"CZI", "a CZI file of Zeiss is not read: must be converted to OME-TIFF", []byte("ZISRAWFILE\x00\x00\x00\x00\x00\x00\x20\x03\x00\x00")},
		{"no page", "TIFF: no pages", []byte("II*\x00\x00\x00\x00\x00")},
		{"truncated pages", "is it truncated?", whole[:len(whole)/2]},
		{"offsets of four bytes", "BigTIFF with offsets of 4 bytes: must be 8", []byte("II+\x00\x04\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00")},
		{"a page after itself", "page 2 follows itself", []byte("II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00")},
		{"no sides", "page 1: ImageWidth (tag 256): 0: must be 1 to", []byte("II*\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
		{"many tags", "page 1: 65535 tags: must be 1024 at most", []byte("II*\x00\x08\x00\x00\x00\xff\xff")},
		{"JPEG", "page 1: Compression (tag 259): 7 (JPEG): must be none, LZW, Deflate, Zstandard, PackBits or CCITT", damaged(t, "u8_packbits.tif", short(259, 32773), short(259, 7))},
		{"bits", "page 1: BitsPerSample (tag 258): 12: must be 1, 2, 4, 8, 16 or 32 for integers", damaged(t, "u8_packbits.tif", short(258, 8), short(258, 12))},
		{"complex", "page 1: SampleFormat (tag 339): 6: must be 1 (unsigned), 2 (signed) or 3", damaged(t, "f32_zip3_tiles.tif", short(339, 3), short(339, 6))},
		{"planar", "page 1: PlanarConfiguration (tag 284): 9: must be 1 or 2", damaged(t, "u8_packbits.tif", short(284, 1), short(284, 9))},
		{"predictor", "page 1: Predictor (tag 317): 3 for integers: must be 1 or 2", damaged(t, "u32_zip2.tif", short(317, 2), short(317, 3))},
		{"rows", "page 1: StripOffsets (tag 273): 3 blocks: must be 10", damaged(t, "u8_packbits.tif", short(278, 7), short(278, 2))},
		{"sides", "page 1: ImageDescription (tag 270): OME-XML: SizeX 38 and SizeY 20: the page has 37 and 20", damaged(t, "u16.ome.tif", `SizeX="37"`, `SizeX="38"`)},
		{"order", `OME-XML: DimensionOrder "XYZCC": must be XY and then Z, C and T`, damaged(t, "u16.ome.tif", `"XYZCT"`, `"XYZCC"`)},
		{"XML", "page 1: ImageDescription (tag 270): OME-XML: XML syntax error", damaged(t, "u16.ome.tif", "</Image>", "</Imagx>")},
		{"planes", "channel 1, plane 2, time 0 are on page 7: the file has 6", damaged(t, "u16.ome.tif", `IFD="0"`, `IFD="1"`)},
		{"few planes", "TiffData: no page for channel 1, plane 2, time 0", damaged(t, "u16.ome.tif", `PlaneCount="6"`, `PlaneCount="5"`)},
		{"first plane", "TiffData: FirstC 2: must be 0 to 1", damaged(t, "u16.ome.tif", `IFD="0" Plane`, `FirstC="2" Pla`)},
		{"ImageJ", "ImageJ: channels=2, slices=5, frames=1: must be the 6 images", damaged(t, "imagej.tif", "slices=3", "slices=5")},
		{"ImageJ's pages", "images=7, but the file has 6 pages", damaged(t, "imagej.tif", "images=6", "images=7")},
		{"NPY", "NPY of shape (3, 4, 9) in a file of 368 bytes: is it truncated?", damaged(t, "i4_zyx.npy", "(3, 4, 5)", "(3, 4, 9)")},
		{"NPY's axes", "NPY of shape (60): must have the axes YX, ZYX, CZYX or TCZYX", damaged(t, "i4_zyx.npy", "(3, 4, 5)", "(60,)    ")},
		{"NPY by columns", "NPY stored by columns: must be stored by rows", damaged(t, "i4_zyx.npy", "False", "True ")},
		{"NPY of complex numbers", "NPY of <c8: must hold real numbers", damaged(t, "i4_zyx.npy", ">i4", "<c8")},
	} {
		_, err := decode(t.Context(), c.name, bytes.NewReader(c.data), int64(len(c.data)), ReadOptions{})
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

// Damaged data name the page and the block.
func TestDamagedDataNameTheBlock(t *testing.T) {
	for file, want := range map[string]string{"u8_packbits.tif": "strip", "f32_zip3_tiles.tif": "tile", "u32_zip2.tif": "strip"} {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for at := 8; at < 100; at++ { // the first page's data
			broken := slices.Clone(data)
			broken[at] = 0x80 // in PackBits, a byte that stands for nothing
			if _, err := decode(t.Context(), file, bytes.NewReader(broken), int64(len(broken)), ReadOptions{}); err != nil {
				failed++
				if !strings.HasPrefix(err.Error(), "TIFF: page 1, "+want) {
					t.Errorf("%s with byte %d changed: %v", file, at, err)
				}
			}
		}
		if failed == 0 {
			t.Errorf("%s: no change of its data was an error", file)
		}
	}
}

// A header that claims much more than its file can hold is refused before any memory is
// taken for it.
func TestClaimsAreCheckedBeforeMemoryIsTaken(t *testing.T) {
	long := func(tag byte, value uint32) string {
		return string([]byte{tag, 1, 4, 0, 1, 0, 0, 0, byte(value), byte(value >> 8), byte(value >> 16), byte(value >> 24)})
	}
	file := []byte("II*\x00\x08\x00\x00\x00\x04\x00" + long(0, 1<<14) + long(1, 1<<14) + long(2, 8) + long(3, 8) + "\x00\x00\x00\x00")
	_, err := decode(t.Context(), "x", bytes.NewReader(file), int64(len(file)), ReadOptions{})
	if err == nil || !strings.Contains(err.Error(), "268435456 voxels in a file that cannot hold more than") {
		t.Error(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, _, err = extent{channels: 1, planes: 1 << 28, times: 1, height: 3, width: 37, room: 1 << 62}.volume(ReadOptions{MaxVoxels: 1 << 20})
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; err == nil || taken > 1<<20 {
		t.Errorf("%v, and %d bytes are taken for the planes of a refused volume", err, taken)
	}
}

// Planes of a set of files are missing only where they are asked for; a renamed stack of
// one file is whole.
func TestSetsOfFiles(t *testing.T) {
	set := `<TiffData FirstC="0" PlaneCount="3"><UUID FileName="a.ome.tif">urn:uuid:1</UUID></TiffData>` +
		`<TiffData FirstC="1" PlaneCount="3"><UUID FileName="b.ome.tif">urn:uuid:2</UUID></TiffData>`
	pixels := `<OME UUID="urn:uuid:1"><Image><Pixels DimensionOrder="XYZCT" SizeX="37" SizeY="20" SizeZ="3" SizeC="2" SizeT="1">`
	first := &tiff.Page{Width: 37, Height: 20, Samples: 1}
	a, err := arrangeOME(pixels+set+"</Pixels></Image></OME>", "renamed.ome.tif", first)
	if err != nil {
		t.Fatal(err)
	}
	if at, _, err := a.page(0, 2, 0); at != 2 || err != nil {
		t.Errorf("page %d, %v", at, err)
	}
	if _, _, err := a.page(1, 0, 0); err == nil || !strings.Contains(err.Error(), "are in the file b.ome.tif: only stacks in one file are read") {
		t.Error(err)
	}
	one := strings.ReplaceAll(strings.ReplaceAll(set, "urn:uuid:1", "urn:uuid:3"), "b.ome.tif", "a.ome.tif")
	if a, err = arrangeOME(pixels+one+"</Pixels></Image></OME>", "renamed.ome.tif", first); err != nil {
		t.Fatal(err)
	}
	if at, _, err := a.page(0, 1, 0); at != 1 || err != nil {
		t.Errorf("page %d, %v", at, err)
	}
	if _, err := arrangeOME(`<OME><BinaryOnly MetadataFile="x.companion.ome"/></OME>`, "a", first); err == nil || !strings.Contains(err.Error(), "BinaryOnly") {
		t.Error(err)
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, file := range []string{"u16.ome.tif", "i4_zyx.npy"} {
		if _, err := Read(ctx, filepath.Join("testdata", file), ReadOptions{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := Read(t.Context(), "testdata", ReadOptions{}); err == nil || err.Error() != "testdata: is a folder" {
		t.Error(err)
	}
}

// Whatever the bytes, the answer is a volume of the size that it says, or an error of one
// line, and memory stays bounded.
func FuzzStack(f *testing.F) {
	files, err := filepath.Glob("testdata/*.[tn][ip][fy]")
	if err != nil || len(files) < 10 {
		f.Fatalf("%d files (%v)", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := decode(t.Context(), "fuzz.tif", bytes.NewReader(data), int64(len(data)), ReadOptions{MaxVoxels: 1 << 16})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than a line: %q", err)
			}
			return
		}
		if n := v.Sides[0] * v.Sides[1] * v.Sides[2] * v.Sides[3]; n != len(v.Values) || n > 1<<16 || len(v.Channels) != v.Sides[0] {
			t.Fatalf("%d values for sides of %v, %d channels", len(v.Values), v.Sides, len(v.Channels))
		}
	})
}
