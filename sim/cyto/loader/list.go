package loader

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"prismtop/profiles/inputfile"
	"prismtop/sim/cyto/stack"
)

// ListOptions say what a list of files means. Its columns have CytoDL's names unless they
// are given: raw and seg; of a label-free list brightfield and signal, or raw, whose file
// has both.
type ListOptions struct {
	LabelFree                   bool
	ImageColumn, TargetColumn   string
	SplitColumn                 string // "split" if empty; of a list with all parts
	ImageChannel, TargetChannel string // of every file, as in Item
	TargetsOptional             bool   // for predictions: a list without the column, and empty cells, have none
}

// The columns of CytoDL's lists (§B2).
const (
	defaultImageColumn   = "raw"
	defaultTargetColumn  = "seg"
	labelFreeImageColumn = "brightfield"
	labelFreeTarget      = "signal"
	defaultSplitColumn   = "split"
)

// maxList bounds a list of files, in bytes.
const maxList = 1 << 26

// endings are those of files that are read.
var endings = []string{".ome.tiff", ".ome.tif", ".tiff", ".tif", ".npy", ".ome.zarr", ".zarr"}

// columns fills in the names of the columns of a list with a header.
func (o ListOptions) columns(header []string) ListOptions {
	if o.ImageColumn == "" {
		o.ImageColumn = defaultImageColumn
		if o.LabelFree && slices.Contains(header, labelFreeImageColumn) {
			o.ImageColumn = labelFreeImageColumn
		}
	}
	if o.TargetColumn == "" {
		o.TargetColumn = defaultTargetColumn
		if o.LabelFree {
			o.TargetColumn = labelFreeTarget
			if !slices.Contains(header, labelFreeTarget) && !o.TargetsOptional {
				o.TargetColumn = o.ImageColumn // both signals are channels of one file
			}
		}
	}
	return o
}

// item makes a pair of two paths.
func (o ListOptions) item(image, target string) Item {
	return Item{Image: image, Target: target, ImageChannel: o.ImageChannel, TargetChannel: o.TargetChannel}
}

// Splits are the parts of a dataset.
type Splits struct{ Train, Valid, Test []Item }

// part returns the part with a name, nil if there is none. CytoDL's lists have all of these.
func (s *Splits) part(name string) *[]Item {
	switch strings.ToLower(name) {
	case "train", "training":
		return &s.Train
	case "valid", "val", "validation":
		return &s.Valid
	case "test", "testing":
		return &s.Test
	}
	return nil
}

// ReadSplits reads the parts of a dataset: the lists of a folder, train.csv, valid.csv and
// test.csv, of which others may be missing but not the first; or one list with a column
// that names the part of each row.
func ReadSplits(ctx context.Context, path string, o ListOptions) (Splits, error) {
	var s Splits
	if o.SplitColumn == "" {
		o.SplitColumn = defaultSplitColumn
	}
	info, err := os.Stat(path)
	if err != nil {
		return s, err
	}
	if !info.IsDir() {
		rows, err := readRows(ctx, path, o)
		for _, r := range rows {
			part := s.part(r.split)
			if part == nil {
				return Splits{}, fmt.Errorf("%s:%d: column %s: %q: must be train, valid or test", path, r.line,
					o.SplitColumn, r.split)
			}
			*part = append(*part, r.item)
		}
		return s, err
	}
	lists, err := Lists(path)
	if err != nil {
		return s, err
	}
	for _, list := range lists {
		part := s.part(partOf(list))
		if *part != nil {
			return Splits{}, fmt.Errorf("%s: there is another list of the same part: must be one", list)
		}
		if *part, err = ReadList(ctx, list, o); err != nil {
			return Splits{}, err
		}
	}
	if s.Train == nil {
		return Splits{}, fmt.Errorf("%s: no train.csv: must list the training images", path)
	}
	return s, nil
}

// Lists returns the paths of the lists of a dataset's folder. Other tables are left out, as CytoDL skips
// them.
func Lists(folder string) ([]string, error) {
	lists, err := listsOf(folder)
	return slices.DeleteFunc(lists, func(list string) bool { return new(Splits).part(partOf(list)) == nil }), err
}

// partOf returns the part of a dataset that a list's name stands for.
func partOf(list string) string { return strings.TrimSuffix(filepath.Base(list), ".csv") }

// Images reads the images to predict: a file, those of a list, of predict.csv or test.csv in
// a folder, or of a folder of images. Lists may give targets, to measure the prediction by. A plate,
// a well or a series of OME-Zarr without a target stands for all of its images.
func Images(ctx context.Context, path string, o ListOptions) ([]Item, error) {
	items, err := images(ctx, path, o)
	var all []Item
	for _, item := range items {
		if item.Target != "" || !stack.IsFolder(item.Image) {
			all = append(all, item)
			continue
		}
		parts, err := stack.Images(item.Image)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			item.Image = part
			all = append(all, item)
		}
	}
	return all, err
}

func images(ctx context.Context, path string, o ListOptions) ([]Item, error) {
	o.TargetsOptional = true
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir() && strings.EqualFold(filepath.Ext(path), ".csv"):
		return ReadList(ctx, path, o)
	case !info.IsDir() || stack.IsFolder(path):
		return []Item{o.item(path, "")}, nil
	}
	for _, name := range []string{"predict.csv", "test.csv"} {
		if list := filepath.Join(path, name); isFile(list) {
			return ReadList(ctx, list, o)
		}
	}
	return Folder(path, "", o)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// ReadList reads a CSV list of pairs with a header. Relative paths begin at the list's
