// Package kineto reads traces of torch.profiler (Kineto's Chrome JSON) as steps and their phases.
//
// A file is read twice, event by event, and nothing of it is kept but the bounds of steps and sums of phases: the
// steps are the annotations ProfilerStep#N, which torch.profiler.profile writes for each call of its step().
package kineto

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"prismtop/profiles/inputfile"
)

// Phase is what a step does, as far as a trace shows it.
type Phase uint8

// The phases. Where the trace has kernels of a GPU, the time of a phase is that of the kernels launched in it, and
// Other is the rest of the step, in which no kernel ran.
const (
	Data      Phase = iota // in the DataLoader's iterator
	Prepare                // zero_grad, and what comes before the first operator
	Forward                // the operators before backward: the model and the loss
	Backward               // from autograd's first function to its last
	Between                // backward to the optimizer
	Optimizer              // its step
	Other
	Phases
)

// String returns the phase's name.
func (p Phase) String() string {
	return [...]string{"data", "prepare", "forward", "backward", "clip", "optimizer", "other"}[min(p, Other)]
}

// What describes the phase.
func (p Phase) What() string {
	return [...]string{
		"the DataLoader's iterator", "from the batch to the first operator, and zero_grad",
		"the model and the loss: operators before backward", "autograd's functions, first to last",
		"from backward to the optimizer", "the optimizer's step, up to its last operator", "everything else",
	}[min(p, Other)]
}

// Step is a step of a trace. Times are nanoseconds; Start counts from the first step.
type Step struct {
	Number       int64
	Start, Total int64
	Phases       [Phases]int64
	Kernels      int64 // of a GPU
}

// Trace is what a trace says of a program's steps.
type Trace struct {
	Steps   []Step
	Device  bool     // the phases are those of a GPU's kernels
	Card    string   // empty if it is not known
	Rank    int      // of several, by distributedInfo
	World   int      // 1 for one process
	Longest []Kernel // the kernels that took most, at most MostKernels
}

// Kernel is a kernel of a GPU, or an operator of the processor: all its calls within steps.
type Kernel struct {
	Name  string
	Phase Phase
	Nanos int64
	Calls int64
}

// Limits of a trace.
const (
	MostSteps    = 100_000
	MostKernels  = 40
	mostNames    = 20_000
	mostLaunches = 1 << 22
	mostEvent    = 4 << 20  // bytes of an event
	mostBytes    = 16 << 30 // of a file, unpacked
	longestName  = 160      // bytes of a kernel's
)

// ErrNoSteps is returned for a trace without steps.
var ErrNoSteps = errors.New("it has no ProfilerStep annotations: call step() of torch.profiler.profile at the end " +
	"of each step")

// errForeign is returned for JSON that is no trace.
var errForeign = errors.New("it is no trace of torch.profiler: must be a JSON object with traceEvents")

// Named reports whether a file's name is that of a trace.
func Named(path string) bool {
	return strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".json.gz")
}

