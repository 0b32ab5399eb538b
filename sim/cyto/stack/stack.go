// Package stack reads microscope volumes from TIFF and OME-TIFF stacks and from NPY
// arrays, and writes predictions in the same formats.
//
// Whatever its file stores, a Volume is float32 [C, Z, Y, X]. Nothing in a file's header
// is trusted: memory is bounded by ReadOptions.MaxVoxels, and errors name the file, the
// page and the tag.
package stack

import "context"

// Volume is an image of one point in time: float32 [C, Z, Y, X], row-major.
type Volume struct {
	Sides    [4]int     // C, Z, Y, X
	Channels []string   // a name for every channel, empty where the file has none
	Voxel    [3]float64 // sides of a voxel along Z, Y and X in micrometres, 0 if unknown
	Type     string     // of the numbers in the file, such as uint16
	Bytes    int64      // read from the file
	Values   []float32
}

// ReadOptions select a part of a file.
type ReadOptions struct {
	Channels  []int // channels to read, in this order; all if empty
	Time      int   // point in time
	MaxVoxels int   // bound of the voxels read, DefaultMaxVoxels if 0
}

// DefaultMaxVoxels is the largest volume that is read by default: 1 GiB of float32.
const DefaultMaxVoxels = 1 << 28

// Read reads a file: NPY, TIFF or OME-TIFF, whichever its first bytes say. The context
// ends reading early with its error.
func Read(ctx context.Context, path string, o ReadOptions) (*Volume, error) {
	panic("not yet")
}

// Pixels is a volume of bytes to be written, [C, Z, Y, X].
type Pixels struct {
	Sides    [4]int
	Channels []string   // names, may be empty
	Voxel    [3]float64 // micrometres along Z, Y and X, 0 if unknown
	Values   []uint8
}

// Write writes a prediction, the whole file or none. The ending of path decides the
// format: .ome.tif and .ome.tiff, .tif and .tiff, or .npy.
func Write(ctx context.Context, path string, p Pixels) error {
	panic("not yet")
}
