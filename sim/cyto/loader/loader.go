// Package loader prepares training data beside the loop: it loads pairs of images, cuts
// random patches, augments them and puts them into batches, on workers of its own and
// ahead of time. Every batch comes with the lane's numbers: the time that the loop waited,
// the time that its worker worked, and the bytes read.
//
// Batches depend on the dataset, the seed and the position alone, not on the number of
// workers, how far they work ahead, or which of them made a batch.
package loader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"prismtop/sim/cyto"
)

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
	Persistent bool // workers stay, and work ahead over the end of an epoch
}

// Bounds of Options, against typing errors.
const (
	maxBatch   = 1 << 12
	maxWorkers = 1 << 8
	maxAhead   = 1 << 12 // batches
	maxFloats  = 1 << 30 // of all batches, images and targets
	maxSamples = 1 << 30 // of an epoch
)

// errWholeAugmented refuses to augment images that are delivered as the dataset has them.
var errWholeAugmented = errors.New("augmentation of whole images: must be of patches")

// defaultPrefetch is PyTorch's.
const defaultPrefetch = 2

// Batch is delivered by Next and valid until the next call of Next, Seek, Set or Close.
type Batch struct {
	Epoch, Index int  // from 0
	Last         bool // the last of its epoch
	Samples      int

	// Patches, [Samples, Z, Y, X]; empty for whole images. Targets are zeros where the
	// dataset has none.
	Images, Targets []float32
	Pairs           []cyto.Pair // whole images; empty for patches
	Items           []int       // the dataset's index of every sample

	Waited time.Duration // by the loop, for this batch
	Worked time.Duration // by its worker, or by the loop if there are none
	Read   int64         // bytes from files
	Ready  int           // batches that were ready when the loop asked, this one included
}

// A Loader delivers the batches of all epochs, one after another. It belongs to one
// goroutine, the loop's; its workers are its own.
type Loader struct {
	ctx     context.Context
	dataset Dataset
	o       Options
	samples int // of an epoch, before batches are cut
	batches int // of an epoch

	order      []int // the current epoch's, by sample
	orderEpoch int   // -1 before the first
	shuffler   randomness

	epoch, index int     // of the next batch to be delivered
	ahead        []*slot // under way, in order
	free         []*slot
	current      *slot // delivered
	crew         *crew // nil while no worker runs
	self         maker
	fault        error // after which there are no more batches
}

// New returns a loader at the first batch of epoch 0. Workers end when ctx does, or with
// Close, which must be called.
func New(ctx context.Context, d Dataset, o Options) (*Loader, error) {
	if o.PatchesPerImage == 0 {
		o.PatchesPerImage = 1
	}
	l := &Loader{ctx: ctx, dataset: d, o: o, orderEpoch: -1, shuffler: newRandomness()}
	if err := l.check(); err != nil {
		return nil, err
	}
	l.order = make([]int, l.samples)
	l.self = l.newMaker()
	if err := l.Set(o.Lane); err != nil {
		return nil, err
	}
	return l, nil
}

// check validates the options, except the lane's, and counts samples and batches.
func (l *Loader) check() error {
	o, n := l.o, l.dataset.Len()
	patches := o.Patch != [3]int{}
	switch {
	case n < 1:
		return errors.New("loading of no images: needs one at least")
	case o.Batch < 1 || o.Batch > maxBatch:
		return fmt.Errorf("batches of %d: must be 1 to %d", o.Batch, maxBatch)
	case patches && (o.Patch[0] < 1 || o.Patch[1] < 1 || o.Patch[2] < 1):
		return fmt.Errorf("patches of %dx%dx%d: must be positive, or all 0 for whole images", o.Patch[0], o.Patch[1],
			o.Patch[2])
	case o.PatchesPerImage < 1 || o.PatchesPerImage > maxSamples/n:
		return fmt.Errorf("%d patches of each of %d images: must be positive, and %d in all at most",
			o.PatchesPerImage, n, maxSamples)
	case !patches && o.Augment:
		return errWholeAugmented
	case o.Last > FillLast:
		return fmt.Errorf("last batch %d: must be KeepLast, DropLast or FillLast", o.Last)
	case o.Limit < 0:
		return fmt.Errorf("%d batches of an epoch at most: must not be negative", o.Limit)
	}
	l.samples = n * o.PatchesPerImage
	l.batches = l.samples / o.Batch
	if o.Last != DropLast {
		l.batches = (l.samples + o.Batch - 1) / o.Batch
	}
	if l.batches == 0 {
		return fmt.Errorf("batches of %d from %d samples, the last one dropped: none is full", o.Batch, l.samples)
	}
	if o.Limit > 0 {
		l.batches = min(l.batches, o.Limit)
	}
	return nil
}

// floats is the number of values of a batch's images.
func (l *Loader) floats() int { return l.o.Batch * l.o.Patch[0] * l.o.Patch[1] * l.o.Patch[2] }

// Batches is the number of batches of an epoch.
func (l *Loader) Batches() int { return l.batches }

// Lane returns the lane in force.
func (l *Loader) Lane() Lane { return l.o.Lane }

// Memory is the size in bytes of the patches of all batches that are kept: the delivered
// one, and those made ahead.
func (l *Loader) Memory() int64 {
	slots := int64(len(l.ahead) + len(l.free))
	if l.current != nil {
		slots++
	}
	return slots * 2 * 4 * int64(l.floats())
}

// capacity is the number of batches under way at a time.
func (l *Loader) capacity() int { return max(1, l.o.Workers*l.o.Prefetch) }

