package verify

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/npy/npytest"
)

// write puts an archive in a temporary file.
func write(t testing.TB, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "vectors.npz")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(golden, name))
	if os.IsNotExist(err) {
		t.Skipf("there are no reference vectors in %s", golden)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// names lists the arrays that failed.
func (r Report) names() []string {
	var names []string
	for _, result := range r.Results {
		if !result.OK {
			names = append(names, result.Array)
		}
	}
	return names
}

// TestChangedBytesFail changes bytes at random places of copies: each must be an
// error, or fail and name an array.
func TestChangedBytesFail(t *testing.T) {
	backend := engine(t)
	for _, name := range []string{"fermat.npz", "adam.npz", "layers.npz"} {
		data := read(t, name)
		random := rand.New(rand.NewPCG(1, 2))
		for range 40 {
			at := random.IntN(len(data))
			changed := bytes.Clone(data)
			changed[at] ^= byte(1 + random.IntN(255))
			report, err := File(t.Context(), write(t, changed), backend)
			if err == nil && (report.OK || len(report.names()) == 0) {
				t.Errorf("%s: byte %d changed from %02x to %02x: OK %v, failed %q", name, at, data[at], changed[at], report.OK, report.names())
			}
		}
	}
}

// rewrite changes one element of an array and updates its checksum.
func rewrite(t testing.TB, data []byte, array string, element int, change func([]byte)) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(archive.File, func(f *zip.File) bool { return f.Name == array+".npy" })
	if i < 0 {
		t.Fatalf("no array %s", array)
	}
	f := archive.File[i]
	body, err := f.DataOffset()
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(data)
	text := changed[body : body+int64(f.UncompressedSize64)]
	header := 10 + int(binary.LittleEndian.Uint16(text[8:]))
	change(text[header+element:])
	// The checksum stands 16 bytes before the name in the header in front of the
	// data, and 30 bytes before it in the directory.
	sum := crc32.ChecksumIEEE(text)
	binary.LittleEndian.PutUint32(changed[bytes.LastIndex(changed[:body], []byte(f.Name))-16:], sum)
	binary.LittleEndian.PutUint32(changed[bytes.LastIndex(changed, []byte(f.Name))-30:], sum)
	return changed
}

// scale32 and scale64 change a number by a hundredth.
func scale32(b []byte) {
	v := math.Float32frombits(binary.LittleEndian.Uint32(b))
	binary.LittleEndian.PutUint32(b, math.Float32bits(1.01*v+0.01))
}

func scale64(b []byte) {
	v := math.Float64frombits(binary.LittleEndian.Uint64(b))
	binary.LittleEndian.PutUint64(b, math.Float64bits(1.01*v+0.01))
}

// move64 changes a number by 3.
func move64(b []byte) {
	v := math.Float64frombits(binary.LittleEndian.Uint64(b))
	binary.LittleEndian.PutUint64(b, math.Float64bits(v+3))
}

