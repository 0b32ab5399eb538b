package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/profiles/await/awaittest"
	"prismtop/profiles/settings"
	"prismtop/sim/npy/npytest"
)

var table = settings.NewTable("toy", nil,
	settings.Text("Group", "name", "a name"), settings.Switch("Group", "on", "a switch"),
	settings.Integer("Group", "count", "", "a count", 1, 100), settings.Number("Group", "rate", "", "a rate", 0, 1))

// toy is a state of a run of the toy workload.
func toy(t testing.TB) (*Run, *State) {
	v, err := table.Zero().With(settings.Assignment{Key: "name", Value: "a\nb"}, settings.Assignment{Key: "on", Value: "true"},
		settings.Assignment{Key: "count", Value: "7"}, settings.Assignment{Key: "rate", Value: "0.1"})
	if err != nil {
		t.Fatal(err)
	}
	unit := profiles.UnitResult{Unit: 3, Iterations: 9, Converged: true, Reached: math.Inf(1), Loss: "l1", Threshold: 0.1, Elapsed: 5}
	unit.Values[0], unit.Values[1] = math.NaN(), 0.1
	return &Run{
			Program: "1", Workload: "toy", Object: "thing", Kernels: "go", Iteration: 42, Settings: SettingsOf(v),
			Results: []Result{ResultOf(&unit, 2)},
		}, &State{
			Scalars: map[string]Number{"rate": Number(0.1), "best": Number(math.Inf(1)), "none": Number(math.NaN())},
			Arrays: []Array{
				{Name: "w", Shape: []int{2, 2}, Float32: []float32{1, float32(math.Inf(-1)), math.SmallestNonzeroFloat32, math.Float32frombits(0x7fc00001)}},
				{Name: "scalar", Float32: []float32{3}}, {Name: "d", Shape: []int{1}, Float64: []float64{math.Pi}},
			},
		}
}

// encoded returns the bytes of a file.
func encoded(t testing.TB, r *Run, s *State) []byte {
	write, err := encode(r, s)
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := write(&file); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func TestACheckpointIsReadBackBitForBit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.npz")
	r, s := toy(t)
	for range 2 { // the second replaces the first
		if err := Write(path, r, s); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	var scalars map[string]Number
	if err := c.Scalars(&scalars); err != nil {
		t.Fatal(err)
	}
	if scalars["rate"] != 0.1 || !math.IsInf(float64(scalars["best"]), 1) || !math.IsNaN(float64(scalars["none"])) {
		t.Errorf("scalars %v", scalars)
	}
	v, err := c.Values(table)
	if err != nil || v.Text("name") != "a\nb" || !v.On("on") || v.Int("count") != 7 || v.Number("rate") != 0.1 {
		t.Errorf("settings %v, %v", v, err)
	}
	unit := c.Results[0].UnitResult()
	if !math.IsNaN(unit.Values[0]) || unit.Values[1] != 0.1 || !math.IsInf(unit.Reached, 1) || unit.Unit != 3 || unit.Elapsed != 5 || !unit.Converged {
		t.Errorf("result %+v", unit)
	}
	arrays, err := c.Take([]Array{{Name: "d", Shape: []int{1}, Float64: []float64{}}, {Name: "w", Shape: []int{2, 2}}, {Name: "scalar"}})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range s.Arrays[0].Float32 {
		if got := arrays["w"].Float32[i]; math.Float32bits(got) != math.Float32bits(x) {
			t.Errorf("number %d is %g, want %g", i, got, x)
		}
	}
	if arrays["d"].Float64[0] != math.Pi || arrays["scalar"].Float32[0] != 3 {
		t.Errorf("%v", arrays)
	}
	for _, test := range []struct {
		required []Array
		want     string
	}{
		{[]Array{{Name: "w", Shape: []int{4}}}, "the array w has the shape [2 2], must have [4]"},
		{[]Array{{Name: "x"}}, "the array x is missing"},
		{[]Array{{Name: "w", Shape: []int{2, 2}}, {Name: "scalar"}}, "the array d is not part of this run"},
		{[]Array{{Name: "d", Shape: []int{1}}}, "the array d has numbers of another size"},
	} {
		if _, err := c.Take(test.required); err == nil || err.Error() != test.want {
			t.Errorf("%v: %v, want %s", test.required, err, test.want)
		}
	}
}

func TestNewNames(t *testing.T) {
	base := filepath.Join(t.TempDir(), "c")
	names := func(n int) string { return base + strconv.Itoa(n) }
	r, s := toy(t)
	for _, want := range []string{base + "1", base + "2"} {
		if path, err := WriteNew(names, r, s); err != nil || path != want {
			t.Errorf("%s, %v, want %s", path, err, want)
		}
	}
}

// No file that is cut off anywhere is read, nor one in which a byte of the content changed.
func TestATruncatedOrChangedFileIsRefused(t *testing.T) {
	r, s := toy(t)
	whole := encoded(t, r, s)
	open := func(data []byte) error {
		_, err := decode(t.Context(), bytes.NewReader(data), int64(len(data)))
		return err
	}
	if err := open(whole); err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if open(whole[:n]) == nil {
			t.Fatalf("the first %d bytes of %d are read", n, len(whole))
		}
	}
	for _, content := range []string{`"iteration":42`, string(npytest.Float32s(1, float32(math.Inf(-1))))} {
		changed := bytes.Clone(whole)
		at := bytes.Index(changed, []byte(content))
		if at < 0 {
			t.Fatalf("no %q", content)
		}
		changed[at+len(content)-1] ^= 1
		if err := open(changed); err == nil || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("a change of %q: %v", content, err)
		}
	}
}

