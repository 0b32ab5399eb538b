package loader

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"prismtop/sim/cyto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// numbered is a dataset whose images begin with the number of their item. It counts how often items are
// loaded.
type numbered struct {
	pairs []cyto.Pair
	loads atomic.Int64
	fault func(ctx context.Context, i int) error // called by Load, may be nil
}

func newNumbered(n int, sides [3]int) *numbered {
	d := &numbered{}
	for i := range n {
		p := cyto.Pair{Image: cyto.NewImage(sides), Target: cyto.NewImage(sides)}
		for j := range p.Image.Values {
			p.Image.Values[j] = float32(i*10000 + j)
			p.Target.Values[j] = -p.Image.Values[j]
		}
		d.pairs = append(d.pairs, p)
	}
	return d
}

func (d *numbered) Len() int          { return len(d.pairs) }
func (d *numbered) Name(i int) string { return fmt.Sprintf("item %d", i) }
func (d *numbered) Load(ctx context.Context, i int) (cyto.Pair, int64, error) {
	if d.fault != nil {
		if err := d.fault(ctx, i); err != nil {
			return cyto.Pair{}, 0, err
		}
	}
	d.loads.Add(1)
	return d.pairs[i], 100, nil
}

func open(t testing.TB, d Dataset, o Options) *Loader {
	t.Helper()
	l, err := New(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

func next(t testing.TB, l *Loader) *Batch {
	t.Helper()
	b, err := l.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// content is what must not depend on the lane.
func content(b *Batch) string {
	return fmt.Sprint(b.Epoch, b.Index, b.Last, b.Samples, b.Items, b.Images, b.Targets, len(b.Pairs), b.Read)
}

func TestBatchesDoNotDependOnTheLane(t *testing.T) {
	d := newNumbered(7, [3]int{2, 5, 6})
	o := Options{Batch: 3, Patch: [3]int{1, 3, 4}, PatchesPerImage: 2, Augment: true, Shuffle: true, Seed: 5}
	var want []string
	reference := open(t, d, o)
	if reference.Batches() != 5 {
		t.Fatalf("%d batches of 3 from 14 samples", reference.Batches())
	}
	for range 16 { // three epochs, and one batch of the fourth
		want = append(want, content(next(t, reference)))
	}
	if distinct := slices.Compact(slices.Sorted(slices.Values(want))); len(distinct) != 16 {
		t.Errorf("%d of 16 batches differ", len(distinct))
	}
	for _, lane := range []Lane{{Workers: 1, Prefetch: 1}, {Workers: 2}, {Workers: 2, Prefetch: 4, Persistent: true}, {Workers: 4, Prefetch: 3}, {Workers: 3, Prefetch: 1, Persistent: true}} {
		o.Lane = lane
		l := open(t, d, o)
		for i, want := range want {
			if i == 7 { // in the midst of an epoch
				if err := l.Set(Lane{Workers: 4 - lane.Workers, Persistent: !lane.Persistent}); err != nil {
					t.Fatal(err)
				}
			}
			if got := content(next(t, l)); got != want {
				t.Fatalf("%+v: batch %d is\n%s\nwant\n%s", lane, i, got, want)
			}
		}
		if err := l.Seek(1, 2); err != nil {
			t.Fatal(err)
		}
		if got := content(next(t, l)); got != want[7] {
			t.Errorf("%+v: after a seek\n%s\nwant\n%s", lane, got, want[7])
		}
		l.Close()
		if _, err := l.Next(t.Context()); err == nil {
			t.Error("a closed loader has batches")
		}
	}
}

// Patches are boxes of the item that Items names, and targets of the same place.
func TestPatchesAreOfTheirItems(t *testing.T) {
	l := open(t, newNumbered(5, [3]int{3, 4, 5}), Options{Batch: 2, Patch: [3]int{2, 3, 2}, Shuffle: true, Lane: Lane{Workers: 2}})
	places := map[float32]bool{}
	for range 60 {
		b := next(t, l)
		for i, item := range b.Items {
			x, y := b.Images[i*12:][:12], b.Targets[i*12:][:12]
			places[x[0]-float32(item*10000)] = true
			for j := range x {
				if want := x[0] + float32(j/6*20+j/2%3*5+j%2); x[j] != want || y[j] != -want || int(x[j])/10000 != item {
					t.Fatalf("item %d: voxel %d is %v and %v, want %v", item, j, x[j], y[j], want)
				}
			}
		}
	}
	if len(places) != 2*2*4 {
		t.Errorf("patches came from %d places of 16", len(places))
	}
}

// An epoch has every sample once, in another order than the last one if it is shuffled.
func TestAnEpochHasEverySampleOnce(t *testing.T) {
	order := func(shuffle bool, seed uint64, epoch int) []int {
		l := open(t, newNumbered(20, [3]int{1, 2, 2}), Options{Batch: 6, Patch: [3]int{1, 1, 1}, Shuffle: shuffle, Seed: seed})
		if err := l.Seek(epoch, 0); err != nil {
			t.Fatal(err)
		}
		var items []int
		for {
			b := next(t, l)
			items = append(items, b.Items...)
			if b.Last {
				return items
			}
		}
	}
	straight := order(false, 1, 0)
	for i, item := range straight {
		if item != i {
			t.Fatalf("without shuffling: %v", straight)
		}
	}
	orders := [][]int{order(true, 1, 0), order(true, 1, 1), order(true, 2, 0), straight}
	for i, o := range orders {
		if sorted := slices.Sorted(slices.Values(o)); !slices.Equal(sorted, straight) {
			t.Errorf("%v is not every item once", o)
		}
		for _, other := range orders[:i] {
			if slices.Equal(o, other) {
				t.Errorf("two orders are %v", o)
			}
		}
	}
}

func TestTheLastBatch(t *testing.T) {
	for _, c := range []struct {
		last    LastBatch
		limit   int
		samples []int
	}{
		{KeepLast, 0, []int{3, 3, 1}}, {DropLast, 0, []int{3, 3}}, {FillLast, 0, []int{3, 3, 3}}, {KeepLast, 2, []int{3, 3}}, {FillLast, 9, []int{3, 3, 3}},
	} {
		l := open(t, newNumbered(7, [3]int{1, 2, 2}), Options{Batch: 3, Patch: [3]int{1, 2, 2}, Last: c.last, Limit: c.limit})
		for range 2 {
			for i, want := range c.samples {
				b := next(t, l)
				if b.Index != i || b.Samples != want || len(b.Items) != want || len(b.Images) != 4*want || len(b.Targets) != 4*want || b.Last != (i == len(c.samples)-1) {
					t.Errorf("%+v: batch %d of epoch %d: %d samples, %d values, last %v", c, b.Index, b.Epoch, b.Samples, len(b.Images), b.Last)
				}
				if c.last == FillLast && b.Last && !slices.Equal(b.Items, []int{6, 0, 1}) {
					t.Errorf("filled with %v", b.Items)
				}
			}
		}
	}
}

// Whole images are those of the dataset, not copies.
func TestWholeImagesAreNotCopied(t *testing.T) {
	d := newNumbered(3, [3]int{1, 2, 2})
	l := open(t, d, Options{Batch: 2, Lane: Lane{Workers: 1}})
	b := next(t, l)
	if len(b.Pairs) != 2 || &b.Pairs[1].Image.Values[0] != &d.pairs[1].Image.Values[0] || len(b.Images) != 0 {
		t.Errorf("%d pairs, %d values", len(b.Pairs), len(b.Images))
	}
}

func TestTheSteadyLoopAllocatesNothing(t *testing.T) {
	for _, lane := range []Lane{{}, {Workers: 2, Persistent: true}} {
		l := open(t, newNumbered(6, [3]int{4, 8, 8}), Options{Batch: 2, Patch: [3]int{2, 4, 4}, Augment: true, Shuffle: true, Lane: lane})
		for range 20 {
			next(t, l)
		}
		ctx := t.Context()
		if n := testing.AllocsPerRun(100, func() {
			if _, err := l.Next(ctx); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%+v: %v allocations per batch", lane, n)
		}
	}
}

// Workers are ahead by as many batches as the lane says, over the end of an epoch only if
// they are persistent; a batch comes with the numbers of the lane.
func TestWorkersAreAhead(t *testing.T) {
	for _, c := range []struct {
		persistent bool
		ahead      int
	}{{true, 6}, {false, 4}} {
		d := newNumbered(5, [3]int{1, 2, 2})
		l := open(t, d, Options{Batch: 1, Patch: [3]int{1, 2, 2}, Lane: Lane{Workers: 2, Prefetch: 3, Persistent: c.persistent}})
		first := next(t, l)
		if first.Worked <= 0 || first.Waited <= 0 || first.Read != 100 {
			t.Errorf("%+v", first)
		}
		if len(l.ahead) != c.ahead {
			t.Fatalf("persistent %v: %d batches under way, want %d", c.persistent, len(l.ahead), c.ahead)
		}
		for _, s := range l.ahead {
			for len(s.done) == 0 {
				runtime.Gosched()
			}
		}
		if d.loads.Load() != int64(c.ahead+1) {
			t.Errorf("%d loads for %d batches", d.loads.Load(), c.ahead+1)
		}
		if b := next(t, l); b.Ready != c.ahead {
			t.Errorf("%d batches were ready, want %d", b.Ready, c.ahead)
		}
		if got, want := l.Memory(), int64(7*2*4*4); got != want {
			t.Errorf("%d bytes of batches, want %d", got, want)
		}
	}
}

// An error of the dataset comes when its batch is due, names the item, and ends the
// loader and its workers.
func TestAFaultOfAnItemEndsTheLoader(t *testing.T) {
	fault := errors.New("item 4: is damaged")
	for _, lane := range []Lane{{}, {Workers: 3}} {
		d := newNumbered(6, [3]int{1, 2, 2})
		d.fault = func(_ context.Context, i int) error {
			if i == 4 {
				return fault
			}
			return nil
		}
		l := open(t, d, Options{Batch: 2, Patch: [3]int{1, 1, 1}, Lane: lane})
		next(t, l)
		next(t, l)
		for range 2 {
			if _, err := l.Next(t.Context()); err != fault {
				t.Errorf("%+v: %v", lane, err)
			}
		}
		if l.crew != nil {
			t.Errorf("%+v: workers run after the fault", lane)
		}
		small := open(t, newNumbered(2, [3]int{1, 2, 2}), Options{Batch: 2, Patch: [3]int{1, 4, 4}, Lane: lane})
		if _, err := small.Next(t.Context()); err == nil || err.Error() != "item 0 has sides [1 2 2]: must be at least [1 4 4], those of a patch" {
			t.Errorf("%+v: %v", lane, err)
		}
	}
}

// A loop that stops waiting gets the same batch later; the end of the loader's own context
// ends everything.
func TestWaitingEndsWithItsContext(t *testing.T) {
	for _, workers := range []int{0, 1} {
		own, end := context.WithCancel(t.Context())
		gate, held := make(chan struct{}), make(chan struct{}, 100)
		d := newNumbered(4, [3]int{1, 2, 2})
		d.fault = func(ctx context.Context, i int) error {
			held <- struct{}{}
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return fmt.Errorf("item %d: %w", i, ctx.Err())
			}
		}
		l, err := New(own, d, Options{Batch: 1, Patch: [3]int{1, 2, 2}, Lane: Lane{Workers: workers}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-held
			cancel()
		}()
		if _, err := l.Next(ctx); err != context.Canceled {
			t.Errorf("%d workers: %v", workers, err)
		}
		close(gate)
		if b := next(t, l); b.Index != 0 || b.Items[0] != 0 {
			t.Errorf("%d workers: batch %d of item %d", workers, b.Index, b.Items[0])
		}
		end()
		for { // batches that were ready may still come
			if _, err = l.Next(t.Context()); err != nil {
				break
			}
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: %v", workers, err)
		}
		l.Close()
	}
}

func TestAPanicOfAWorkerReachesTheLoop(t *testing.T) {
	d := newNumbered(4, [3]int{1, 2, 2})
	d.fault = func(context.Context, int) error { panic("no such item") }
	l := open(t, d, Options{Batch: 1, Patch: [3]int{1, 2, 2}, Lane: Lane{Workers: 1}})
	defer func() {
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "no such item") {
			t.Errorf("recovered %v", v)
		}
	}()
	_, _ = l.Next(t.Context())
	t.Error("no panic")
}

func TestOptionsOutOfRangeAreRefused(t *testing.T) {
	d := newNumbered(3, [3]int{1, 2, 2})
	good := Options{Batch: 1, Patch: [3]int{1, 2, 2}}
	for want, change := range map[string]func(o *Options){
		"batches of 0: must be 1 to 4096":                      func(o *Options) { o.Batch = 0 },
		"patches of 0x2x2: must be positive, or all 0":         func(o *Options) { o.Patch[0] = 0 },
		"-1 patches of each of 3 images":                       func(o *Options) { o.PatchesPerImage = -1 },
		"augmentation of whole images: must be of patches":     func(o *Options) { o.Patch, o.Augment = [3]int{}, true },
		"last batch 9: must be KeepLast, DropLast or FillLast": func(o *Options) { o.Last = 9 },
		"-1 batches of an epoch at most":                       func(o *Options) { o.Limit = -1 },
		"batches of 4 from 3 samples, the last one dropped":    func(o *Options) { o.Batch, o.Last = 4, DropLast },
		"300 workers: must be 0 to 256":                        func(o *Options) { o.Workers = 300 },
		"20 workers, 1000 batches ahead each: must be 4096":    func(o *Options) { o.Workers, o.Prefetch = 20, 1000 },
		"0 workers, -1 batches ahead":                          func(o *Options) { o.Prefetch = -1 },
		"must have 1073741824 values in all at most":           func(o *Options) { o.Batch, o.Patch, o.Workers = 4096, [3]int{64, 64, 64}, 1 },
	} {
		o := good
		change(&o)
		if _, err := New(t.Context(), d, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := New(t.Context(), newNumbered(0, [3]int{}), good); err == nil {
		t.Error("a loader of no images")
	}
	l := open(t, d, good)
	if err := l.Seek(0, 3); err == nil || !strings.Contains(err.Error(), "batch 3 of epoch 0: must be 0 to 2") {
		t.Error(err)
	}
}