// TestChangedNumbersFail changes numbers and mends the checksums, so that only
// the comparison can tell.
func TestChangedNumbersFail(t *testing.T) {
	backend := engine(t)
	nan := func(b []byte) { binary.LittleEndian.PutUint64(b, math.Float64bits(math.NaN())) }
	flip := func(b []byte) { b[0] ^= 1 }
	tests := []struct {
		file, array string
		element     int // offset in bytes
		change      func([]byte)
		want        string // an array that must fail
	}{
		{"conv.npz", "conv_a.y_64", 8, scale64, "conv_a.y_64"},
		{"conv.npz", "conv_a.y_64", 16, nan, "conv_a.y_64"},
		{"conv.npz", "conv_a.y_32", 0, scale32, "conv_a.y_64"},
		{"conv.npz", "conv_a.w", 4, scale32, "conv_a.y_64"},
		{"conv.npz", "convt_g.gy", 4, scale32, "convt_g.gx_64"},
		{"conv.npz", "conv_b.geom", 0, flip, "conv_b"},
		{"layers.npz", "bn_a.rv0", 0, scale32, "bn_a.yeval_64"},
		{"layers.npz", "bn_b.rm1_64", 0, scale64, "bn_b.rm1_64"},
		{"layers.npz", "act.x", 8, scale32, "act.sigmoid_64"},
		{"layers.npz", "pad.x", 0, flip, "pad.y"},
		{"layers.npz", "pad.y", 0, func(b []byte) { b[3] = 1 }, "pad.y"},
		{"fft.npz", "b.x", 8, scale32, "b.fft2_64"},
		{"fft.npz", "d.cfft2_64", 24, scale64, "d.cfft2_64"},
		{"fft.npz", "real.g", 4, scale32, "real.gx_64"},
		{"loss.npz", "s_b.b", 40, scale32, "s_b.dssim_ga_64"},
		{"loss.npz", "s_e.ssim_64", 0, scale64, "s_e.ssim_64"},
		{"loss.npz", "window_64", 80, scale64, "window_64"},
		{"telescope.npz", "masks", 2080, flip, "masks"},
		{"telescope.npz", "cum_mask", 2080, flip, "cum_mask"},
		{"telescope.npz", "centres", 24, move64, "masks"},
		{"telescope.npz", "object", 8320, scale32, "identity_64"},
		{"telescope.npz", "meas_m5_gobj_64", 8000, scale64, "meas_m5_gobj_64"},
		{"telescope.npz", "radius", 0, scale64, "masks"},
		{"fermat.npz", "n7_r10_64", 40, scale64, "n7_r10_64"},
		{"fermat.npz", "n100_r64_64", 1592, scale64, "n100_r64_64"},
		{"adam.npz", "grads", 400, scale32, "adam.m_64"},
		{"adam.npz", "amsgrad.p_64", 400, scale64, "amsgrad.p_64"},
		{"decoder_64_32.npz", "object", 8320, scale32, "target_old"},
		{"decoder_64_32.npz", "target_new", 8320, scale32, "target_new"},
		{"decoder_64_32.npz", "new_mask", 2080, flip, "target_new"},
		{"decoder_64_32.npz", "param.conv0.weight", 0, scale32, "act.conv0_64"},
		{"decoder_64_32.npz", "after3.conv2.weight_64", 80, scale64, "after3.conv2.weight_64"},
		{"decoder_64_32.npz", "output_eval_after3_64", 16640, scale64, "output_eval_after3_64"},
	}
	for _, test := range tests {
		t.Run(test.array, func(t *testing.T) {
			data := rewrite(t, read(t, test.file), test.array, test.element, test.change)
			report, err := File(t.Context(), write(t, data), backend)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK || !slices.Contains(report.names(), test.want) {
				t.Errorf("OK %v, failed %q, want %q among them", report.OK, report.names(), test.want)
			}
		})
	}
}

// TestEveryArrayMatters removes single arrays: a file with a hole must not pass.
func TestEveryArrayMatters(t *testing.T) {
	backend := engine(t)
	for _, name := range []string{"adam.npz", "layers.npz", "fermat.npz"} {
		files := filesOf(t, read(t, name))
		for i, f := range files {
			report, err := File(t.Context(), write(t, npytest.Archive(slices.Delete(slices.Clone(files), i, i+1)...)), backend)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK {
				t.Errorf("%s without %s passes", name, f.Name)
			}
		}
	}
}

// filesOf splits an archive into its files.
func filesOf(t testing.TB, data []byte) []npytest.File {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var files []npytest.File
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		array, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, npytest.File{Name: strings.TrimSuffix(f.Name, ".npy"), Data: array})
	}
	return files
}

// TestCasesGoByOtherNames renames every case of a file.
func TestCasesGoByOtherNames(t *testing.T) {
	backend := engine(t)
	for _, name := range []string{"conv.npz", "layers.npz", "fft.npz", "loss.npz"} {
		files := filesOf(t, read(t, name))
		for i, f := range files {
			if prefix, member, dotted := strings.Cut(f.Name, "."); dotted {
				files[i].Name = "some " + strings.Repeat("z", len(prefix)) + prefix[len(prefix)-1:] + "." + member
			}
		}
		report, err := File(t.Context(), write(t, npytest.Archive(files...)), backend)
		if err != nil {
			t.Fatal(err)
		}
		if !report.OK {
			t.Errorf("%s under other names: failed %q", name, report.names())
		}
	}
}