// Read reads the trace in a file, which may be packed by gzip.
func Read(ctx context.Context, path string) (*Trace, error) {
	f, _, err := inputfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	r := reader{steps: map[int64]bool{}}
	for _, pass := range []func(*event) error{r.step, r.rest} {
		if _, err = f.Seek(0, io.SeekStart); err == nil {
			err = r.events(ctx, f, pass)
		}
		if err == nil && len(r.trace.Steps) == 0 {
			err = ErrNoSteps
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		r.order()
	}
	r.finish()
	return &r.trace, nil
}

// event is an event of a trace, as far as it is read. Times are microseconds.
type event struct {
	Ph   string      `json:"ph"`
	Cat  string      `json:"cat"`
	Name string      `json:"name"`
	TID  json.Number `json:"-"`
	TS   number      `json:"ts"`
	Dur  number      `json:"dur"`
	Args struct {
		Correlation int64 `json:"correlation"`
	} `json:"args"`
}

// number is a number that some writers quote.
type number float64

// UnmarshalJSON reads a number or a text with one.
func (n *number) UnmarshalJSON(b []byte) error {
	var v float64
	if len(b) > 1 && b[0] == '"' {
		b = b[1 : len(b)-1]
	}
	if err := json.Unmarshal(b, &v); err != nil {
		v = math.NaN()
	}
	*n = number(v)
	return nil
}

// span returns the bounds of an event in nanoseconds; ok is false if they make no sense.
func (e *event) span() (from, to int64, ok bool) {
	ts, dur := float64(e.TS), float64(e.Dur)
	if !(math.Abs(ts) < 1<<53) || !(dur >= 0 && dur < 1<<43) {
		return 0, 0, false
	}
	from = int64(ts * 1000)
	return from, from + int64(dur*1000), true
}

// reader reads a trace in two passes.
type reader struct {
	trace  Trace
	steps  map[int64]bool // numbers that were met
	found  []bounds       // of each step
	names  map[string]*Kernel
	launch map[int64]int64 // when a kernel was launched, by correlation
	late   []kernel        // kernels whose launch comes later in the file
	zero   int64           // start of the first step
}

// bounds are what the second pass finds in a step: spans of the host.
type bounds struct {
	data, optimizer        int64 // sums
	received               int64 // when the batch is there
	prepared               int64 // and zero_grad is over
	backward, backwardEnds int64
	optimizes, optimized   int64
	seeds                  [seeds]int64 // starts of operators by which a backward may begin, the newest of them
	seeded                 int
	ran                    [lastOperators]int64 // the ends of operators, the latest of them, in order
	device                 [Phases]int64
}

// lastOperators is how many of a step are kept: so many may follow the optimizer.
const lastOperators = 16

// operator takes the end of an operator.
func (b *bounds) operator(to int64) {
	if i, _ := slices.BinarySearch(b.ran[:], to); i > 0 {
		copy(b.ran[:i-1], b.ran[1:i])
		b.ran[i-1] = to
	}
}

// tail returns how much of the optimizer's range comes after its last operator: what the range itself takes to end, and
// hooks. 0 if that is not known.
func (b *bounds) tail() int64 {
	for _, to := range slices.Backward(b.ran[:]) {
		if to <= b.optimized {
			if to > b.optimizes {
				return b.optimized - to
			}
			break
		}
	}
	return 0
}

type kernel struct {
	correlation int64
	from, took  int64
	name        string
}

// limited fails where an event is longer than any that makes sense, so that a decoder never holds more.
type limited struct {
	from       io.Reader
	read, upTo int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.read >= l.upTo {
		return 0, fmt.Errorf("an event has more than %d MB", mostEvent>>20)
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.upTo-l.read)])
	l.read += int64(n)
	return n, err
}

// events calls take for each event of a file.
func (r *reader) events(ctx context.Context, f *os.File, take func(*event) error) error {
	var from io.Reader = bufio.NewReaderSize(inputfile.Reader{Context: ctx, Source: f}, 1<<16)
	if head, _ := from.(*bufio.Reader).Peek(2); len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b {
		unpacked, err := gzip.NewReader(from)
		if err != nil {
			return err
		}
		defer unpacked.Close()
		from = unpacked
	}
	l := &limited{from: from, upTo: mostEvent}
	d := json.NewDecoder(l)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return cmp.Or(ctx.Err(), errForeign)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return wrong(ctx, err)
		}
		l.upTo = d.InputOffset() + mostEvent
		switch key {
		case "traceEvents":
			if t, err := d.Token(); err != nil || t != json.Delim('[') {
				return cmp.Or(ctx.Err(), errForeign)
			}
			for d.More() {
				var e event
				if err := d.Decode(&e); err != nil && !mistyped(err) {
					return wrong(ctx, err)
				}
				if e.Ph == "X" {
					if err := take(&e); err != nil {
						return err
					}
				}
				at := d.InputOffset()
				if l.upTo = at + mostEvent; at > mostBytes {
					return fmt.Errorf("it has more than %d GB", mostBytes>>30)
				}
			}
			return nil // what follows says nothing more of steps
		case "deviceProperties":
			var cards []struct{ Name string }
			if err := d.Decode(&cards); err != nil && !mistyped(err) {
				return wrong(ctx, err)
			}
			if len(cards) > 0 {
				r.trace.Card = cards[0].Name
			}
		case "distributedInfo":
			var info struct {
				Rank  int `json:"rank"`
				World int `json:"world_size"`
			}
			if err := d.Decode(&info); err != nil && !mistyped(err) {
				return wrong(ctx, err)
			}
			r.trace.Rank, r.trace.World = info.Rank, info.World
		default:
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return wrong(ctx, err)
			}
		}
		l.upTo = d.InputOffset() + mostEvent
	}
	return errForeign
}

