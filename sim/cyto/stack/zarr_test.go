package stack

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The folders are of ome-zarr and zarr (testdata/README.md).
func TestOMEZarrIsRead(t *testing.T) {
	u16 := func(c, z, y, x int) float32 { return float32(251*pattern(c, z, y, x) + 7) }
	real := func(c, z, y, x int) float32 { return float32(pattern(c, z, y, x))/8 - 3 }
	for _, c := range []struct {
		folder, kind string
		want         func(c, z, y, x int) float32
	}{{"v2_zlib", "<u2", u16}, {"v2_zstd", "<f4", real}, {"v2_blosc", "<u2", u16}, {"v3_zstd", "<u2", u16}, {"v3_shards", "<u2", u16}, {"v3_gzip", "<f4", real}} {
		v := read(t, c.folder+".ome.zarr", ReadOptions{})
		expect(t, v, [4]int{2, 3, 20, 37}, c.want)
		if v.Type != c.kind || v.Bytes <= 0 || !slices.Equal(v.Channels, []string{"DNA", "membrane & more"}) {
			t.Errorf("%s: %s, %d bytes, channels %q", c.folder, v.Type, v.Bytes, v.Channels)
		}
		for i, want := range [3]float64{0.29, 0.1083, 0.1083} {
			if d := v.Voxel[i] - want; d > 1e-12 || d < -1e-12 {
				t.Errorf("%s: voxels %v", c.folder, v.Voxel)
			}
		}
		part := read(t, c.folder+".ome.zarr", ReadOptions{Channels: []int{1}, Planes: []int{2, 0}})
		expect(t, part, [4]int{1, 2, 20, 37}, func(_, z, y, x int) float32 { return c.want(1, []int{2, 0}[z], y, x) })
		if part.Bytes > v.Bytes || part.Channels[0] != "membrane & more" {
			t.Errorf("%s: %d bytes for a part of %d, %q", c.folder, part.Bytes, v.Bytes, part.Channels)
		}
	}
	array := read(t, "array.zarr", ReadOptions{})
	expect(t, array, [4]int{1, 3, 20, 37}, func(_, z, y, x int) float32 {
		if z == 2 {
			return 9
		}
		return u16(0, z, y, x)
	})
}