// folder. Errors name the list, the line and the column.
func ReadList(ctx context.Context, path string, o ListOptions) ([]Item, error) {
	o.SplitColumn = ""
	rows, err := readRows(ctx, path, o)
	items := make([]Item, len(rows))
	for i, r := range rows {
		items[i] = r.item
	}
	return items, err
}

// row is a row of a list.
type row struct {
	line  int
	item  Item
	split string
}

// readRows reads a list. A SplitColumn must be there unless it has no name.
func readRows(ctx context.Context, path string, o ListOptions) ([]row, error) {
	content, err := inputfile.Read(ctx, path, maxList)
	if err == nil {
		content, err = inputfile.Text(content)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	r := csv.NewReader(bytes.NewReader(content))
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty: must have a header", path)
	}
	if err != nil {
		return nil, listFault(path, err)
	}
	o = o.columns(header)
	wanted := []string{o.ImageColumn}
	targets := !o.TargetsOptional || slices.Contains(header, o.TargetColumn)
	if targets {
		wanted = append(wanted, o.TargetColumn)
	}
	if o.SplitColumn != "" {
		wanted = append(wanted, o.SplitColumn)
	}
	for _, column := range wanted {
		if !slices.Contains(header, column) {
			return nil, fmt.Errorf("%s:1: no column %q among %q", path, column, header)
		}
	}
	var rows []row
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, listFault(path, err)
		}
		line, _ := r.FieldPos(0)
		cell := func(column string) string { return cells[slices.Index(header, column)] }
		image, target := cell(o.ImageColumn), ""
		if image, err = local(path, image); err != nil {
			return nil, fmt.Errorf("%s:%d: column %s: %w", path, line, o.ImageColumn, err)
		}
		if targets && (cell(o.TargetColumn) != "" || !o.TargetsOptional) {
			if target, err = local(path, cell(o.TargetColumn)); err != nil {
				return nil, fmt.Errorf("%s:%d: column %s: %w", path, line, o.TargetColumn, err)
			}
		}
		next := row{line: line, item: o.item(image, target)}
		next.item.From = fmt.Sprintf("%s:%d", path, line)
		if o.SplitColumn != "" {
			next.split = cell(o.SplitColumn)
		}
		rows = append(rows, next)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: lists no images", path)
	}
	return rows, nil
}

// listFault names the list and the line of an error in its form.
func listFault(path string, err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return fmt.Errorf("%s:%d: column %d: %w", path, parse.Line, parse.Column, parse.Err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// local returns the path of a cell, which is relative to the folder of its list or, where nothing is there, to the
// working folder, as in CytoDL's own lists.
func local(list, path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("is empty: must be a path")
	case strings.Contains(path, "://"):
		return "", fmt.Errorf("%s: must be a file on this machine", path)
	case filepath.IsAbs(path):
		return path, nil
	}
	beside := filepath.Join(filepath.Dir(list), path)
	if _, err := os.Stat(beside); errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path); err == nil {
			return filepath.Clean(path), nil
		}
	}
	return beside, nil
}

// Folder lists the images of a folder, sorted by name. The target of each is the file of
// the same name in another folder, up to the ending; without one, there are no targets.
func Folder(images, targets string, o ListOptions) ([]Item, error) {
	found, err := imagesOf(images)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: no images: must hold files that end in %s%s", images, strings.Join(endings, ", "),
			foreign(images))
	}
	byName := make(map[string]string)
	if targets != "" {
		others, err := imagesOf(targets)
		if err != nil {
			return nil, err
		}
		for _, path := range others {
			byName[stem(path)] = path
		}
	}
	items := make([]Item, len(found))
	for i, path := range found {
		target := byName[stem(path)]
		if target == "" && targets != "" && !o.TargetsOptional {
			return nil, fmt.Errorf("%s: no target in %s: must have the same name", path, targets)
		}
		items[i] = o.item(path, target)
	}
	return items, nil
}

// foreign says how to convert a folder's images that are not read, empty without any.
func foreign(folder string) string {
	others, _ := filesOf(folder, func(name string) bool { return strings.EqualFold(filepath.Ext(name), ".czi") })
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("; Zeiss CZI, such as %s, must be converted, as by bfconvert of Bio-Formats",
		filepath.Base(others[0]))
}

// imagesOf and listsOf return the paths of a folder's images and of its CSV lists.
func imagesOf(folder string) ([]string, error) {
	return filesOf(folder, func(name string) bool { return stem(name) != name })
}

func listsOf(folder string) ([]string, error) {
	return filesOf(folder, func(name string) bool { return strings.HasSuffix(name, ".csv") })
}

// filesOf returns the paths of a folder's files with names of a kind, sorted.
func filesOf(folder string, is func(name string) bool) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if is(e.Name()) && (!e.IsDir() || stack.IsFolder(filepath.Join(folder, e.Name()))) {
			paths = append(paths, filepath.Join(folder, e.Name()))
		}
	}
	return paths, nil
}

// Stem returns the name of a file without its folder and the ending of an image. That of an image in a folder of
// OME-Zarr begins with the folder's: plate-A-1-0 for plate.zarr/A/1/0.
func Stem(path string) string {
	inside := ""
	for at := filepath.Clean(path); filepath.Dir(at) != at; at = filepath.Dir(at) {
		if name := stem(at); inside != "" && name != filepath.Base(at) && strings.EqualFold(filepath.Ext(at), ".zarr") {
			return name + inside
		}
		inside = "-" + stem(at) + inside
	}
	return stem(path)
}

func stem(path string) string {
	name := filepath.Base(path)
	for _, ending := range endings {
		if len(name) > len(ending) && strings.EqualFold(name[len(name)-len(ending):], ending) {
			return name[:len(name)-len(ending)]
		}
	}
	return name
}
