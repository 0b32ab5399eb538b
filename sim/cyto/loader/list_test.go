package loader

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// list writes a list of files.
func list(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Lists are those that pandas writes: with an index, and in any order of columns.
func TestListsNameTheFilesOfEveryPart(t *testing.T) {
	folder := t.TempDir()
	list(t, folder, "train.csv", "\ufeff,seg,raw\r\n0,s/1.tif,/data/1.tif\r\n1,\"s/2, b.tif\",2.tif\r\n")
	list(t, folder, "valid.csv", "raw,seg\n3.tif,4.tif\n")
	list(t, folder, "notes.csv", "these,are\nnot,parts\n")
	s, err := ReadSplits(t.Context(), folder, ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	in := func(path string) string { return filepath.Join(folder, path) }
	if want := []Item{{"/data/1.tif", in("s/1.tif"), "", "", in("train.csv:2")}, {in("2.tif"), in("s/2, b.tif"), "", "", in("train.csv:3")}}; !slices.Equal(s.Train, want) {
		t.Errorf("%v, want %v", s.Train, want)
	}
	if want := []Item{{in("3.tif"), in("4.tif"), "", "", in("valid.csv:2")}}; !slices.Equal(s.Valid, want) || s.Test != nil {
		t.Errorf("%v and %v, want %v", s.Valid, s.Test, want)
	}
	one := list(t, folder, "one", "signal,split,brightfield\na,train,b\nc,test,d\ne,training,f\n")
	if s, err = ReadSplits(t.Context(), one, ListOptions{LabelFree: true}); err != nil {
		t.Fatal(err)
	}
	if want := []Item{{in("b"), in("a"), "", "", one + ":2"}, {in("f"), in("e"), "", "", one + ":4"}}; !slices.Equal(s.Train, want) || s.Valid != nil || len(s.Test) != 1 {
		t.Errorf("%v, want %v", s, want)
	}
}

func TestFaultsOfAListNameLineAndColumn(t *testing.T) {
	folder := t.TempDir()
	for text, want := range map[string]string{
		"":                                   "list.csv: is empty: must have a header",
		"raw,seg\n":                          "list.csv: lists no images",
		"raw,mask\na,b\n":                    `list.csv:1: no column "seg" among ["raw" "mask"]`,
		"raw,seg\na,b\n\nc,\n":               "list.csv:4: column seg: is empty: must be a path",
		"raw,seg\ns3://bucket/a.tif,b\n":     "list.csv:2: column raw: s3://bucket/a.tif: must be a file on this machine",
		"raw,seg\na,b\nc\n":                  "list.csv:3: column 1: wrong number of fields",
		"raw,seg\na,\"b\n":                   `list.csv:2: column 6: extraneous or missing " in quoted-field`,
		"\xff\xfer\x00a\x00w\x00":            "list.csv: is in UTF-16: must be in UTF-8",
		"raw,seg\n\"a\nb\",c\n\"d\ne\",\n":   "list.csv:4: column seg: is empty",
		"raw,seg,split\na,b,c\n":             "",
		"raw,seg\na,b\n" + "c,d\n" + "e,f\n": "",
	} {
		_, err := ReadList(t.Context(), list(t, folder, "list.csv", text), ListOptions{})
		if (want == "") != (err == nil) || want != "" && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if err := os.Remove(filepath.Join(folder, "list.csv")); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSplits(t.Context(), folder, ListOptions{}); err == nil || !strings.Contains(err.Error(), "no train.csv: must list the training images") {
		t.Error(err)
	}
	part := list(t, folder, "part", "raw,seg,split\na,b,train\nc,d,holdout\n")
	if _, err := ReadSplits(t.Context(), part, ListOptions{}); err == nil || !strings.Contains(err.Error(), `part:3: column split: "holdout": must be train, valid or test`) {
		t.Error(err)
	}
	list(t, folder, "train.csv", "raw,seg\na,b\n")
	list(t, folder, "training.csv", "raw,seg\na,b\n")
	if _, err := ReadSplits(t.Context(), folder, ListOptions{}); err == nil || !strings.Contains(err.Error(), "training.csv: there is another list of the same part") {
		t.Error(err)
	}
	if _, err := ReadList(t.Context(), filepath.Join(folder, "none.csv"), ListOptions{}); err == nil || !strings.Contains(err.Error(), "none.csv: no such file") {
		t.Error(err)
	}
}

// Paths begin at the list's folder or, where nothing is there, at the working folder.
func TestPathsOfListsMayBeginAtTheWorkingFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	write(t, filepath.Join(folder, "data", "a.npy"), [3]int{1, 2, 2})
	write(t, filepath.Join(folder, "lists", "data", "b.npy"), [3]int{1, 2, 2})
	write(t, filepath.Join(folder, "data", "b.npy"), [3]int{1, 2, 2})
	path := list(t, filepath.Join(folder, "lists"), "predict.csv", "raw\n./data/a.npy\n./data/b.npy\nnone.npy\n")
	items, err := ReadList(t.Context(), path, ListOptions{TargetsOptional: true})
	if err != nil || items[0].Image != "data/a.npy" || items[1].Image != filepath.Join(folder, "lists", "data", "b.npy") || items[2].Image != filepath.Join(folder, "lists", "none.npy") {
		t.Errorf("%+v, %v", items, err)
	}
}

// The name of an image in a folder of OME-Zarr begins with the folder's.
func TestStems(t *testing.T) {
	for path, want := range map[string]string{
		"a.tif": "a", "x/a.ome.tiff": "a", "a.npy": "a", "a": "a", "x/a.ome.zarr": "a", "/data/p.ome.zarr/B/3/0": "p-B-3-0", "p.zarr/0": "p-0", "p.ZARR/0/": "p-0", ".zarr/0": "0",
	} {
		if got := Stem(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Images to predict are given as a file, a list, a folder of lists or a folder of images.
func TestImagesToPredict(t *testing.T) {
	folder := t.TempDir()
	write(t, filepath.Join(folder, "raw", "b.ome.tif"), [3]int{1, 2, 2})
	write(t, filepath.Join(folder, "raw", "a.npy"), [3]int{1, 2, 2})
	write(t, filepath.Join(folder, "seg", "b.tif"), [3]int{1, 2, 2})
	list(t, filepath.Join(folder, "raw"), "notes.txt", "")
	a, b := filepath.Join(folder, "raw", "a.npy"), filepath.Join(folder, "raw", "b.ome.tif")
	lists := filepath.Join(folder, "lists")
	if err := os.Mkdir(lists, 0o700); err != nil {
		t.Fatal(err)
	}
	train := list(t, lists, "train.csv", "raw\n../raw/a.npy\n../raw/b.ome.tif\n")
	test := list(t, lists, "test.csv", "raw\n../raw/b.ome.tif\n")
	targets := list(t, folder, "targets.csv", "seg,raw\nseg/b.tif,raw/b.ome.tif\n,raw/a.npy\n")
	for path, want := range map[string][]Item{
		b:                                   {{Image: b, ImageChannel: "1"}},
		filepath.Join(folder, "raw"):        {{Image: a, ImageChannel: "1"}, {Image: b, ImageChannel: "1"}},
		lists:                               {{Image: b, ImageChannel: "1", From: test + ":2"}},
		train:                               {{Image: a, ImageChannel: "1", From: train + ":2"}, {Image: b, ImageChannel: "1", From: train + ":3"}},
		targets:                             {{Image: b, Target: filepath.Join(folder, "seg", "b.tif"), ImageChannel: "1", From: targets + ":2"}, {Image: a, ImageChannel: "1", From: targets + ":3"}},
		filepath.Join(folder, "nothing"):    nil,
		filepath.Join(folder, "seg", "b.t"): nil,
	} {
		got, err := Images(t.Context(), path, ListOptions{ImageChannel: "1"})
		if !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%s: %v (%v), want %v", path, got, err, want)
		}
	}
	if _, err := Folder(filepath.Join(folder, "raw"), filepath.Join(folder, "seg"), ListOptions{}); err == nil || !strings.Contains(err.Error(), "a.npy: no target in") {
		t.Error(err)
	}
	write(t, filepath.Join(folder, "seg", "a.tiff"), [3]int{1, 2, 2})
	items, err := Folder(filepath.Join(folder, "raw"), filepath.Join(folder, "seg"), ListOptions{})
	if err != nil || len(items) != 2 || items[0].Target != filepath.Join(folder, "seg", "a.tiff") || items[1].Target != filepath.Join(folder, "seg", "b.tif") {
		t.Errorf("%v (%v)", items, err)
	}
	if _, err := Folder(folder, "", ListOptions{}); err == nil || !strings.Contains(err.Error(), "no images: must hold files that end in .ome.tiff") {
		t.Error(err)
	}
}

// The columns are CytoDL's of the experiment, or one's own; a list for a prediction needs no
// targets.
func TestColumnsOfLists(t *testing.T) {
	folder := t.TempDir()
	in := func(path string) string { return filepath.Join(folder, path) }
	from := in("list.csv") + ":2"
	for _, c := range []struct {
		text string
		o    ListOptions
		want Item
	}{
		{"brightfield,signal\na,b\n", ListOptions{LabelFree: true}, Item{Image: in("a"), Target: in("b")}},
		{"raw\na\n", ListOptions{LabelFree: true}, Item{Image: in("a"), Target: in("a")}},
		{"raw\na\n", ListOptions{LabelFree: true, TargetsOptional: true}, Item{Image: in("a")}},
		{"brightfield\na\n", ListOptions{LabelFree: true, TargetsOptional: true}, Item{Image: in("a")}},
		{"raw\na\n", ListOptions{TargetsOptional: true}, Item{Image: in("a")}},
		{"raw,seg,mine,mask\na,b,c,d\n", ListOptions{ImageColumn: "mine", TargetColumn: "mask"}, Item{Image: in("c"), Target: in("d")}},
		{"mine\na\n", ListOptions{LabelFree: true, ImageColumn: "mine"}, Item{Image: in("a"), Target: in("a")}},
	} {
		c.want.From = from
		got, err := ReadList(t.Context(), list(t, folder, "list.csv", c.text), c.o)
		if err != nil || !slices.Equal(got, []Item{c.want}) {
			t.Errorf("%q: %v (%v), want %v", c.text, got, err, c.want)
		}
	}
	if _, err := ReadList(t.Context(), list(t, folder, "list.csv", "raw,seg\na,b\n"), ListOptions{TargetColumn: "mask"}); err == nil || !strings.Contains(err.Error(), `no column "mask" among ["raw" "seg"]`) {
		t.Error(err)
	}
}

// A channel is a number or a name; without either it is the only one of a file, or CytoDL's.
func TestChannelsAreChosen(t *testing.T) {
	three, seven := []string{"DNA", "", "brightfield"}, make([]string, 7)
	for _, c := range []struct {
		text     string
		standard int
		names    []string
		want     string
	}{
		{"", 5, []string{""}, "0"}, {"", 5, seven, "5"}, {"", 5, three, `3 channels ["DNA" "" "brightfield"]: one must be chosen (setting image_channel)`},
		{"", 7, seven, "7 channels: one must be chosen (setting image_channel)"},
		{"2", 5, three, "2"}, {"3", 5, three, "channel 3: must be 0 to 2 (setting image_channel)"}, {"-1", 5, three, "channel -1: must be 0 to 2 (setting image_channel)"},
		{"brightfield", 5, three, "2"}, {"GFP", 5, three, `no channel "GFP" among its 3 ["DNA" "" "brightfield"] (setting image_channel)`},
	} {
		n, err := channelOf("image_channel", c.text, c.standard, len(c.names), c.names)
		got := strconv.Itoa(n)
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("channel %q of %q: %s, want %s", c.text, c.names, got, c.want)
		}
	}
}