// What is not read is refused by name.
func TestFaultsOfOMEZarrNameTheFile(t *testing.T) {
	array := `{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4]}},` +
		`"chunk_key_encoding":{"name":"default"},"fill_value":1,"codecs":[{"name":"bytes"}]}`
	for _, c := range []struct{ old, new, want string }{
		{`[{"name":"bytes"}]`, `[{"name":"sharding_indexed"}]`, `zarr.json: index_codecs: must be bytes, little, and then none or crc32c`},
		{`[{"name":"bytes"}]`, sharded(`"chunk_shape":[2,4]`, "middle"), `index_location "middle": must be start or end`},
		{`[{"name":"bytes"}]`, sharded(`"chunk_shape":[3,4]`, "end"), "shards of [4 4] of chunks of [3 4]: must be whole chunks"},
		{`[{"name":"bytes"}]`, sharded(`"chunk_shape":[4]`, "end"), "must have as many"},
		{`[{"name":"bytes"}]`, `[{"name":"bytes"},` + sharded(`"chunk_shape":[2,4]`, "end")[1:], `compression "sharding_indexed"`},
		{`[{"name":"bytes"}]`, `[{"name":"bytes"},{"name":"crc32c"}]`, `compression "crc32c": must be none, blosc, zlib, gzip or zstd`},
		{`[{"name":"bytes"}]`, `[]`, "codecs: must begin with bytes"},
		{`"uint8"`, `"complex64"`, `type "complex64": must be real numbers`},
		{`"shape":[4,4]`, `"shape":[4]`, "must have the axes YX"},
		{`"chunk_shape":[4,4]`, `"chunk_shape":[4,0]`, "must be positive"},
		{`"chunk_shape":[4,4]`, `"chunk_shape":[65536,65536]`, "chunks of 1073741824 bytes at most"},
		{`"fill_value":1`, `"fill_value":[1]`, "fill_value [1]: must be a number"},
		{`"node_type":"array"`, `"node_type":"group"`, "no multiscales: must be an image"},
		{`"regular"`, `"rectilinear"`, `chunk_grid "rectilinear": must be regular`},
		{`{"zarr`, `["zarr`, "zarr.json: "},
	} {
		if !strings.Contains(array, c.old) {
			t.Fatal(c.old)
		}
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "zarr.json"), []byte(strings.Replace(array, c.old, c.new, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), folder, ReadOptions{}); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

// sharded is the codec of shards, which have a checksum.
func sharded(chunks, location string) string {
	return `[{"name":"sharding_indexed","configuration":{` + chunks + `,"codecs":[{"name":"bytes"}],` +
		`"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":"` + location + `"}}]`
}

// What is wrong with a shard is said with its name.
func TestDamagedShardsAreRefused(t *testing.T) {
	source := "testdata/v3_shards.ome.zarr"
	whole, err := os.ReadFile(filepath.Join(source, "s0/c/0/0/0/0"))
	if err != nil {
		t.Fatal(err)
	}
	entry := len(whole) - 4 - 16*8 // of the first of eight chunks
	for want, change := range map[string]func([]byte) []byte{
		"the index has another checksum": func(b []byte) []byte { b[entry+8]++; return b },
		"have no room for the index":     func(b []byte) []byte { return b[:100] },
		"an index of 128 bytes in 130":   func(b []byte) []byte { return b[:130] },
		"are outside the file of":        func(b []byte) []byte { binary.LittleEndian.PutUint64(b[entry:], 1<<63); return b },
		"shard s0/c/0/0/0/0: blosc: ":    func(b []byte) []byte { b[4]++; return b },
	} {
		folder := filepath.Join(t.TempDir(), "a.ome.zarr")
		if err := os.CopyFS(folder, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		damaged := change(bytes.Clone(whole))
		if n := len(damaged); n == len(whole) && !strings.Contains(want, "checksum") {
			binary.LittleEndian.PutUint32(damaged[n-4:], crc32.Checksum(damaged[entry:n-4], crc32.MakeTable(crc32.Castagnoli)))
		}
		if err := os.WriteFile(filepath.Join(folder, "s0/c/0/0/0/0"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), folder, ReadOptions{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "shard s0/c/0/0/0/0: ") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The size of an index is not computed with an overflow.
func TestTheIndexOfAHugeShardHasNoRoom(t *testing.T) {
	array := `{"zarr_format":3,"node_type":"array","shape":[4,4],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[864691128455135232,4]}},` +
		`"chunk_key_encoding":{"name":"default"},"fill_value":1,"codecs":` + sharded(`"chunk_shape":[1,4]`, "end") + `}`
	files := fstest.MapFS{"zarr.json": {Data: []byte(array)}, "c/0/0": {Data: make([]byte, 64)}}
	folder := t.TempDir()
	if err := os.CopyFS(folder, files); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), folder, ReadOptions{}); err == nil || !strings.Contains(err.Error(), "have no room for the index") {
		t.Error(err)
	}
}

// A plate, a well and a series are the images in them: they are listed, and refused with the name of one.
func TestPlatesAreTheirImages(t *testing.T) {
	image := func(version string) map[string]string {
		if version == "3" {
			return map[string]string{"zarr.json": `{"zarr_format":3,"node_type":"group","attributes":{"ome":{"version":"0.5","multiscales":[{"axes":[{"name":"y"},{"name":"x"}],"datasets":[{"path":"0"}]}]}}}`,
				"0/zarr.json": `{"zarr_format":3,"node_type":"array","shape":[1,2],"data_type":"uint8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1,2]}},` +
					`"chunk_key_encoding":{"name":"default"},"fill_value":7,"codecs":[{"name":"bytes"}]}`}
		}
		return map[string]string{".zattrs": `{"multiscales":[{"axes":[{"name":"y"},{"name":"x"}],"datasets":[{"path":"0"}]}]}`,
			"0/.zarray": `{"zarr_format":2,"shape":[1,2],"chunks":[1,2],"dtype":"|u1","compressor":null,"fill_value":7,"order":"C","filters":null}`}
	}
	group := func(version, attributes string) map[string]string {
		if version == "3" {
			return map[string]string{"zarr.json": `{"zarr_format":3,"node_type":"group","attributes":{"ome":` + attributes + `}}`}
		}
		return map[string]string{".zattrs": attributes, ".zgroup": `{"zarr_format":2}`}
	}
	for _, version := range []string{"2", "3"} {
		folder := filepath.Join(t.TempDir(), "p.zarr")
		put := func(at string, files map[string]string) {
			for name, text := range files {
				path := filepath.Join(folder, at, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		put("", group(version, `{"plate":{"wells":[{"path":"A/1"},{"path":"B/2"}]}}`))
		put("A/1", group(version, `{"well":{"images":[{"path":"0"},{"path":"1"}]}}`))
		put("B/2", group(version, `{"well":{"images":[{"path":"0"}]}}`))
		put("series", group(version, `{"bioformats2raw.layout":3}`))
		for _, at := range []string{"A/1/0", "A/1/1", "B/2/0", "series/0", "series/1"} {
			put(at, image(version))
		}
		for _, c := range []struct {
			at     string
			images []string
			why    string
		}{
			{"", []string{"A/1/0", "A/1/1", "B/2/0"}, "a plate of 3 images: must be one of them, such as p.zarr/A/1/0"},
			{"A/1", []string{"A/1/0", "A/1/1"}, "a well of 2 images: must be one of them, such as 1/0"},
			{"series", []string{"series/0", "series/1"}, "a series of 2 images: must be one of them, such as series/0"},
			{"B/2/0", []string{"B/2/0"}, ""},
		} {
			images, err := Images(filepath.Join(folder, c.at))
			var want []string
			for _, at := range c.images {
				want = append(want, filepath.Join(folder, at))
			}
			if err != nil || !slices.Equal(images, want) {
				t.Errorf("version %s, %q: %q, %v, want %q", version, c.at, images, err, want)
			}
			v, err := Read(t.Context(), filepath.Join(folder, c.at), ReadOptions{})
			if c.why == "" && (err != nil || !slices.Equal(v.Values, []float32{7, 7})) || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("version %s, %q: %v, want %s", version, c.at, err, c.why)
			}
		}
	}
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, ".zattrs"), []byte(`{"plate":{"wells":[{"path":"../x"}]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Images(outside); err == nil || !strings.Contains(err.Error(), `well "../x": must be a path in the folder`) {
		t.Error(err)
	}
}

// Whatever the metadata and the chunk, the answer is a volume of the size that it says, or
// an error of one line.
func FuzzZarr(f *testing.F) {
	for _, name := range []string{"v2_zlib", "v2_zstd", "v2_blosc", "v3_zstd", "v3_shards", "v3_gzip"} {
		folder := filepath.Join("testdata", name+".ome.zarr")
		read := func(names ...string) []byte {
			for _, n := range names {
				if data, err := os.ReadFile(filepath.Join(folder, n)); err == nil {
					return data
				}
			}
			f.Fatalf("%s: none of %v", folder, names)
			return nil
		}
		f.Add(name[:2] == "v3", read("zarr.json", ".zattrs"), read("s0/zarr.json", "s0/.zarray"), read("s0/c/0/0/0/0", "s0/0/0/0/0"))
	}
	f.Fuzz(func(t *testing.T, third bool, group, array, chunk []byte) {
		files := fstest.MapFS{"s0/c/0/0/0/0": {Data: chunk}, "s0/0/0/0/0": {Data: chunk}}
		if third {
			files["zarr.json"], files["s0/zarr.json"] = &fstest.MapFile{Data: group}, &fstest.MapFile{Data: array}
		} else {
			files[".zattrs"], files["s0/.zarray"] = &fstest.MapFile{Data: group}, &fstest.MapFile{Data: array}
		}
		v, err := decodeZarr(t.Context(), "a.zarr", files, ReadOptions{MaxVoxels: 1 << 12})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("more than a line: %q", err)
			}
			return
		}
		if n := v.Sides[0] * v.Sides[1] * v.Sides[2] * v.Sides[3]; n != len(v.Values) || n > 1<<12 || len(v.Channels) != v.Sides[0] {
			t.Fatalf("%d values for sides of %v, %d channels", len(v.Values), v.Sides, len(v.Channels))
		}
	})
}
