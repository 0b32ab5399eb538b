package weights

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// saved are the arrays of state in testdata/make.py.
func saved() []Tensor {
	weight := make([]float32, 12)
	for i := range weight {
		weight[i] = float32(i)/8 - 0.5
	}
	turned := make([]float32, 12)
	for i := range turned {
		turned[i] = weight[i%3*4+i/3]
	}
	part := []float32{weight[4], weight[6], weight[8], weight[10]}
	return []Tensor{
		{"weight", []int{3, 4}, weight}, {"turned", []int{4, 3}, turned}, {"part", []int{2, 2}, part}, {"half", []int{3, 4}, weight}, {"bfloat", []int{3, 4}, weight},
		{"double", []int{3, 4}, weight}, {"number", []int{}, []float32{0.25}}, {"parameter", []int{4}, weight[:4]},
	}
}

// counts are the names that no network here wants.
func counts(name string) bool { return strings.HasSuffix(name, "num_batches_tracked") }

// without returns arrays without their numbers.
func without(all []Tensor) []Tensor {
	bare := slices.Clone(all)
	for i := range bare {
		bare[i].Values = nil
	}
	return bare
}

// Files that PyTorch 1.13, 2.0 and 2.15 wrote (testdata/make.py): every type, shared and strided storages.
func TestFilesOfTorchAreRead(t *testing.T) {
	for _, name := range []string{"torch-1.13.pt", "torch-2.0.pt", "torch-2.15.pt"} {
		got, said, err := Read(t.Context(), "testdata/"+name, Network{Arrays: without(saved()), Ignored: counts})
		if err != nil || !reflect.DeepEqual(got, saved()) || len(said) != 0 {
			t.Errorf("%s: %v, said %v, %v", name, got, said, err)
		}
	}
}

// layers are the arrays of layers in testdata/make.py, before and after a training that changes the
// statistics alone.
func layers() []Tensor {
	return []Tensor{
		{"0.weight", []int{2, 3}, []float32{0, 1, 2, 3, 4, 5}}, {"0.bias", []int{2}, []float32{1, 2}}, {"1.weight", []int{2}, []float32{2, 3}}, {"1.bias", []int{2}, []float32{3, 4}},
		{"1.running_mean", []int{2}, nil}, {"1.running_var", []int{2}, nil},
	}
}

func TestPrefixesAndContainersAreLeftOut(t *testing.T) {
	for name, want := range map[string]string{
		"parallel.pth":   "left out module. of 6 names in the file of weights",
		"lightning.ckpt": `the weights are those under "state_dict" in the file; left out model._orig_mod. of 6 names in the file of weights`,
	} {
		got, said, err := Read(t.Context(), "testdata/"+name, Network{Arrays: without(layers()), Ignored: counts})
		if err != nil || strings.Join(said, "; ") != want {
			t.Errorf("%s: said %q, %v, want %q", name, said, err, want)
			continue
		}
		for i, l := range layers()[:4] {
			if !reflect.DeepEqual(got[i], l) {
				t.Errorf("%s: %v, want %v", name, got[i], l)
			}
		}
	}
}

func TestFilesOfTorchThatAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"legacy.pt": "is in torch.save's format from before PyTorch 1.6",
		"module.pt": "names torch.nn.modules.linear.Linear, which is not part of a state_dict and is never run",
		"evil.pt":   "names posix.system, which is not part of a state_dict and is never run",
		"script.pt": "is a TorchScript archive, which holds a program",
		"list.pt":   "holds a list: must hold a state_dict",
	} {
		_, _, err := Read(t.Context(), "testdata/"+name, Network{Arrays: without(saved())})
		if err == nil || !strings.HasPrefix(err.Error(), "weights testdata/"+name+": "+want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	if _, err := os.Stat("/tmp/was-run"); err == nil {
		t.Error("the program in evil.pt was run")
	}
	_, _, err := Read(t.Context(), "testdata/parallel.pth", Network{Arrays: []Tensor{{Name: "0.weight", Shape: []int{2, 3}}, {Name: "head", Shape: []int{9}}}, Ignored: counts})
	if want := "weights testdata/parallel.pth: has other names than the network: missing: head (9); not of this network: module.0.bias, module.1.weight, module.1.bias, module.1.running_mean, module.1.running_var"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// torchArchive returns an archive of a pickle and of storages by key.
func torchArchive(program string, storages map[string][]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		e, _ := w.CreateHeader(&zip.FileHeader{Name: "archive/" + name, Method: zip.Store})
		_, _ = e.Write(data)
	}
	add("data.pkl", []byte(program))
	for key, data := range storages {
		add("data/"+key, data)
	}
	_ = w.Close()
	return b.Bytes()
}

// pickled returns a state_dict of one tensor, "w", in protocol 2.
func pickled(class string, count, offset int, shape, strides string) string {
	return "\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\n" + class + "\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK" + string(rune(count)) +
		"tQK" + string(rune(offset)) + "(" + shape + "t(" + strides + "t\x89NtRs."
}

// Pickles that torch.save does not write are refused, and said why.
func TestPicklesThatAreRefused(t *testing.T) {
	two := map[string][]byte{"0": make([]byte, 8)}
	for _, c := range []struct{ program, want string }{
		{"", "damaged file of torch.save: the pickle ends too early"},
		{"\x80\x01.", "damaged file of torch.save: the pickle is of protocol 1: must be of 2 to 5"},
		{"\x80\x02.", "damaged file of torch.save: the pickle takes more from its stack than it put there"},
		{"\x80\x02(.", "damaged file of torch.save: the pickle takes more from its stack than it put there"},
		{"\x80\x02K\x01.", "holds a single value: must hold a state_dict, or a dict with one under state_dict, model_state_dict, model, net"},
		{"\x80\x02}.", "holds no state_dict: must be one, or a dict with one under state_dict, model_state_dict, model, net"},
		{"\x80\x02I1\n.", `damaged file of torch.save: the pickle has the instruction 'I', which torch.save does not write`},
		{"\x80\x02h\x00.", "damaged file of torch.save: the pickle takes from its memo what it did not put there"},
		{"\x80\x02Nr\xff\xff\xff\x7f.", "damaged file of torch.save: the pickle leaves places of its memo free, as torch.save does not"},
		{"\x80\x02X\xff\xff\xff\x7f.", "damaged file of torch.save: the pickle ends too early"},
		{"\x80\x04\x8c\x02os\x8c\x06system\x93.", "names os.system, which is not part"},
		{"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x00xR.", "names builtins.eval, which is not part"},
		{"\x80\x02ctorch.storage\n_load_from_bytes\n.", "names torch.storage._load_from_bytes, which is not part"},
		{"\x80\x02ctorch\nload\n.", "names torch.load, which is not part"},
		{"\x80\x02ctorch\nFloatStorage\n)R.", "damaged file of torch.save: the pickle calls torch FloatStorage in a way that torch.save does not"},
		{pickled("FloatStorage", 3, 0, "K\x02", "K\x01"), "damaged file of torch.save: archive/data/0: 8 bytes for 3 numbers"},
		{pickled("FloatStorage", 2, 1, "K\x02", "K\x01"), "damaged file of torch.save: w: numbers 1 to 3 of a storage of 2"},
		{pickled("FloatStorage", 2, 0, "K\x02", "J\xff\xff\xff\xff"), "damaged file of torch.save: w: the shape (2) with strides (-1)"},
		{pickled("FloatStorage", 2, 0, "K\x02", "J\xff\xff\xff\x7f"), "damaged file of torch.save: w: numbers 0 to 2147483648 of a storage of 2"},
		{pickled("ByteStorage", 2, 0, "K\x02", "K\x01"), "w has numbers of torch's ByteStorage: must be FloatStorage"},
		{pickled("FloatStorage", 2, 0, "K\x02", "K\x01"), ""},
		{pickled("FloatStorage", 2, 0, "K\x02", "K\x00"), ""}, // expanded
	} {
		_, err := readBytes(t, torchArchive(c.program, two), []Tensor{{Name: "w", Shape: []int{2}}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%q: %v, want %q", c.program, err, c.want)
		}
	}
	_, err := readBytes(t, torchArchive(pickled("FloatStorage", 2, 0, "K\x02", "K\x01"), nil), []Tensor{{Name: "w", Shape: []int{2}}})
	if err == nil || err.Error() != "damaged file of torch.save: the storage 0 is missing" {
		t.Errorf("a missing storage: %v", err)
	}
}

// Damaged numbers of a storage are found by their checksum.
func TestDamagedStoragesAreRefused(t *testing.T) {
	data := torchArchive(pickled("FloatStorage", 2, 0, "K\x02", "K\x01"), map[string][]byte{"0": []byte("abcdefgh")})
	data[bytes.Index(data, []byte("abcdefgh"))]++
	if _, err := readBytes(t, data, []Tensor{{Name: "w", Shape: []int{2}}}); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("%v", err)
	}
}

// taken returns the bytes that reading allocates.
func taken(data []byte, n Network, t *testing.T) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, _ = read(t.Context(), bytes.NewReader(data), int64(len(data)), n)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Reading a file, or what a fuzzer makes of it, never takes more than four times its size, and what the
// fixed buffers of a reader take.
func TestMutantsTakeNoMoreThanTheirSize(t *testing.T) {
	const buffers = 192 << 10
	r := rand.New(rand.NewPCG(1, 2))
	large := make([]byte, 1<<20)
	for name, seed := range map[string][]byte{
		"1.13": file(t, "torch-1.13.pt"), "2.15": file(t, "torch-2.15.pt"), "lightning": file(t, "lightning.ckpt"),
		"large half": torchArchive("\x80\x02}X\x01\x00\x00\x00wctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nHalfStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuJ\x00\x00\x08\x00tQK\x00(J\x00\x00\x08\x00t(K\x01t\x89NtRs.", map[string][]byte{"0": large}),
		"marks":      torchArchive("\x80\x02"+strings.Repeat("(", 1<<20)+".", nil), "nothings": torchArchive("\x80\x02"+strings.Repeat("N", 1<<20)+".", nil),
		"dicts": torchArchive("\x80\x02"+strings.Repeat("}", 1<<20)+".", nil), "memo": torchArchive("\x80\x04N"+strings.Repeat("\x94", 1<<20)+".", nil),
		"tuples": torchArchive("\x80\x02"+strings.Repeat("N\x85", 1<<19)+".", nil), "entries": torchArchive("", many()),
	} {
		n := Network{Arrays: []Tensor{{Name: "w", Shape: []int{1 << 19}}}}
		if len(seed) < 1<<18 {
			n = Network{Arrays: without(saved()), Ignored: counts}
		}
		most := 0.0
		for i := range 150 {
			data := slices.Clone(seed)
			if i > 0 {
				mutate(r, data)
			}
			if got, limit := taken(data, n, t), uint64(4*len(data)+buffers); got > limit {
				t.Errorf("%s, mutant %d: %d bytes for a file of %d", name, i, got, len(data))
				break
			} else {
				most = max(most, float64(got)/float64(limit))
			}
			if len(seed) > 1<<18 && i > 3 {
				break
			}
		}
		t.Logf("%s: at most %.0f %% of the limit", name, 100*most)
	}
}

// many returns storages that are empty.
func many() map[string][]byte {
	all := map[string][]byte{}
	for i := range 1000 {
		all[fmt.Sprint(i)] = nil
	}
	return all
}

func mutate(r *rand.Rand, data []byte) {
	for range 1 + r.IntN(4) {
		at := r.IntN(len(data))
		switch r.IntN(3) {
		case 0:
			data[at] = byte(r.IntN(256))
		case 1:
			data[at] ^= 1 << r.IntN(8)
		default:
			n := min(r.IntN(64), len(data)-at)
			copy(data[at:at+n], data[r.IntN(len(data)-n+1):])
		}
	}
}

func file(t testing.TB, name string) []byte {
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// FuzzTorch feeds anything to the reader of torch.save: it must not panic nor take more memory than four
// times the file's size.
func FuzzTorch(f *testing.F) {
	for _, name := range []string{"torch-1.13.pt", "torch-2.0.pt", "torch-2.15.pt", "lightning.ckpt", "parallel.pth", "evil.pt", "module.pt", "list.pt"} {
		f.Add(file(f, name))
	}
	f.Add(torchArchive(pickled("FloatStorage", 2, 0, "K\x02", "K\x01"), map[string][]byte{"0": make([]byte, 8)}))
	n := Network{Arrays: without(saved()), Ignored: counts}
	f.Fuzz(func(t *testing.T, data []byte) {
		left := &budget{left: budgetFactor*int64(len(data)) + budgetFloor}
		_, _ = unpickle(string(data), left)
		got, _, err := read(t.Context(), bytes.NewReader(data), int64(len(data)), n)
		if err == nil && len(got) != len(n.Arrays) {
			t.Errorf("%v", got)
		}
	})
}