// TestConvolutionThatFitsBothWays is a 3×3 kernel with equal channels: shapes do
// not tell conv2d from conv_transpose2d, only the output does.
func TestConvolutionThatFitsBothWays(t *testing.T) {
	backend := engine(t)
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}
	w := []float64{0, 1, 0, 0, 0, 2, 0, 0, 3}
	for _, transposed := range []bool{false, true} {
		y, gx, gw := referenceConv(x, w, transposed)
		files := []npytest.File{
			{Name: "c.geom", Data: npytest.Array("<i8", "3,", int64Bytes(1, 1, 0))},
			{Name: "c.x", Data: npytest.Array("<f4", "1, 1, 3, 3", narrow(x))},
			{Name: "c.w", Data: npytest.Array("<f4", "1, 1, 3, 3", narrow(w))},
			{Name: "c.gy", Data: npytest.Array("<f4", "1, 1, 3, 3", narrow(x))},
		}
		for name, values := range map[string][]float64{"y": y, "gx": gx, "gw": gw} {
			files = append(files,
				npytest.File{Name: "c." + name + "_64", Data: npytest.Array("<f8", "1, 1, 3, 3", npytest.Float64s(values...))},
				npytest.File{Name: "c." + name + "_32", Data: npytest.Array("<f4", "1, 1, 3, 3", narrow(values))})
		}
		report, err := File(t.Context(), write(t, npytest.Archive(files...)), backend)
		if err != nil {
			t.Fatal(err)
		}
		if !report.OK {
			t.Errorf("transposed %v: failed %q", transposed, report.names())
		}
	}
}

// referenceConv is a 3×3 convolution with padding 1 of a 3×3 image, and its
// gradients for gy = x, by the definitions.
func referenceConv(x, w []float64, transposed bool) (y, gx, gw []float64) {
	y, gx, gw = make([]float64, 9), make([]float64, 9), make([]float64, 9)
	for i := range 9 {
		for k := range 9 {
			// Output pixel i meets input pixel j under weight k.
			row, column := i/3+k/3-1, i%3+k%3-1
			if transposed {
				row, column = i/3-k/3+1, i%3-k%3+1
			}
			if row < 0 || row > 2 || column < 0 || column > 2 {
				continue
			}
			j := 3*row + column
			y[i] += x[j] * w[k]
			gx[j] += x[i] * w[k]
			gw[k] += x[j] * x[i]
		}
	}
	return y, gx, gw
}

func int64Bytes(values ...int64) []byte {
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

func narrow(values []float64) []byte {
	var b []byte
	for _, v := range values {
		b = append(b, npytest.Float32s(float32(v))...)
	}
	return b
}

func TestUnknownArraysFail(t *testing.T) {
	report, err := File(t.Context(), write(t, npytest.Archive(someFiles()...)), engine(t))
	if err != nil {
		t.Fatal(err)
	}
	if report.OK || !slices.Contains(report.names(), "mask") {
		t.Errorf("OK %v, failed %q", report.OK, report.names())
	}
}

// TestHostileShapesFailTheirCase feeds cases that no engine can compute.
func TestHostileShapesFailTheirCase(t *testing.T) {
	backend := engine(t)
	one := npytest.Float32s(1)
	tests := map[string][]npytest.File{
		"convolution": {
			{Name: "c.geom", Data: npytest.Array("<i8", "3,", int64Bytes(0, -1, math.MaxInt64))}, {Name: "c.x", Data: npytest.Array("<f4", "1, 1, 1, 1", one)},
			{Name: "c.w", Data: npytest.Array("<f4", "1, 1, 1, 1", one)}, {Name: "c.gy", Data: npytest.Array("<f4", "1, 1, 1, 1", one)},
		},
		"batch norm": {
			{Name: "c.x", Data: npytest.Array("<f4", "1, 1, 1, 1", one)}, {Name: "c.gy", Data: npytest.Array("<f4", "1, 1, 1, 1", one)}, {Name: "c.gamma", Data: npytest.Array("<f4", "1,", one)},
			{Name: "c.beta", Data: npytest.Array("<f4", "1,", one)}, {Name: "c.rm0", Data: npytest.Array("<f4", "1,", one)}, {Name: "c.rv0", Data: npytest.Array("<f4", "1,", one)},
		},
		"loss": {
			{Name: "c.a", Data: npytest.Array("<f4", "1, 1", one)}, {Name: "c.b", Data: npytest.Array("<f4", "1, 1", one)},
			{Name: "c.dssim_64", Data: npytest.Array("<f8", "", npytest.Float64s(0))}, {Name: "c.dssim_32", Data: npytest.Array("<f4", "", one)},
		},
		"decoder": {
			{Name: "param.latent", Data: npytest.Array("<f4", "1, 1, 1, 1", one)}, {Name: "cum_mask", Data: npytest.Array("|u1", "1, 1", []byte{1})}, {Name: "new_mask", Data: npytest.Array("|u1", "1, 1", []byte{1})},
			{Name: "target_old", Data: npytest.Array("<f4", "1, 1", one)}, {Name: "target_new", Data: npytest.Array("<f4", "1, 1", one)}, {Name: "param.conv0.weight", Data: npytest.Array("<f4", "1, 1, 4, 4", make([]byte, 64))},
			{Name: "output_64", Data: npytest.Array("<f8", "1, 1", npytest.Float64s(1))},
		},
		"telescope": {
			{Name: "object", Data: npytest.Array("<f4", "1, 1", one)}, {Name: "masks", Data: npytest.Array("|u1", "1, 1, 1", []byte{1})}, {Name: "centres", Data: npytest.Array("<f8", "1, 2", npytest.Float64s(math.NaN(), math.Inf(1)))},
			{Name: "g", Data: npytest.Array("<f4", "1, 1", one)}, {Name: "cum_mask", Data: npytest.Array("|u1", "1, 1", []byte{1})}, {Name: "radius", Data: npytest.Array("<f8", "", npytest.Float64s(math.Inf(1)))},
		},
		"Fermat spiral": {{Name: "n2_r1_64", Data: npytest.Array("<f8", "2, 2", npytest.Float64s(0, 0, math.NaN(), 1))}, {Name: "n2_r1_32", Data: npytest.Array("<f4", "2, 2", npytest.Float32s(0, 0, 0, 1))}},
		"adam":          {{Name: "p0", Data: npytest.Array("<f4", "1,", one)}, {Name: "grads", Data: npytest.Array("<f4", "1, 2", npytest.Float32s(1, 2))}},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			report, err := File(t.Context(), write(t, npytest.Archive(files...)), backend)
			if err != nil {
				t.Fatal(err)
			}
			if report.OK || len(report.Results) == 0 {
				t.Errorf("report = %+v", report)
			}
			for _, r := range report.Results {
				if strings.Contains(r.Note, "panicked") {
					t.Errorf("%s: %s", r.Array, r.Note)
				}
			}
		})
	}
}

