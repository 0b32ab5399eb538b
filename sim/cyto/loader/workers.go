package loader

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"prismtop/sim/cyto"
)

// slot is room for one batch.
type slot struct {
	Batch
	first    int // place of the first sample in its epoch
	err      error
	panicked string        // with the stack
	done     chan struct{} // holds one value once a worker has made the batch
}

// crew is running workers.
type crew struct {
	jobs   chan *slot
	cancel context.CancelFunc
	group  sync.WaitGroup
}

// hire starts the workers.
func (l *Loader) hire() *crew {
	ctx, cancel := context.WithCancel(l.ctx)
	c := &crew{jobs: make(chan *slot, l.capacity()), cancel: cancel}
	for range l.o.Workers {
		m := l.newMaker()
		c.group.Go(func() {
			for s := range c.jobs {
				m.work(ctx, s)
			}
		})
	}
	return c
}

// end ends the workers. Batches that they have not finished get the context's error.
func (c *crew) end() {
	c.cancel()
	close(c.jobs)
	c.group.Wait()
}

// maker makes batches, on one goroutine.
type maker struct {
	dataset Dataset
	patch   bool
	seed    uint64
	cropper *cyto.Cropper
	random  randomness
}

func (l *Loader) newMaker() maker {
	return maker{l.dataset, l.o.Patch != [3]int{}, l.o.Seed, cyto.NewCropper(l.o.Patch, l.o.Augment), newRandomness()}
}

// work makes a batch on a worker. A panic is passed on to the loop.
func (m *maker) work(ctx context.Context, s *slot) {
	defer func() {
		if v := recover(); v != nil {
			s.panicked = fmt.Sprintf("%v\n%s", v, debug.Stack())
		}
		s.done <- struct{}{} // has room: nothing else sends
	}()
	m.make(ctx, s)
}

// make fills a slot.
func (m *maker) make(ctx context.Context, s *slot) {
	started := time.Now()
	s.err, s.panicked = nil, ""
	s.Images, s.Targets, s.Pairs, s.Read = s.Images[:0], s.Targets[:0], s.Pairs[:0], 0
	for i, item := range s.Items {
		if s.err = ctx.Err(); s.err != nil {
			return
		}
		pair, read, err := m.dataset.Load(ctx, item)
		if err != nil {
			s.err = err
			return
		}
		s.Read += read
		if s.err = m.add(s, i, pair); s.err != nil {
			s.err = fmt.Errorf("%s %w", m.dataset.Name(item), s.err)
			return
		}
	}
	s.Worked = time.Since(started)
}

// add adds a sample to a slot.
func (m *maker) add(s *slot, i int, pair cyto.Pair) error {
	if !m.patch {
		s.Pairs = append(s.Pairs, pair)
		return nil
	}
	if err := m.cropper.Check(&pair); err != nil {
		return err
	}
	n := m.cropper.Floats()
	s.Images, s.Targets = s.Images[:(i+1)*n], s.Targets[:(i+1)*n]
	image, target := s.Images[i*n:], s.Targets[i*n:]
	if pair.Target.Values == nil {
		clear(target)
	}
	m.random.seed(m.seed, s.Epoch, s.first+i)
	m.cropper.Draw(m.random.Rand, &pair, image, target)
	return nil
}