// mistyped reports whether an event only has a field of another type, as those of other programs have.
func mistyped(err error) bool {
	var typed *json.UnmarshalTypeError
	return errors.As(err, &typed)
}

func wrong(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it ends in the middle: the trace was not written whole")
	}
	return err
}

const stepPrefix = "ProfilerStep#"

// step takes the bounds of steps.
func (r *reader) step(e *event) error {
	digits, ok := strings.CutPrefix(e.Name, stepPrefix)
	if !ok || e.Cat == "gpu_user_annotation" {
		return nil
	}
	from, to, ok := e.span()
	n := int64(0)
	if _, err := fmt.Sscanf(digits, "%d", &n); err != nil || !ok || to <= from || r.steps[n] {
		return nil
	}
	if len(r.trace.Steps) == MostSteps {
		return fmt.Errorf("it has more than %d steps", MostSteps)
	}
	r.steps[n] = true
	r.trace.Steps = append(r.trace.Steps, Step{Number: n, Start: from, Total: to - from})
	return nil
}

// order sorts the steps after the first pass.
func (r *reader) order() {
	if r.found != nil {
		return
	}
	slices.SortFunc(r.trace.Steps, func(a, b Step) int { return cmp.Compare(a.Start, b.Start) })
	r.found = make([]bounds, len(r.trace.Steps))
	r.names, r.launch = map[string]*Kernel{}, map[int64]int64{}
	for i := range r.found {
		r.found[i].backward, r.found[i].optimizes = math.MaxInt64, math.MaxInt64
	}
}

// at returns the step of a time, −1 for none.
func (r *reader) at(t int64) int {
	i, found := slices.BinarySearchFunc(r.trace.Steps, t, func(s Step, t int64) int { return cmp.Compare(s.Start, t) })
	if !found {
		i--
	}
	if i < 0 || t >= r.trace.Steps[i].Start+r.trace.Steps[i].Total {
		return -1
	}
	return i
}

// rest takes what is in the steps.
func (r *reader) rest(e *event) error {
	from, to, ok := e.span()
	if !ok {
		return nil
	}
	switch e.Cat {
	case "kernel", "gpu_memcpy", "gpu_memset":
		return r.kernel(kernel{e.Args.Correlation, from, to - from, e.Name})
	case "cuda_runtime", "cuda_driver", "privateuse1_runtime":
		if e.Args.Correlation != 0 {
			if len(r.launch) == mostLaunches {
				return fmt.Errorf("it has more than %d launches of kernels", mostLaunches)
			}
			r.launch[e.Args.Correlation] = from
		}
		return nil
	case "cpu_op", "user_annotation":
	default:
		return nil
	}
	i := r.at(from)
	if i < 0 || strings.HasPrefix(e.Name, stepPrefix) {
		return nil
	}
	b := &r.found[i]
	to = min(to, r.trace.Steps[i].Start+r.trace.Steps[i].Total)
	switch {
	case strings.HasPrefix(e.Name, "enumerate(DataLoader)"):
		b.data += to - from
		b.received, b.prepared = max(b.received, to), max(b.prepared, to)
	case e.Name == seed:
		b.seeds[b.seeded%seeds] = from
		b.seeded++
	case strings.HasPrefix(e.Name, "Optimizer.zero_grad"):
		if from < b.optimizes {
			b.prepared = max(b.prepared, to)
		}
	case strings.HasPrefix(e.Name, "Optimizer.step"):
		b.optimizer += to - from
		b.optimizes, b.optimized = min(b.optimizes, from), max(b.optimized, to)
	case strings.HasPrefix(e.Name, "autograd::engine::evaluate_function"):
		b.backward, b.backwardEnds = min(b.backward, from), max(b.backwardEnds, to)
	case e.Cat == "cpu_op":
		b.operator(to)
	}
	return nil
}