// Set changes the lane, from the next batch on. Batches that workers made ahead are
// dropped and made again, the same.
func (l *Loader) Set(lane Lane) error {
	if lane.Prefetch == 0 {
		lane.Prefetch = defaultPrefetch
	}
	switch ahead := lane.Workers * lane.Prefetch; {
	case lane.Workers < 0 || lane.Workers > maxWorkers:
		return fmt.Errorf("%d workers: must be 0 to %d", lane.Workers, maxWorkers)
	case lane.Prefetch < 0 || lane.Prefetch > maxAhead || ahead > maxAhead:
		return fmt.Errorf("%d workers, %d batches ahead each: must be %d in all at most", lane.Workers, lane.Prefetch,
			maxAhead)
	case 2*(ahead+1) > maxFloats/max(1, l.floats()):
		return fmt.Errorf("%d batches of %d patches of %dx%dx%d: must have %d values in all at most", ahead+1,
			l.o.Batch, l.o.Patch[0], l.o.Patch[1], l.o.Patch[2], maxFloats)
	}
	l.stop()
	l.o.Lane = lane
	l.free = l.free[:min(len(l.free), l.capacity()+1)]
	for len(l.free) < l.capacity()+1 {
		l.free = append(l.free, &slot{done: make(chan struct{}, 1), Batch: Batch{Images: make([]float32, 0, l.floats()),
			Targets: make([]float32, 0, l.floats()), Pairs: make([]cyto.Pair, 0, l.o.Batch),
			Items: make([]int, 0, l.o.Batch)}})
	}
	l.ahead = make([]*slot, 0, l.capacity())
	return nil
}

// Seek continues at a batch of an epoch, as if all before it had been delivered.
func (l *Loader) Seek(epoch, batch int) error {
	if epoch < 0 || batch < 0 || batch >= l.batches {
		return fmt.Errorf("batch %d of epoch %d: must be 0 to %d of epoch 0 or later", batch, epoch, l.batches-1)
	}
	l.stop()
	l.epoch, l.index = epoch, batch
	return nil
}

// Close ends the workers, and returns when they have ended.
func (l *Loader) Close() {
	l.stop()
	l.fault = errors.New("loading has ended")
}

// stop ends the workers and frees all slots.
func (l *Loader) stop() {
	if l.crew != nil {
		l.crew.end()
		l.crew = nil
	}
	for _, s := range l.ahead {
		l.recycle(s)
	}
	l.ahead = l.ahead[:0]
	if l.current != nil {
		l.recycle(l.current)
		l.current = nil
	}
}

// recycle frees a slot that no worker has.
func (l *Loader) recycle(s *slot) {
	select {
	case <-s.done:
	default:
	}
	l.free = append(l.free, s)
}

// Next returns the next batch. The last one of an epoch is followed by the first of the
// next. An error of the dataset names the file and ends the loader; that of ctx leaves it
// usable.
func (l *Loader) Next(ctx context.Context) (*Batch, error) {
	if l.fault != nil {
		return nil, l.fault
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	if l.current != nil {
		l.recycle(l.current)
		l.current = nil
	}
	started := time.Now()
	s, err := l.next(ctx)
	if err != nil {
		return nil, err
	}
	if s.panicked != "" {
		panic(s.panicked)
	}
	if err := s.err; err != nil {
		l.recycle(s)
		if ended := ctx.Err(); ended != nil && l.o.Workers == 0 {
			return nil, ended
		}
		l.stop()
		l.fault = err
		return nil, err
	}
	s.Waited = time.Since(started)
	l.current = s
	l.epoch, l.index = s.Epoch, s.Index+1
	if s.Last {
		l.epoch, l.index = s.Epoch+1, 0
	}
	if s.Last && !l.o.Persistent && l.crew != nil {
		l.crew.end()
		l.crew = nil
	}
	l.refill()
	return &s.Batch, nil
}

// next returns the slot of the next batch, which may hold an error. If ctx ends while next
// waits, the batch remains the next one.
func (l *Loader) next(ctx context.Context) (*slot, error) {
	if l.o.Workers == 0 {
		s := l.take(l.epoch, l.index)
		l.self.make(ctx, s)
		s.Ready = 0
		return s, nil
	}
	if l.crew == nil {
		l.crew = l.hire()
	}
	l.refill()
	s := l.ahead[0]
	ready := 0
	for _, a := range l.ahead {
		ready += len(a.done)
	}
	select {
	case <-s.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.Ready = ready
	copy(l.ahead, l.ahead[1:])
	l.ahead = l.ahead[:len(l.ahead)-1]
	return s, nil
}

// refill gives the workers, if there are any, batches to make. Only persistent ones go
// beyond the epoch.
func (l *Loader) refill() {
	if l.crew == nil {
		return
	}
	epoch, index := l.epoch, l.index
	if n := len(l.ahead); n > 0 {
		epoch, index = l.following(l.ahead[n-1])
	}
	for len(l.ahead) < l.capacity() && (l.o.Persistent || epoch == l.epoch) {
		s := l.take(epoch, index)
		l.ahead = append(l.ahead, s)
		l.crew.jobs <- s // has room for all that are under way
		epoch, index = l.following(s)
	}
}

// following returns the place after a batch.
func (l *Loader) following(s *slot) (epoch, index int) {
	if s.Last {
		return s.Epoch + 1, 0
	}
	return s.Epoch, s.Index + 1
}

// take returns a slot for a batch, with its items.
func (l *Loader) take(epoch, index int) *slot {
	l.shuffle(epoch)
	s := l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	s.first = index * l.o.Batch
	s.Epoch, s.Index, s.Last, s.Samples = epoch, index, index == l.batches-1, l.o.Batch
	if l.o.Last != FillLast {
		s.Samples = min(l.o.Batch, l.samples-s.first)
	}
	s.Items = s.Items[:0]
	for i := range s.Samples {
		s.Items = append(s.Items, l.order[(s.first+i)%l.samples]%l.dataset.Len())
	}
	return s
}