func TestFailureTellsUnreadableFilesFromFailedArrays(t *testing.T) {
	sound := Report{File: "a.npz", OK: true, Results: []Result{{OK: true}}}
	failed := Report{File: "b.npz", Results: []Result{{}, {OK: true}, {}}}
	absent := Report{File: "c.npz", Err: "c.npz: no such file or directory"}
	text := Report{File: "d.txt", Err: "d.txt: not an NPZ file"}
	for _, c := range []struct {
		reports []Report
		want    string
	}{
		{[]Report{sound}, ""},
		{[]Report{sound, failed}, "this build does not reproduce the reference vectors: 2 arrays failed"},
		{[]Report{sound, absent}, "c.npz: no such file or directory"},
		{[]Report{absent, text}, "c.npz: no such file or directory; d.txt: not an NPZ file"},
		{[]Report{failed, text, sound}, "this build does not reproduce the reference vectors: 2 arrays failed; d.txt: not an NPZ file"},
	} {
		got := ""
		if err := Failure(c.reports); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("Failure = %q, want %q", got, c.want)
		}
	}
}

func TestReportsArePrinted(t *testing.T) {
	reports := []Report{
		{File: "a.npz", OK: true, Cases: []string{"conv a"}, Results: []Result{{Array: "a.y_64", Error: 1e-7, Allowed: 1e-6, OK: true}}},
		{File: "b.npz", Cases: []string{"conv b"}, Results: []Result{{Array: "b.y_64", Error: number(math.Inf(1)), Allowed: number(math.NaN()), Note: "why"}}},
		{File: "c.npz", Err: "c.npz: not an NPZ file"},
	}
	var b bytes.Buffer
	if err := WriteText(&b, "cpu go ×2", reports); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a.npz: 1 case, 1 array, 0 failed", "a.y_64", "1e-07", "FAIL", "why", "c.npz: not read\n", "cpu go ×2: 2 arrays in 3 files: FAILED: 1 array failed, 1 file could not be read"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("text lacks %q:\n%s", want, b.String())
		}
	}
	b.Reset()
	if err := WriteJSON(&b, "cpu go ×2", reports); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OK    bool
		Files []struct {
			OK      bool
			Error   string
			Results []struct{ Error *float64 }
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || !got.Files[0].OK || *got.Files[0].Results[0].Error != 1e-7 || got.Files[1].Results[0].Error != nil || got.Files[2].Error == "" {
		t.Errorf("JSON = %s", b.String())
	}
	if OK(reports) || !OK(reports[:1]) || OK(nil) {
		t.Error("OK is wrong about reports")
	}
}
