// Package looptest is a training loop for tests: the writer's side of a ring, without Python.
package looptest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"prismtop/profiles/loop"
	"prismtop/profiles/machine"
)

const (
	size    = 576
	slots   = 4096
	records = 65536
)

// Writer writes a ring as FORMAT.md describes it.
type Writer struct {
	Path string

	OneWay atomic.Bool // the loop of Train cannot go back to the state that it kept

	file    *os.File
	written uint64
	seen    uint64 // generation of settings
	greeted uint64
	waits   atomic.Bool
}

// Waits reports whether the loop of Train is at a boundary at which it was told to wait.
func (w *Writer) Waits() bool { return w.waits.Load() }

// Create makes a ring in a folder, of a process, or of this one if pid is 0.
func Create(t testing.TB, folder string, pid int) *Writer {
	t.Helper()
	return CreateRank(t, folder, pid, 0, 1)
}

// CreateRank is Create for a rank of several.
func CreateRank(t testing.TB, folder string, pid, rank, world int) *Writer {
	t.Helper()
	if pid == 0 {
		pid = os.Getpid()
	}
	path := filepath.Join(folder, fmt.Sprintf("1-rank%d.ring", rank))
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		err = f.Truncate(records + slots*size)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w := &Writer{Path: path, file: f}
	head := make([]byte, 64)
	for at, v := range map[int]uint32{8: 2, 12: size, 16: slots, 20: uint32(pid), 40: uint32(rank), 44: uint32(world)} {
		binary.LittleEndian.PutUint32(head[at:], v)
	}
	binary.LittleEndian.PutUint64(head[32:], uint64(machine.Started(pid)))
	binary.LittleEndian.PutUint64(head[56:], uint64(loop.Preparing))
	w.At(0, head)
	w.At(0, []byte("PRSMLOOP"))
	return w
}

// At writes bytes anywhere into the file.
func (w *Writer) At(at int64, b []byte) { _, _ = w.file.WriteAt(b, at) }

// Word writes a number of the head.
func (w *Writer) Word(at int64, v uint64) { w.At(at, binary.LittleEndian.AppendUint64(nil, v)) }

// State sets the loop's state.
func (w *Writer) State(s loop.State) { w.Word(56, uint64(s)) }

// Greet writes a greeting, whose fields have the names of FORMAT.md.
func (w *Writer) Greet(text string) {
	w.At(4096, []byte(text))
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(text)))
	w.At(72, binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE([]byte(text))))
	w.greeted++
	w.Word(64, w.greeted)
}

// Record returns an empty record of a kind.
func Record(kind loop.RecordKind, step, start int64) []byte {
	b := make([]byte, size)
	b[8] = byte(kind)
	binary.LittleEndian.PutUint64(b[16:], uint64(step))
	binary.LittleEndian.PutUint64(b[24:], uint64(start))
	return b
}

// Publish writes a record into the next slot.
func (w *Writer) Publish(b []byte) {
	w.written++
	binary.LittleEndian.PutUint64(b, w.written)
	binary.LittleEndian.PutUint32(b[568:], crc32.ChecksumIEEE(b[:568]))
	w.At(records+int64((w.written-1)%slots)*size, b)
	w.Word(48, w.written)
}

// Step is what a step has that matters to a test.
type Step struct {
	Step, Start  int64
	Kind         byte
	Flags        loop.Flags
	Generation   uint32
	Block        uint32 // of the schedule, counted from 1; 0 for none
	Unit, InUnit int32
	Host         []int64
	Series       []float64
}