func TestFilesThatAreNoCheckpoints(t *testing.T) {
	document := func(text string) []byte {
		return npytest.Archive(npytest.File{Name: documentName, Data: npytest.Array("|u1", strconv.Itoa(len(text))+",", []byte(text))})
	}
	good := `{"format":1,"run":{"iteration":1},"task":{}}`
	none := errNotCheckpoint.Error()
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, none}, {"text", []byte("hello, world"), none},
		{"an NPZ of something else", npytest.Archive(npytest.File{Name: "x", Data: npytest.Array("<f4", "1,", npytest.Float32s(1))}), none},
		{"a document of numbers", npytest.Archive(npytest.File{Name: documentName, Data: npytest.Array("<f4", "1,", npytest.Float32s(1))}), none},
		{"no JSON", document("{"), none}, {"no version", document("{}"), none},
		{"newer", document(`{"format":4,"more":1}`), "is in version 4 of the format, of a newer prismtop: must be at most 3"},
		{"unknown field", document(`{"format":1,"more":1}`), `array "checkpoint": json: unknown field "more"`},
		{"negative", document(`{"format":1,"run":{"iteration":-1},"task":{}}`), `array "checkpoint": iteration -1: must not be negative`},
		{"twice", npytest.Archive(
			npytest.File{Name: documentName, Data: npytest.Array("|u1", strconv.Itoa(len(good))+",", []byte(good))},
			npytest.File{Name: "w", Data: npytest.Array("<f4", "1,", npytest.Float32s(1))}, npytest.File{Name: "w", Data: npytest.Array("<f4", "1,", npytest.Float32s(1))},
		), `array "w": is there twice`},
		{"integers", npytest.Archive(
			npytest.File{Name: documentName, Data: npytest.Array("|u1", strconv.Itoa(len(good))+",", []byte(good))},
			npytest.File{Name: "w", Data: npytest.Array("<i4", "1,", npytest.Float32s(1))},
		), `array "w": numbers of type <i4: must be <f4 or <f8`},
	} {
		path := filepath.Join(t.TempDir(), "c.npz")
		if err := os.WriteFile(path, test.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), path); err == nil || err.Error() != "checkpoint "+path+": "+test.want {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
	if _, err := Read(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	r, s := toy(t)
	path := filepath.Join(t.TempDir(), "c.npz")
	if err := Write(path, r, s); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(awaittest.After(3), path); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

func TestSettingsThatAreMissingOrUnknown(t *testing.T) {
	r, _ := toy(t)
	for _, test := range []struct {
		settings [][2]string
		want     string
	}{
		{r.Settings[1:], "the setting name is missing"},
		{append(r.Settings[:4:4], [2]string{"nam", "x"}), `unknown setting "nam": did you mean name? prismtop settings lists them`},
		{append(r.Settings[:4:4], [2]string{"count", "101"}), "count = 101: must be a whole number from 1 to 100"},
	} {
		c := &Run{Settings: test.settings}
		if _, err := c.Values(table); err == nil || err.Error() != test.want {
			t.Errorf("%v: %v, want %s", test.settings, err, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, x := range []float64{0, math.Copysign(0, -1), 0.1, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN()} {
		text, err := json.Marshal(Number(x))
		var back Number
		if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || math.Float64bits(float64(back)) != math.Float64bits(x) && !math.IsNaN(x) {
			t.Errorf("%g: %s reads %g, %v", x, text, float64(back), err)
		}
	}
	var n Number
	if err := json.Unmarshal([]byte(`"one"`), &n); err == nil {
		t.Error("a word is a number")
	}
}

// FuzzDecode feeds anything: what is read without an error is written and read again the same.
func FuzzDecode(f *testing.F) {
	r, s := toy(f)
	f.Add(encoded(f, r, s))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decode(t.Context(), bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		again := encoded(t, &c.Run, &State{Scalars: c.Task, Arrays: c.Arrays})
		d, err := decode(t.Context(), bytes.NewReader(again), int64(len(again)))
		if err != nil || len(d.Arrays) != len(c.Arrays) || !reflect.DeepEqual(d.Settings, c.Settings) {
			t.Fatalf("%v: %+v, then %+v", err, c.Run, d)
		}
	})
}
