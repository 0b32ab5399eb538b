package prism_test

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"prismtop/sim/cpu/host"
	"prismtop/sim/nn"
	"prismtop/sim/npy/npytest"
	"prismtop/sim/optics"
	"prismtop/sim/picture"
	"prismtop/sim/prism"
)

var (
	curveIterations = flag.Int("iterations", 300, "length of the training that is compared with PyTorch's")
	curvePythons    = flag.String("pythons", "python3", "Pythons to compare with, separated by commas; those without PyTorch are left out")
)

// curveWindow is the number of iterations whose median is compared: single losses
// jump.
const curveWindow = 50

// curveInput is a training problem: a decoder's first weights, and the masks and
// targets of a sample of the moon.
type curveInput struct {
	config  prism.DecoderConfig
	rate    float32
	arrays  map[string][]float32
	shapes  map[string][]int64
	ordered []string
}

func newCurveInput(t *testing.T) *curveInput {
	t.Helper()
	c := &curveInput{
		config: prism.DecoderConfig{Size: 128, ObjectSize: 32, BatchNorm: true, Activation: "sigmoid", Seed: 11},
		rate:   1e-3, arrays: map[string][]float32{}, shapes: map[string][]int64{},
	}
	b := newBench(t, c.config)
	for _, name := range b.decoder.Model().ParameterNames() {
		c.add(name, b.read(name), b.decoder.Model().Variables()[b.index(name)].Shape...)
	}
	n := c.config.Size
	object, err := picture.Builtin(t.Context(), "moon", picture.Options{Size: n, ObjectSize: c.config.ObjectSize})
	if err != nil {
		t.Fatal(err)
	}
	telescope, err := host.New(host.Options{}).Telescope(n)
	if err != nil {
		t.Fatal(err)
	}
	old, fresh := disc(n, 0, 0, 10), disc(n, 6, 8, 10)
	for i, v := range disc(n, -7, 5, 10) {
		old[i] = max(old[i], v)
	}
	for name, mask := range map[string][]float32{"old": old, "new": fresh} {
		target := make([]float32, n*n)
		telescope.Measure(t.Context(), target, object.Amplitude, mask, optics.Support{})
		c.add("mask_"+name, mask, n, n)
		c.add("target_"+name, target, 1, 1, n, n)
	}
	c.add("side", []float32{float32(c.config.ObjectSize)}, 1)
	c.add("learning_rate", []float32{c.rate}, 1)
	return c
}

func (c *curveInput) add(name string, values []float32, shape ...int) {
	c.arrays[name] = values
	for _, n := range shape {
		c.shapes[name] = append(c.shapes[name], int64(n))
	}
	c.ordered = append(c.ordered, name)
}

// perturbed is the same problem with a random last bit in every parameter: what a
// rounding more or less makes of a training.
func (c *curveInput) perturbed() *curveInput {
	p := *c
	p.arrays = maps.Clone(c.arrays)
	r := rand.New(rand.NewPCG(1, 2))
	for name, values := range c.arrays {
		if strings.HasPrefix(name, "mask") || strings.HasPrefix(name, "target") || len(values) == 1 {
			continue
		}
		p.arrays[name] = slices.Clone(values)
		for i := range values {
			p.arrays[name][i] = math.Float32frombits(math.Float32bits(values[i]) ^ r.Uint32()&1)
		}
	}
	return &p
}

