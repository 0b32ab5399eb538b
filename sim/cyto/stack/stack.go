// Package stack reads microscope volumes from TIFF and OME-TIFF stacks, OME-Zarr and NPY
// arrays, and writes predictions in the same formats.
//
// A Volume is float32 [C, Z, Y, X], whichever type its file stores. Nothing in a file's
// header is trusted: memory is bounded by ReadOptions.MaxVoxels, and errors name the file,
// the page and the tag.
package stack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"prismtop/profiles/await"
	"prismtop/profiles/inputfile"
	"prismtop/sim/npy"
	"prismtop/sim/tiff"
)

// Volume is an image of one point in time: float32 [C, Z, Y, X], row-major.
type Volume struct {
	Sides    [4]int     // C, Z, Y, X
	Channels []string   // a name for every channel, empty where the file has none
	Voxel    [3]float64 // sides of a voxel along Z, Y and X in micrometres, 0 if unknown
	Type     string     // of the numbers in the file, such as uint16
	Bytes    int64      // read from the file
	Values   []float32
}

// Channel returns the voxels of one channel, [Z, Y, X], which the volume shares.
func (v *Volume) Channel(c int) []float32 {
	n := v.Sides[1] * v.Sides[2] * v.Sides[3]
	return v.Values[c*n:][:n:n]
}

// ReadOptions select a part of a file. Channels, planes and times are counted from 0.
type ReadOptions struct {
	Channels []int // to read, in this order; all if empty
	// Choose, unless it is nil, returns Channels of a file with a number of channels and
	// these names, as far as it has any.
	Choose    func(channels int, names []string) ([]int, error)
	Planes    []int // along Z, in this order; all if empty
	Time      int
	MaxVoxels int // bound of the voxels read, DefaultMaxVoxels if 0
}

// DefaultMaxVoxels is the largest volume that is read by default: 1 GiB of float32.
const DefaultMaxVoxels = 1 << 28

// Read reads a file: NPY, TIFF or OME-TIFF, as its first bytes say, or a folder of OME-Zarr. If ctx ends first,
// its error is returned.
func Read(ctx context.Context, path string, o ReadOptions) (*Volume, error) {
	v, err := await.Result(ctx, func() (*Volume, error) {
		if IsFolder(path) {
			return zarrVolume(ctx, path, o)
		}
		f, info, err := inputfile.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return decode(ctx, filepath.Base(path), inputfile.ReaderAt{Context: ctx, Source: f}, info.Size(), o)
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}

// decode reads a volume from a file's bytes. name is the file's, without its folder.
func decode(ctx context.Context, name string, r io.ReaderAt, size int64, o ReadOptions) (*Volume, error) {
	if o.MaxVoxels == 0 {
		o.MaxVoxels = DefaultMaxVoxels
	}
	head := make([]byte, min(16, size))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch {
	case npy.IsArray(head):
		return decodeNPY(ctx, r, size, o)
	case tiff.Is(head):
		return decodeTIFF(ctx, name, r, size, o)
	case bytes.HasPrefix(head, []byte("ZISRAWFILE")):
		return nil, errors.New("a CZI file of Zeiss is not read: must be converted to OME-TIFF, as by bfconvert of " +
			"Bio-Formats: bfconvert a.czi a.ome.tif")
	}
	return nil, errors.New("neither TIFF nor NPY: must be a TIFF or OME-TIFF stack or an NPY array")
}

// extent is what a file claims to hold: the numbers of channels, planes and times, and the
// sides of a plane. room is the number of voxels that a file of its length can hold.
type extent struct {
	channels, planes, times, height, width int
	room                                   int64
	names                                  []string // of the channels, as far as they have any
}

// volume allocates the selected part of a file, and returns its channels and planes.
func (e extent) volume(o ReadOptions) (v *Volume, channels, planes []int, err error) {
	if o.Time < 0 || o.Time >= e.times {
		return nil, nil, nil, fmt.Errorf("time %d: must be 0 to %d", o.Time, e.times-1)
	}
	if o.Choose != nil {
		if o.Channels, err = o.Choose(e.channels, e.names); err != nil {
			return nil, nil, nil, err
		}
	}
	ofChannels, err := count("channel", o.Channels, e.channels)
	if err != nil {
		return nil, nil, nil, err
	}
	ofPlanes, err := count("plane", o.Planes, e.planes)
	if err != nil {
		return nil, nil, nil, err
	}
	voxels := 1
	for _, n := range []int{ofChannels, ofPlanes, e.height, e.width} {
		if n < 1 || voxels > o.MaxVoxels/n {
			return nil, nil, nil,
				fmt.Errorf("%d channels of %dx%dx%d voxels: must be positive, and %d voxels at most", ofChannels,
					ofPlanes, e.height, e.width, o.MaxVoxels)
		}
		voxels *= n
	}
	if int64(voxels) > e.room {
		return nil, nil, nil, fmt.Errorf("%d voxels in a file that cannot hold more than %d: is it truncated?",
			voxels, e.room)
	}
	channels, planes = chosenOrAll(o.Channels, ofChannels), chosenOrAll(o.Planes, ofPlanes)
	v = &Volume{Sides: [4]int{len(channels), len(planes), e.height, e.width}, Channels: make([]string, len(channels)),
		Values: make([]float32, voxels)}
	for i, c := range channels {
		if c < len(e.names) {
			v.Channels[i] = e.names[c]
		}
	}
	return v, channels, planes, nil
}

// SelectionError is a channel or a plane that a file does not have.
type SelectionError struct {
	What  string // "channel" or "plane"
	Index int    // from 0
	Count int    // in the file
}

func (e *SelectionError) Error() string {
	return fmt.Sprintf("%s %d: must be 0 to %d", e.What, e.Index, e.Count-1)
}

// count returns how many of n are chosen, all if none is.
func count(what string, chosen []int, n int) (int, error) {
	for _, i := range chosen {
		if i < 0 || i >= n {
			return 0, &SelectionError{what, i, n}
		}
	}
	return cmp.Or(len(chosen), n), nil
}

// chosenOrAll returns the chosen indices, or all of n.
func chosenOrAll(chosen []int, n int) []int {
	if len(chosen) > 0 {
		return chosen
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