// Step publishes a step, whose total is the sum of its phases.
func (w *Writer) Step(s Step) {
	b := Record(loop.Step, s.Step, s.Start)
	b[9] = s.Kind
	binary.LittleEndian.PutUint16(b[10:], uint16(s.Flags))
	total := int64(0)
	for i := range 16 {
		host, device := int64(0), int64(-1)
		if i < len(s.Host) {
			host = s.Host[i]
		}
		total += host
		binary.LittleEndian.PutUint64(b[64+8*i:], uint64(host))
		binary.LittleEndian.PutUint64(b[192+8*i:], uint64(device))
	}
	binary.LittleEndian.PutUint64(b[32:], uint64(total))
	binary.LittleEndian.PutUint32(b[40:], s.Generation)
	binary.LittleEndian.PutUint32(b[44:], s.Block-1)
	binary.LittleEndian.PutUint32(b[48:], uint32(s.Unit))
	binary.LittleEndian.PutUint32(b[52:], uint32(s.InUnit))
	for i := range 24 {
		v := math.NaN()
		if i < len(s.Series) {
			v = s.Series[i]
		}
		binary.LittleEndian.PutUint64(b[320+8*i:], math.Float64bits(v))
	}
	w.Publish(b)
}

// Steps publishes several steps in one record, each of whose seven phases but the last takes as many ns as its number
// counted from 1, after so many ns of the last, and has so many items and its place as its loss.
func (w *Writer) Steps(first Step, others, items []int64) {
	b := Record(loop.Steps, first.Step, first.Start)
	b[9] = byte(len(others))
	binary.LittleEndian.PutUint32(b[40:], first.Generation)
	binary.LittleEndian.PutUint32(b[44:], first.Block-1)
	binary.LittleEndian.PutUint32(b[48:], uint32(first.Unit))
	binary.LittleEndian.PutUint32(b[52:], uint32(first.InUnit))
	t := first.Start
	for i := range others {
		t += others[i]
		for j := range 8 {
			t += int64(j)
			binary.LittleEndian.PutUint64(b[64+80*i+8*j:], uint64(t))
		}
		binary.LittleEndian.PutUint64(b[128+80*i:], math.Float64bits(float64(i)))
		binary.LittleEndian.PutUint64(b[136+80*i:], math.Float64bits(float64(items[i])))
	}
	w.Publish(b)
}

// texted puts a text and its length into a record.
func texted(b []byte, length int, text string) []byte {
	binary.LittleEndian.PutUint32(b[length:], uint32(copy(b[64:568], text)))
	return b
}

// Cache publishes the counters of the loop's first cache, and the times of its computations.
func (w *Writer) Cache(c loop.CacheCounters, squares float64, costs ...int64) {
	b := Record(loop.Costs, 0, loop.Now())
	binary.LittleEndian.PutUint32(b[52:], uint32(len(costs)))
	binary.LittleEndian.PutUint64(b[56:], math.Float64bits(squares))
	for i, ns := range costs {
		binary.LittleEndian.PutUint64(b[64+8*i:], uint64(ns))
	}
	w.Publish(b)
	b = Record(loop.Caches, 0, loop.Now())
	for i, n := range []int64{1, c.Hits, c.Misses, c.Entries, c.Bytes, c.Saved, c.Lookups} {
		binary.LittleEndian.PutUint64(b[64+8*i:], uint64(n))
	}
	w.Publish(b)
}

// Answer publishes the answer to settings.
func (w *Writer) Answer(step int64, generation uint32, outcome loop.Outcome, refused string) {
	w.answer(step, generation, noBlock, outcome, refused)
}

func (w *Writer) answer(step int64, generation, block uint32, outcome loop.Outcome, refused string) {
	b := texted(Record(loop.Answer, step, loop.Now()), 52, refused)
	binary.LittleEndian.PutUint32(b[40:], generation)
	binary.LittleEndian.PutUint32(b[44:], block)
	binary.LittleEndian.PutUint32(b[48:], uint32(outcome))
	w.Publish(b)
}

// EndEpoch publishes the end of an epoch, with what was logged since its last step.
func (w *Writer) EndEpoch(step int64, unit, steps int32, series ...float64) {
	b := Record(loop.EpochEnd, step, loop.Now())
	binary.LittleEndian.PutUint32(b[48:], uint32(unit))
	binary.LittleEndian.PutUint32(b[52:], uint32(steps))
	for i := range 24 {
		v := math.NaN()
		if i < len(series) {
			v = series[i]
		}
		binary.LittleEndian.PutUint64(b[320+8*i:], math.Float64bits(v))
	}
	w.Publish(b)
}