// kernel takes a kernel: its phase is where it was launched.
func (r *reader) kernel(k kernel) error {
	if len(r.late) == mostLaunches {
		return fmt.Errorf("it has more than %d kernels", mostLaunches)
	}
	if len(k.name) > longestName {
		k.name = strings.ToValidUTF8(k.name[:longestName], "")
	}
	if named := r.names[k.name]; named != nil {
		k.name = named.Name // one text for all
	} else if len(r.names) < mostNames {
		r.names[k.name] = &Kernel{Name: k.name}
	} else {
		k.name = ""
	}
	r.late = append(r.late, k)
	return nil
}

// seed is the operator that makes the gradient of a loss, with which backward begins; seeds is how many a step keeps.
const (
	seed  = "aten::ones_like"
	seeds = 8
)

// begin moves the beginning of backward from autograd's first function to the operator right before it.
func (b *bounds) begin() {
	newest := int64(math.MinInt64)
	for _, from := range b.seeds[:min(b.seeded, seeds)] {
		if from < b.backward {
			newest = max(newest, from)
		}
	}
	if newest > b.prepared && b.backward < math.MaxInt64 && b.backward-newest < (b.backwardEnds-newest)/4 {
		b.backward = newest
	}
}

// phase returns where in a step a time is.
func (b *bounds) phase(t int64) Phase {
	switch {
	case t < b.prepared:
		return Prepare
	case t < b.backward && b.backward < math.MaxInt64:
		return Forward
	case t < b.backwardEnds:
		return Backward
	case t < b.optimizes && b.optimizes < math.MaxInt64:
		return Between
	case t < b.optimized:
		return Optimizer
	}
	return Other
}

// finish makes phases of what was found.
func (r *reader) finish() {
	for i := range r.found {
		r.found[i].begin()
	}
	for i := range r.late {
		k := &r.late[i]
		at, ok := r.launch[k.correlation]
		if !ok {
			at = k.from
		}
		step := r.at(at)
		if step < 0 {
			continue
		}
		phase := r.found[step].phase(at)
		r.found[step].device[phase] += k.took
		r.trace.Steps[step].Kernels++
		if named := r.names[k.name]; named != nil {
			named.Phase, named.Nanos, named.Calls = phase, named.Nanos+k.took, named.Calls+1
		}
		r.trace.Device = true
	}
	r.zero = r.trace.Steps[0].Start
	for i := range r.trace.Steps {
		s, b := &r.trace.Steps[i], &r.found[i]
		end := s.Start + s.Total
		p := &s.Phases
		if r.trace.Device {
			*p = b.device
		} else {
			prepared := max(b.prepared, s.Start)
			p[Data], p[Optimizer] = b.data, b.optimizer-b.tail()
			if b.backward < math.MaxInt64 {
				p[Backward] = max(0, b.backwardEnds-b.backward)
				p[Forward] = max(0, b.backward-prepared)
				if b.optimizes < math.MaxInt64 {
					p[Between] = max(0, b.optimizes-b.backwardEnds)
				}
			} else if b.optimizes < math.MaxInt64 {
				p[Forward] = max(0, b.optimizes-prepared)
			}
			p[Prepare] = max(0, prepared-max(b.received, s.Start))
		}
		sum := int64(0)
		for phase := range Other {
			if p[phase] = min(p[phase], s.Total-sum); p[phase] < 0 {
				p[phase] = 0
			}
			sum += p[phase]
		}
		p[Other] = s.Total - sum
		s.Start, s.Total = s.Start-r.zero, end-s.Start
	}
	for _, k := range r.names {
		if k.Calls > 0 {
			r.trace.Longest = append(r.trace.Longest, *k)
		}
	}
	slices.SortFunc(r.trace.Longest, func(a, b Kernel) int {
		return cmp.Or(cmp.Compare(b.Nanos, a.Nanos),
			cmp.Compare(a.Name, b.Name))
	})
	r.trace.Longest = r.trace.Longest[:min(len(r.trace.Longest), MostKernels)]
	r.trace.World = max(1, r.trace.World)
}
