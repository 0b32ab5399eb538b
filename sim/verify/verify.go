package verify

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"prismtop/sim/nn"
)

// Files verifies each file; a file that cannot be read yields a report with Err. The
// only error is that of ctx if it ends first.
func Files(ctx context.Context, paths []string, backend nn.Backend) ([]Report, error) {
	reports := make([]Report, len(paths))
	for i, path := range paths {
		r, err := File(ctx, path, backend)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r = Report{File: path, Err: err.Error()}
		}
		reports[i] = r
	}
	return reports, nil
}

// File recomputes every result in a file of reference vectors on the backend.
// The error concerns the file as a whole and names it, and the array if one is to
// blame; if ctx ends first, it is that of ctx. Faults of single arrays are in the
// report.
func File(ctx context.Context, path string, backend nn.Backend) (Report, error) {
	arrays, damaged, err := readArchive(ctx, path)
	if err != nil {
		return Report{}, err
	}
	c := newChecker(ctx, arrays, backend)
	for _, d := range damaged {
		c.fail(d.Array, d.Err.Error())
	}
	if len(damaged) == 0 {
		c.recognise()
		c.reportUnused()
	}
	if err := ctx.Err(); err != nil {
		return Report{}, err
	}
	return Report{File: path, OK: c.passed(), Cases: c.cases, Results: c.results}, nil
}

// checker compares the results of one file.
type checker struct {
	arrays  map[string]*array
	used    map[string]bool
	backend device
	cases   []string
	results []Result

	kinked    bool // subsequent results lie behind a kink
	abandoned bool // a case was abandoned before all its arrays were compared
}

func newChecker(ctx context.Context, arrays map[string]*array, backend nn.Backend) *checker {
	return &checker{arrays: arrays, used: map[string]bool{}, backend: device{backend, ctx}}
}

// device is the backend during one file, with the context that ends it.
type device struct {
	nn.Backend
	ctx context.Context
}

// ended reports whether the context has ended.
func (d device) ended() bool { return d.ctx.Err() != nil }

// A recogniser finds the cases of one layout and checks them.
type recogniser func(*checker) error

// recognise runs every layout's recogniser over the file. A case claims the
// arrays it uses, so a file may contain several layouts.
func (c *checker) recognise() {
	for _, layout := range []recogniser{decoder, ptychography, segmentation, telescope, adam, groups, window, fermat} {
		if c.backend.ended() {
			return
		}
		if err := layout(c); err != nil {
			c.fail("", err.Error())
		}
	}
	if len(c.cases) == 0 {
		c.fail("", "no layout of reference vectors is recognised in this file")
	}
}

// run checks one case under its name. An error, or a panic of the engine on
// unsupported operands, fails the case.
func (c *checker) run(kind, name string, check func() error) {
	if c.backend.ended() {
		return
	}
	c.cases = append(c.cases, strings.TrimSpace(kind+" "+name))
	defer func() {
		if v := recover(); v != nil {
			c.abandoned = true
			c.fail(name, fmt.Sprintf("%s: the engine panicked: %v", kind, v))
		}
	}()
	if err := check(); err != nil {
		c.abandoned = true
		c.fail(name, fmt.Sprintf("%s: %v", kind, err))
	}
}

// reportUnused fails every array that no case used: an unknown case, a result
// without its inputs, a stray. After an abandoned case they are its remainder and
// are only counted.
func (c *checker) reportUnused() {
	unused := 0
	for _, name := range slices.Sorted(maps.Keys(c.arrays)) {
		if c.used[name] {
			continue
		}
		unused++
		if !c.abandoned {
			c.fail(name, "no check uses this array")
		}
	}
	if c.abandoned && unused > 0 {
		c.fail("", count(unused, "array")+" not reached")
	}
}

func (c *checker) fail(array, why string) {
	c.results = append(c.results, Result{Array: array, Error: number(math.NaN()), Allowed: number(math.NaN()),
		Note: why})
}

func (c *checker) passed() bool {
	return len(c.results) > 0 && !slices.ContainsFunc(c.results, func(r Result) bool { return !r.OK })
}

// has reports whether the file has an array.
func (c *checker) has(name string) bool { return c.arrays[name] != nil }

// take claims an array; a missing one is an error that names it.
func (c *checker) take(name string) (*array, error) {
	a := c.arrays[name]
	if a == nil {
		return nil, fmt.Errorf("array %s is missing", name)
	}
	c.used[name] = true
	return a, nil
}

// takeAll claims several arrays.
func (c *checker) takeAll(names ...string) ([]*array, error) {
	list := make([]*array, len(names))
	for i, name := range names {
		a, err := c.take(name)
		if err != nil {
			return nil, err
		}
		list[i] = a
	}
	return list, nil
}

// takeReal claims an array of real numbers with the given number of axes.
func (c *checker) takeReal(name string, axes int) (*array, error) {
	a, err := c.take(name)
	if err != nil {
		return nil, err
	}
	if a.complex || len(a.shape) != axes {
		return nil, fmt.Errorf("array %s of type %s and shape %v: needs real numbers on %d axes", name, a.kind,
			a.shape, axes)
	}
	return a, nil
}

// suffixed lists the arrays whose names end in a suffix, without it, in order.
func (c *checker) suffixed(suffix string) []string {
	var names []string
	for name := range c.arrays {
		if stem, ok := strings.CutSuffix(name, suffix); ok {
			names = append(names, stem)
		}
	}
	slices.Sort(names)
	return names
}