// write makes the archive that testdata/loss_curve.py reads.
func (c *curveInput) write(t *testing.T, path string) {
	t.Helper()
	var files []npytest.File
	for _, name := range c.ordered {
		values, shape := c.arrays[name], c.shapes[name]
		data, err := binary.Append(nil, binary.LittleEndian, shape)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, npytest.File{Name: name, Data: npytest.Array("<f4", fmt.Sprint(len(values), ","), npytest.Float32s(values...))},
			npytest.File{Name: name + ".shape", Data: npytest.Array("<i8", fmt.Sprint(len(shape), ","), data)})
	}
	if err := os.WriteFile(path, npytest.Archive(files...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// train returns the loss of each iteration in prismtop.
func (c *curveInput) train(t *testing.T, o prism.PlanOptions) []float64 {
	t.Helper()
	b := newBench(t, c.config)
	for _, name := range b.decoder.Model().ParameterNames() {
		b.write(name, c.arrays[name])
	}
	l := b.load(b.decoder.ProgressivePlan, o)
	l.input(prism.MaskOldInput, c.arrays["mask_old"]...)
	l.input(prism.MaskNewInput(0, 1), c.arrays["mask_new"]...)
	l.input(prism.TargetOldInput, c.arrays["target_old"]...)
	l.input(prism.TargetNewInput, c.arrays["target_new"]...)
	l.input(nn.LearningRateInput, c.rate)
	losses := make([]float64, *curveIterations)
	for i := range losses {
		l.iterate()
		losses[i] = float64(l.output(prism.LossOutput)[0])
	}
	return losses
}

// versionsApart is how far PyTorch 1.13 and 2.14 are apart after 2,000 iterations
// of this training, on one thread each (docs/accuracy.md).
const versionsApart = 0.0125

// curve is the loss of a training by iteration.
type curve struct {
	name   string
	losses []float64
	smooth []float64
}

func newCurve(name string, losses []float64) curve {
	c := curve{name: name, losses: losses}
	for w := range slices.Chunk(losses, curveWindow) {
		w = slices.Sorted(slices.Values(w))
		c.smooth = append(c.smooth, (w[(len(w)-1)/2]+w[len(w)/2])/2)
	}
	return c
}

// apart is how far two curves are apart: the root mean square of the logarithm of
// the ratio of their windows' medians.
func (c curve) apart(d curve) float64 {
	sum := 0.0
	for i := range c.smooth {
		r := math.Log(c.smooth[i] / d.smooth[i])
		sum += r * r
	}
	return math.Sqrt(sum / float64(len(c.smooth)))
}

// nearest and farthest are the least and the greatest distance to some curves.
func (c curve) nearest(all []curve) float64 {
	least := math.Inf(1)
	for _, d := range all {
		least = min(least, c.apart(d))
	}
	return least
}

func (c curve) farthest(all []curve) float64 {
	most := 0.0
	for _, d := range all {
		most = max(most, c.apart(d))
	}
	return most
}

// errNoPyTorch says that a Python has no PyTorch.
var errNoPyTorch = errors.New("no PyTorch here")

// trainPyTorch trains a problem in a Python's PyTorch.
func trainPyTorch(python, input string, threads int, what string) (curve, error) {
	output := input + ".losses.npz"
	c := exec.Command(python, "testdata/loss_curve.py", input, output,
		"--iterations", fmt.Sprint(*curveIterations), "--threads", fmt.Sprint(threads))
	// Threads that spin wait long for one that a busy machine does not run.
	c.Env = append(os.Environ(), "OMP_WAIT_POLICY=passive")
	text, err := c.CombinedOutput()
	var failed *exec.ExitError
	switch {
	case errors.As(err, &failed) && failed.ExitCode() == 3, errors.Is(err, exec.ErrNotFound):
		return curve{}, errNoPyTorch
	case err != nil:
		return curve{}, fmt.Errorf("%s: %w: %s", python, err, text)
	}
	r, err := npytest.Open(output)
	if err != nil {
		return curve{}, err
	}
	var losses []float64
	var version []uint8
	err = errors.Join(r.Read("loss", &losses), r.Read("version", &version))
	return newCurve(fmt.Sprintf("PyTorch %s ×%d%s", version, threads, what), losses), err
}

// Roundings take the curves of a training apart: those of PyTorch's versions, and
// those from weights whose last bits differ. Prismtop's must be no farther from one
// of PyTorch's than PyTorch's are from each other.
func TestLossCurveFollowsPyTorch(t *testing.T) {
	exact := newCurveInput(t)
	problems := []*curveInput{exact, exact.perturbed()}
	files, names := []string{filepath.Join(t.TempDir(), "exact.npz"), filepath.Join(t.TempDir(), "perturbed.npz")}, []string{"", " perturbed"}
	for i, p := range problems {
		p.write(t, files[i])
	}
	var peers []curve
	for _, python := range strings.Split(*curvePythons, ",") {
		for _, run := range []struct{ threads, problem int }{{1, 0}, {2, 0}, {1, 1}} {
			c, err := trainPyTorch(python, files[run.problem], run.threads, names[run.problem])
			if errors.Is(err, errNoPyTorch) {
				t.Logf("%s: %v", python, err)
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			peers = append(peers, c)
		}
	}
	if len(peers) == 0 {
		t.Skip("no PyTorch to compare with")
	}
	spread := versionsApart
	for _, c := range peers {
		spread = max(spread, c.farthest(peers))
		report(t, c, peers)
	}
	for _, v := range []struct {
		name    string
		options prism.PlanOptions
	}{
		{"", prism.PlanOptions{}}, {" shared spectrum", prism.PlanOptions{SharedSpectrum: true}}, {" bf16x3", prism.PlanOptions{Products: nn.BF16x3}},
	} {
		c := newCurve("prismtop"+v.name, exact.train(t, v.options))
		report(t, c, peers)
		if off := c.nearest(peers); !(off <= spread) {
			t.Errorf("%s is off by %.2g, PyTorch's own runs by at most %.2g", c.name, off, spread)
		}
	}
}

// report logs a curve's medians and its distances.
func report(t *testing.T, c curve, peers []curve) {
	t.Helper()
	var line strings.Builder
	for _, at := range []int{0, 2, 5, 9, 19, 29, 39} {
		if at < len(c.smooth) {
			fmt.Fprintf(&line, " %9.6f", c.smooth[at])
		}
	}
	line.WriteString("  apart")
	for _, d := range peers {
		fmt.Fprintf(&line, " %.4f", c.apart(d))
	}
	t.Logf("%-40s%s", c.name, line.String())
}