// Settings returns the settings that the reader has written since the last call, nil for none.
func (w *Writer) Settings() (generation uint32, s *loop.Settings) {
	var b [16]byte
	if _, err := w.file.ReadAt(b[:], 128); err != nil {
		return 0, nil
	}
	g := binary.LittleEndian.Uint64(b[:])
	if g == w.seen {
		return 0, nil
	}
	length := binary.LittleEndian.Uint32(b[8:])
	text := make([]byte, min(length, 16384))
	if _, err := w.file.ReadAt(text, 32768+int64(g%2)*16384); err != nil ||
		crc32.ChecksumIEEE(text) != binary.LittleEndian.Uint32(b[12:]) {
		return 0, nil
	}
	s = &loop.Settings{}
	if json.Unmarshal(text, s) != nil {
		return 0, nil
	}
	w.seen = g
	return uint32(g), s
}

// Beat returns the reader's heartbeat.
func (w *Writer) Beat() int64 {
	var b [8]byte
	_, _ = w.file.ReadAt(b[:], 144)
	return int64(binary.LittleEndian.Uint64(b[:]))
}

// Greeting is that of the loop of Train.
const Greeting = `{"format": 2, "script": "train.py", "argv": ["train.py"], "directory": "/tmp",
 "python": "3.13.1", "torch": "2.9.1", "device": "cpu", "threads": 1, "models": [{"class": "Net", "parameters": 1234}], "parameters": 1234,
 "optimizers": ["AdamW"], "clock": "host", "unit": {"one": "epoch", "many": "epochs", "total": 0}, "item": {"one": "image", "many": "images"},
 "kinds": [{"name": "step"}, {"name": "step with evaluation", "aside": true}],
 "phases": [{"name": "data", "what": "waiting for the DataLoader", "tier": "found"}, {"name": "forward", "what": "the model's call"},
            {"name": "backward", "what": "backward"}, {"name": "optimizer", "what": "optimizer.step"}, {"name": "other", "what": "everything else"}],
 "series": [{"name": "loss", "title": "loss", "better": "less", "group": "losses", "each": true}],
 "memory": [{"name": "parameters", "model": true}, {"name": "activations"}], "able": {"pause": "", "layers": "", "fork": "no DataLoader"},
 "knobs": [{"key": "autocast", "type": "choice", "values": ["off", "bf16", "fp16"], "value": "off", "help": "16 bits",
            "touches": ["forward", "backward", "optimizer", "other"], "price": "cheap", "compared": ["off", "bf16"],
            "refused": {"fp16": "the loop has no enabled GradScaler"}},
           {"key": "gc", "type": "bool", "values": ["off", "on"], "value": "on", "help": "Python's collector", "touches": ["other"], "price": "cheap",
            "compared": ["on", "off"], "exact": true},
           {"key": "compile", "type": "bool", "values": ["off", "on"], "value": "off", "why": "no C++ compiler", "price": "dear"},
           {"key": "accumulate", "type": "number", "low": 1, "high": 64, "integer": true, "value": "4", "touches": ["forward"], "price": "cheap",
            "declared": true}]}`

// Ranks trains several ranks in step: the slow one takes longer by more, and the others wait for it. Each is stopped by
// its function; the others then wait.
func Ranks(writers []*Writer, each, more time.Duration, slow int) (stops []func()) {
	var mu sync.Mutex
	steps := make([]int64, len(writers))
	for i, w := range writers {
		done, ended := make(chan struct{}), make(chan struct{})
		stops = append(stops, sync.OnceFunc(func() { close(done); <-ended }))
		go func() {
			defer close(ended)
			greeting := strings.Replace(Greeting, `{"name": "other", "what": "everything else"}`, `{"name": "other", "what": "everything else"}, {"name": "exchange"}`, 1)
			w.Greet(greeting)
			w.State(loop.Training)
			t := training{w: w, values: map[string]string{"autocast": "off", "gc": "on", "accumulate": "4"}, kept: -1,
				pauseAt: -1}
			t.exchange = func(step int64) bool {
				mu.Lock()
				steps[i] = step + 1
				mu.Unlock()
				for {
					mu.Lock()
					all := slices.Min(steps) > step
					mu.Unlock()
					select {
					case <-done:
						return false
					case <-time.After(50 * time.Microsecond):
					}
					if all {
						return true
					}
				}
			}
			took := each
			if i == slow {
				took += more
			}
			t.slowest = each + more
			t.train(took, done)
		}()
	}
	return stops
}

