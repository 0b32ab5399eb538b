package verify

import (
	"fmt"
	"math"
	"strings"
)

// Acceptance of a float32 program: the largest error may be this multiple of the
// float32 reference's error, plus this fraction of the largest value.
const (
	roundingFactor = 8
	relativeSlack  = 1e-6
)

// Neither the result nor the float32 reference may differ from the truth by more
// than rounding can explain in any computation here: this fraction of the largest
// value, or this absolute value if the values cancel. Without this bound a
// modified truth would widen its own tolerance. After a kink (see settleKinks)
// the reference may be on the other side, which exceeds rounding.
const (
	mostRelative    = 1e-3
	mostAbsolute    = 1e-6
	kinkedReference = 0.1
)

// kinkSlack is what a loss after training may differ by in addition, for each step of Adam, as a fraction of it:
// values that rounding puts on the other side of a ReLU move it by up to 1.3e-6 a step in PyTorch's float32
// (docs/accuracy.md), of which it is roundingFactor times. Whether that happened to the reference says nothing of
// whether it happens to the result.
const kinkSlack = 1e-5

// compare checks a result against name_64 with the tolerance derived from
// name_32.
func (c *checker) compare(name string, got []float32) {
	c.compareWith(name, got, nil)
}

// compareTrained is compare of a loss after some steps of training.
func (c *checker) compareTrained(name string, got []float32, steps int) {
	c.compareSlack(name, got, kinkSlack*float64(steps), nil)
}

// compareNoted is compare with a remark about how the result was computed.
func (c *checker) compareNoted(name string, got []float32, note string) {
	c.compareWith(name, got, nil)
	last := &c.results[len(c.results)-1]
	last.Note = strings.TrimSpace(note + " " + last.Note)
}

// isolatedShare bounds the isolated elements of an array: at most one in
// isolatedShare.
const isolatedShare = 100

// An exception allows single elements more than the array's tolerance; it returns
// 0 for ordinary elements.
type exception func(i int) float64

func (c *checker) compareWith(name string, got []float32, allow exception) {
	c.compareSlack(name, got, 0, allow)
}

// compareSlack is compareWith with more slack, as a fraction of the largest value.
func (c *checker) compareSlack(name string, got []float32, slack float64, allow exception) {
	truth, reference, ok := c.takePair(name, len(got))
	if !ok {
		return
	}
	t := measureTolerance(truth, reference)
	t.allowed += slack * t.largest
	result := Result{Array: name + "_64", Allowed: number(t.allowed), OK: true}
	fair := mostRelative
	if c.kinked {
		fair = kinkedReference
	}
	if t.reference > fair*t.largest+mostAbsolute {
		result.OK = false
		result.Note = fmt.Sprintf("%s_32 is %.3g away from %[1]s_64: no float32 rounding of it", name, t.reference)
	}
	excused := 0
	for i := 0; i < len(got); i += truth.step() {
		d := distance(truth, i, func(k int) float64 { return float64(got[k]) })
		if !(d <= t.allowed) {
			if allow != nil && d <= allow(i) {
				excused++
				continue
			}
			result.OK = false
		}
		if !(d <= float64(result.Error)) {
			result.Error = number(d)
		}
	}
	if excused > 0 {
		if limit := max(1, len(got)/isolatedShare); excused > limit {
			result.OK = false
		}
		result.Note = fmt.Sprintf("%d isolated elements apart, whose gradient is float32 rounding", excused)
	}
	c.results = append(c.results, result)
}

// takePair claims name_64 and name_32 and checks that both fit the result.
func (c *checker) takePair(name string, elements int) (truth, reference *array, ok bool) {
	pair, err := c.takeAll(name+"_64", name+"_32")
	if err != nil {
		c.fail(name+"_64", err.Error())
		return nil, nil, false
	}
	truth, reference = pair[0], pair[1]
	switch {
	case !truth.shape.Equal(reference.shape) || truth.complex != reference.complex:
		c.fail(name+"_32", fmt.Sprintf("has the shape %v, %s_64 %v", reference.shape, name, truth.shape))
	case len(truth.values) != elements:
		c.fail(name+"_64", fmt.Sprintf("has the shape %v, the engine's result %d numbers", truth.shape, elements))
	default:
		return truth, reference, true
	}
	return nil, nil, false
}

// exact checks a result without rounding.
func (c *checker) exact(name string, got []float32) {
	want, err := c.take(name)
	if err != nil {
		c.fail(name, err.Error())
		return
	}
	if len(want.values) != len(got) {
		c.fail(name, fmt.Sprintf("has the shape %v, the engine's result %d numbers", want.shape, len(got)))
		return
	}
	result := Result{Array: name, OK: true}
	differ := 0
	for i, v := range want.values {
		if d := math.Abs(v - float64(got[i])); d != 0 {
			differ++
			result.Error = max(result.Error, number(d))
		}
	}
	if differ > 0 {
		result.OK = false
		result.Note = fmt.Sprintf("%d of %d elements differ", differ, len(got))
	}
	c.results = append(c.results, result)
}

// within checks a result against an array with a stated tolerance.
func (c *checker) within(name string, want *array, got []float64, allowed float64) {
	if len(want.values) != len(got) {
		c.fail(name, fmt.Sprintf("has the shape %v, the engine's result %d numbers", want.shape, len(got)))
		return
	}
	result := Result{Array: name, Allowed: number(allowed), OK: true}
	for i := 0; i < len(got); i += want.step() {
		d := distance(want, i, func(k int) float64 { return got[k] })
		if !(d <= allowed) {
			result.OK = false
		}
		if !(d <= float64(result.Error)) {
			result.Error = number(d)
		}
	}
	c.results = append(c.results, result)
}

// tolerance is derived from a truth and its float32 reference.
type tolerance struct {
	largest   float64 // max |truth|
	reference float64 // max |reference − truth|
	allowed   float64
}

func measureTolerance(truth, reference *array) tolerance {
	var t tolerance
	zero := func(int) float64 { return 0 }
	for i := 0; i < len(truth.values); i += truth.step() {
		t.largest = maxOrNaN(t.largest, distance(truth, i, zero))
		t.reference = maxOrNaN(t.reference, distance(truth, i, func(k int) float64 { return reference.values[k] }))
	}
	t.allowed = min(roundingFactor*t.reference+relativeSlack*t.largest, mostRelative*t.largest+mostAbsolute)
	return t
}

// largest returns the array's largest modulus.
func (a *array) largest() float64 {
	m := 0.0
	for i := 0; i < len(a.values); i += a.step() {
		m = maxOrNaN(m, distance(a, i, func(int) float64 { return 0 }))
	}
	return m
}

// step is the number of values per element.
func (a *array) step() int {
	if a.complex {
		return 2
	}
	return 1
}

// distance returns |a[i] − got[i]|, the modulus for complex numbers.
func distance(a *array, i int, got func(int) float64) float64 {
	if a.complex {
		return math.Hypot(a.values[i]-got(i), a.values[i+1]-got(i+1))
	}
	return math.Abs(a.values[i] - got(i))
}

// maxOrNaN returns the larger number, or NaN if either is NaN: a NaN must not be
// hidden.
func maxOrNaN(a, b float64) float64 {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.NaN()
	}
	return math.Max(a, b)
}

// inf is larger than any distance.
var inf = math.Inf(1)

// widen converts a result for a comparison in float64.
func widen(values []float32) []float64 {
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	return wide
}
