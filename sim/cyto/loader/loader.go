// Package loader prepares training data beside the loop: it reads pairs of images, cuts
// random patches, augments them and puts them into batches, on workers of its own and
// ahead of time. The lane's numbers, the time that the loop waited and the time that
// workers worked, come with every batch.
//
// Batches depend on the dataset, the seed and the position only, never on the number of
// workers, how far they work ahead, or which of them made a batch.
package loader

import (
	"context"
	"time"

	"prismtop/sim/cyto"
)

// Dataset is a list of pairs of images. Load is called from several goroutines.
type Dataset interface {
	// Len is the number of pairs.
	Len() int
	// Load returns a pair, which must not be changed, and the bytes read for it, 0 if it
	// is in memory. Errors name the file.
	Load(ctx context.Context, i int) (cyto.Pair, int64, error)
}

// LastBatch is what becomes of the batch at the end of an epoch that is not full.
type LastBatch uint8

// The choices of LastBatch.
const (
	KeepLast LastBatch = iota // delivered with fewer samples
	DropLast                  // left out
	FillLast                  // filled from the beginning of the epoch's order
)

// Options are how a Loader makes batches.
type Options struct {
	Batch           int       // samples of a batch
	Patch           [3]int    // Z, Y, X of the patches; zeros for whole images, uncut
	PatchesPerImage int       // samples that an image gives in an epoch, 1 if 0
	Augment         bool      // change images as CytoDL does for segmentation
	Shuffle         bool      // a new order in every epoch
	Last            LastBatch // of an epoch
	Limit           int       // batches of an epoch at most, 0 for no limit
	Seed            uint64

	Lane
}

// Lane is how far the loading is apart from the loop. It changes no batch.
type Lane struct {
	Workers    int  // goroutines that make batches; 0: the loop makes them itself
	Prefetch   int  // batches that each worker is ahead, 2 if 0
	Persistent bool // workers stay and work ahead over the end of an epoch
}

// Batch is delivered by Next and valid until the next call of Next, Set or Close.
type Batch struct {
	Epoch, Index int  // from 0
	Last         bool // the last of its epoch
	Samples      int

	Images, Targets []float32   // patches, [Samples, Z, Y, X]; empty for whole images
	Pairs           []cyto.Pair // whole images; empty for patches
	Items           []int       // the dataset's index of every sample

	Waited time.Duration // by the loop, for this batch
	Worked time.Duration // by whoever made this batch
	Read   int64         // bytes from files
	Ready  int           // batches that were ready when the loop asked, this one included
}

// A Loader delivers the batches of all epochs, one after another. It belongs to one
// goroutine, the loop's; its workers are its own.
type Loader struct{}

// New returns a loader at the first batch of epoch 0. Workers end when ctx does, or with Close.
func New(ctx context.Context, d Dataset, o Options) (*Loader, error) { panic("not yet") }

// Batches is the number of batches of an epoch.
func (l *Loader) Batches() int { panic("not yet") }

// Next returns the next batch. After the last of an epoch follows the first of the next one.
// An error of the dataset names the file and stays; that of ctx leaves the loader usable.
func (l *Loader) Next(ctx context.Context) (*Batch, error) { panic("not yet") }

// Seek continues at a batch of an epoch, as if all before it had been delivered.
func (l *Loader) Seek(epoch, batch int) error { panic("not yet") }

// Set changes the lane, from the next batch on. Batches stay the same.
func (l *Loader) Set(lane Lane) error { panic("not yet") }

// Close ends the workers, and returns when they have ended.
func (l *Loader) Close() { panic("not yet") }

// SyntheticOptions describe a dataset of synthetic cells.
type SyntheticOptions struct {
	Images int
	Cells  cyto.CellsOptions // of every image; image i has the seed Cells.Seed + i
	Signal bool              // the target is the image without noise, normalised, not its mask
}

// Synthetic draws a dataset of synthetic cells into memory, normalised.
func Synthetic(ctx context.Context, o SyntheticOptions) (Dataset, error) { panic("not yet") }

// Item is a pair of files.
type Item struct {
	Image, Target               string // paths; no Target for predictions
	ImageChannel, TargetChannel int
}

// FileOptions are how files become pairs (§B2).
type FileOptions struct {
	Zoom      float64 // of all sides, 1 if 0; CytoDL's experiments have 0.25
	Threshold bool    // targets are masks: 1 from 0.1 on; otherwise they are normalised
}

// Files is a dataset of files, read at every access. Wrap it in Cached to read each once.
func Files(items []Item, o FileOptions) (Dataset, error) { panic("not yet") }

// ListOptions name what a list of files means.
type ListOptions struct {
	ImageColumn, TargetColumn   string // "raw" and "seg" if empty
	ImageChannel, TargetChannel int
}

// ReadList reads a CSV list of pairs. Relative paths start at the list's folder.
func ReadList(ctx context.Context, path string, o ListOptions) ([]Item, error) { panic("not yet") }

// Splits are the lists of a folder: train.csv, valid.csv and test.csv.
type Splits struct{ Train, Valid, Test []Item }

// ReadSplits reads the lists of a folder as CytoDL names them. valid.csv and test.csv may
// be missing.
func ReadSplits(ctx context.Context, folder string, o ListOptions) (Splits, error) { panic("not yet") }

// Folder lists the images of a folder, sorted by name. A target is the file of the same
// name in targets; without a targets folder there are none.
func Folder(images, targets string, o ListOptions) ([]Item, error) { panic("not yet") }

// Cached keeps the pairs of a dataset in memory after they were loaded, up to limit bytes
// of voxels.
func Cached(d Dataset, limit int64) Dataset { panic("not yet") }