// Train trains until stop is called, an epoch of ten steps after the other: a step takes each, under bf16 a third less,
// and refuses fp16 and to watch boundaries alone. It obeys settings as the module does.
func Train(w *Writer, each time.Duration) (stop func()) { return TrainAs(w, Greeting, each) }

// TrainAs is Train with a greeting.
func TrainAs(w *Writer, greeting string, each time.Duration) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		w.Word(96, uint64(loop.Now()))
		w.Greet(greeting)
		w.State(loop.Training)
		t := training{w: w, values: map[string]string{"autocast": "off", "gc": "on", "accumulate": "4"}, kept: -1,
			pauseAt: -1}
		t.train(each, done)
	}()
	return sync.OnceFunc(func() { close(done); <-ended })
}

// training is what Train keeps between two steps.
type training struct {
	w          *Writer
	values     map[string]string
	now        loop.Settings
	generation uint32
	settling   int
	step       int64
	pauses     bool
	pauseAt    int64 // step before which it pauses by itself

	traces       int // steps of a trace that are to come
	block, plain int // of the schedule

	proposed *loop.Settings // for a step; nil for none
	asked    uint32         // its generation

	exchange func(step int64) bool // waits for other ranks; nil for none
	slowest  time.Duration         // step of all ranks

	trained, kept float64 // what the loss depends on; −1 if nothing is kept
}

// obey looks for new settings: those of several ranks wait for their step.
func (t *training) obey() {
	if t.proposed == nil {
		g, s := t.w.Settings()
		switch {
		case s == nil:
			return
		case s.Agreement == "" || len(s.Set)+len(s.After) == 0 && s.Schedule == nil:
			t.put(g, s)
			return
		case s.From <= t.step:
			t.w.Answer(t.step, g, loop.Ready, `{"": "the step is over"}`)
			return
		case s.Set["autocast"] == "fp16":
			t.w.Answer(t.step, g, loop.Ready, `{"autocast": "the loop has no enabled GradScaler"}`)
			return
		}
		t.proposed, t.asked = s, g
		t.w.Answer(t.step, g, loop.Ready, "")
	}
	if t.step < t.proposed.From {
		return
	}
	s := t.proposed
	t.proposed = nil
	link := filepath.Join(filepath.Dir(t.w.Path), s.Agreement)
	if err := os.Symlink("no", link); err == nil {
		t.w.Answer(t.step, t.asked, loop.Cancelled, "")
	} else if decision, _ := os.Readlink(link); decision == "yes" {
		t.put(t.asked, s)
	} else {
		t.w.Answer(t.step, t.asked, loop.Cancelled, "")
	}
}

// put puts settings in force.
func (t *training) put(g uint32, s *loop.Settings) {
	t.generation, t.now, t.settling, t.pauses, t.pauseAt = g, *s, 2, s.Pause, -1
	if s.Warm != nil {
		t.settling = *s.Warm
	}
	if s.PauseAfter > 0 {
		t.pauseAt = t.step + int64(s.PauseAfter)
	}
	if s.Trace != "" {
		t.traces = 6
	}
	switch s.State {
	case loop.KeepState:
		t.kept = t.trained
		t.w.Answer(t.step, g, loop.Kept, "")
	case loop.ReturnToState:
		if t.w.OneWay.Load() {
			t.w.Answer(t.step, g, loop.Partly, `{"state": "its epoch is over, and the batches with it"}`)
			break
		}
		t.trained = t.kept
		t.w.Answer(t.step, g, loop.Returned, "")
	case loop.DropState:
		t.kept = -1
		t.w.Answer(t.step, g, loop.Dropped, "")
	}
	outcome, refused := loop.Done, ""
	if s.Watch == loop.WatchLosses && t.values["autocast"] == "bf16" {
		t.now.Watch, outcome, refused = "", loop.Partly, `{"watch": "the knob autocast works by the patches"}`
	}
	for key, value := range s.Set {
		if value == "fp16" {
			outcome, refused = loop.Partly, `{"autocast": "the loop has no enabled GradScaler"}`
			continue
		}
		t.values[key] = value
	}
	if t.now.Schedule != nil {
		t.block, t.plain = 0, 0
		t.arm()
		return
	}
	t.w.Answer(t.step, g, outcome, refused)
}

