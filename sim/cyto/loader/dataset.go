package loader

import (
	"context"
	"fmt"
	"sync"

	"prismtop/sim/cyto"
)

// Dataset is a list of pairs of images. Its methods are called from several goroutines.
type Dataset interface {
	// Len is the number of pairs.
	Len() int
	// Name names a pair in messages, by its file if it has one.
	Name(i int) string
	// Load returns a pair, which must not be changed, and the bytes read from files for it.
	// Errors name the file.
	Load(ctx context.Context, i int) (cyto.Pair, int64, error)
}

// SyntheticOptions describe a dataset of synthetic cells.
type SyntheticOptions struct {
	Images   int
	Cells    cyto.CellsOptions // of every image; image i has the seed Cells.Seed + i
	Signal   bool              // the target is the image without its noise, normalised, instead of the mask
	OnDemand bool              // draw an image at every access, instead of all of them once
}

// maxImages bounds the images of a synthetic dataset, against typing errors.
const maxImages = 1 << 16

// synthetic draws images of cells.
type synthetic struct {
	o     SyntheticOptions
	pairs []cyto.Pair // unless on demand
}

// Synthetic returns a dataset of synthetic cells, normalised.
func Synthetic(ctx context.Context, o SyntheticOptions) (Dataset, error) {
	if o.Images < 1 || o.Images > maxImages {
		return nil, fmt.Errorf("%d synthetic images: must be 1 to %d", o.Images, maxImages)
	}
	if err := o.Cells.Check(); err != nil {
		return nil, err
	}
	d := &synthetic{o: o}
	if o.OnDemand {
		return d, nil
	}
	for i := range o.Images {
		p, err := d.draw(ctx, i)
		if err != nil {
			return nil, err
		}
		d.pairs = append(d.pairs, p)
	}
	return d, nil
}

// Len is the number of images.
func (d *synthetic) Len() int { return d.o.Images }

// Name names an image by its number, from 1.
func (d *synthetic) Name(i int) string { return fmt.Sprintf("synthetic image %d", i+1) }

// Load returns or draws an image.
func (d *synthetic) Load(ctx context.Context, i int) (cyto.Pair, int64, error) {
	if !d.o.OnDemand {
		return d.pairs[i], 0, nil
	}
	p, err := d.draw(ctx, i)
	return p, 0, err
}

func (d *synthetic) draw(ctx context.Context, i int) (cyto.Pair, error) {
	o := d.o.Cells
	o.Seed += uint64(i)
	image, target, err := cyto.Cells(ctx, o)
	if err == nil && d.o.Signal {
		o.Noise = 0 // the same nuclei
		target, _, err = cyto.Cells(ctx, o)
		cyto.Normalise(target.Values)
	}
	if err != nil {
		return cyto.Pair{}, err
	}
	cyto.Normalise(image.Values)
	return cyto.Pair{Image: image, Target: target}, nil
}

// part is some of the pairs of a dataset.
type part struct {
	Dataset
	chosen []int
}

// Part returns some of the pairs of a dataset, in the given order.
func Part(d Dataset, chosen []int) Dataset { return &part{d, chosen} }

// Len is the number of pairs that were chosen.
func (d *part) Len() int { return len(d.chosen) }

// Name names a pair as the whole dataset does.
func (d *part) Name(i int) string { return d.Dataset.Name(d.chosen[i]) }

// Load returns a pair of the whole dataset.
func (d *part) Load(ctx context.Context, i int) (cyto.Pair, int64, error) {
	return d.Dataset.Load(ctx, d.chosen[i])
}

// cached keeps pairs in memory.
type cached struct {
	Dataset
	items []cachedItem

	mutex sync.Mutex
	room  int64 // bytes
}

// cachedItem is a pair, kept or not. Its mutex is held while it is loaded, so that it is
// loaded once.
type cachedItem struct {
	mutex sync.Mutex
	kept  bool
	pair  cyto.Pair
}

// Cached keeps the pairs of a dataset in memory once they were loaded, up to limit bytes
// of voxels; later ones are loaded at every access.
func Cached(d Dataset, limit int64) Dataset {
	return &cached{Dataset: d, items: make([]cachedItem, d.Len()), room: limit}
}

// Load returns a pair from memory, or from the dataset.
func (d *cached) Load(ctx context.Context, i int) (cyto.Pair, int64, error) {
	item := &d.items[i]
	item.mutex.Lock()
	defer item.mutex.Unlock()
	if item.kept {
		return item.pair, 0, nil
	}
	pair, read, err := d.Dataset.Load(ctx, i)
	if err == nil && d.take(4*int64(len(pair.Image.Values)+len(pair.Target.Values))) {
		item.pair, item.kept = pair, true
	}
	return pair, read, err
}

// take reserves room for a pair.
func (d *cached) take(bytes int64) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if bytes > d.room {
		return false
	}
	d.room -= bytes
	return true
}