// arm puts the arm of the block of the schedule in force.
func (t *training) arm() {
	s := t.now.Schedule
	for key, value := range s.Arms[s.Order[t.block]] {
		t.values[key] = value
	}
	t.settling = 2
	if t.now.Warm != nil {
		t.settling = *t.now.Warm
	}
	t.w.answer(t.step, t.generation, uint32(t.block), loop.Done, "")
}

// passed counts a step of a schedule, and goes on to the next block.
func (t *training) passed(plain bool) {
	s := t.now.Schedule
	if s == nil || !plain {
		return
	}
	if t.plain++; t.plain < s.Length {
		return
	}
	t.plain = 0
	if t.block++; t.block < len(s.Order) {
		t.arm()
		return
	}
	t.block, t.now.Schedule, t.now.LeaseMS = noBlock, nil, 0
	for key, value := range t.now.After {
		t.values[key] = value
	}
	t.w.Answer(t.step, t.generation, loop.ScheduleOver, "")
}

const noBlock = math.MaxUint32

func (t *training) train(each time.Duration, done <-chan struct{}) {
	for ; ; t.step++ {
		t.obey()
		if t.now.LeaseMS > 0 && loop.Now()-t.w.Beat() > int64(t.now.LeaseMS)*1e6 {
			for key, value := range t.now.After {
				t.values[key] = value
			}
			t.now.LeaseMS, t.now.Schedule = 0, nil
			t.w.Answer(t.step, t.generation, loop.LeaseOver, "")
		}
		for t.pauses = t.pauses || t.step == t.pauseAt; t.pauses; t.obey() {
			t.w.waits.Store(true)
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
		t.w.waits.Store(false)
		start, long, slowest := loop.Now(), each, t.slowest
		if t.values["autocast"] == "bf16" {
			long, slowest = long*2/3, slowest*2/3
			t.trained -= 0.25 // it learns more slowly
		}
		select {
		case <-done:
			t.w.State(loop.Over)
			return
		case <-time.After(long):
		}
		if t.exchange != nil && !t.exchange(t.step) {
			return
		}
		// What a step says that it took does not depend on the machine: it differs by 1 % from step to step.
		total := int64(long) + int64(long)/1000*(t.step*7%11)
		waited := max(0, int64(slowest-long))
		t.trained++
		s := Step{Step: t.step, Start: start, Generation: t.generation, Unit: int32(t.step / 10),
			InUnit: int32(t.step % 10), Series: []float64{1 / t.trained}}
		s.Host = []int64{0, total / 2, total / 4, total / 8, total - total/2 - total/4 - total/8, waited}
		if t.now.Schedule != nil {
			s.Block = uint32(t.block) + 1
		}
		if t.traces--; t.traces >= 0 {
			s.Flags |= loop.Measured
		}
		if t.now.Watch == loop.WatchLosses {
			s.Flags |= loop.Boundaries
			s.Host = []int64{0, 0, 0, 0, total}
		}
		if t.settling--; t.settling >= 0 {
			s.Flags |= loop.Settling
		}
		if t.step%10 == 0 && t.step > 0 {
			s.Kind, s.Flags = 1, s.Flags|loop.Evaluated
		}
		t.w.Step(s)
		t.passed(s.Kind == 0 && s.Flags&loop.Settling == 0)
		if t.step%10 == 9 {
			t.w.EndEpoch(t.step, int32(t.step/10), 10)
		}
	}
}
