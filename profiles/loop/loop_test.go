package loop_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"prismtop/profiles/loop"
	"prismtop/profiles/loop/looptest"
)

func open(t *testing.T, path string) *loop.Ring {
	t.Helper()
	r, err := loop.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// A ring says when the next step began before its record is there.
func TestTheNextStepsBeginning(t *testing.T) {
	w := looptest.Create(t, t.TempDir(), 0)
	w.Word(96, 17)
	r := open(t, w.Path)
	if got := r.Began(); got != 17 {
		t.Errorf("the first step began at %d, not 17", got)
	}
	w.Step(looptest.Step{Start: 20, Host: []int64{30}})
	w.Step(looptest.Step{Start: 50, Host: []int64{35}})
	if got := r.Began(); got != 17 {
		t.Errorf("with records, the first step began at %d, not 17", got)
	}
	r.Skip()
	if got := r.Began(); got != 85 {
		t.Errorf("the third step began at %d, not 85", got)
	}
}

// A record of several steps is read as a record of each, and a reader that skips it goes on where its last step ended.
func TestStepsOfOneRecord(t *testing.T) {
	w := looptest.Create(t, t.TempDir(), 0)
	r, late := open(t, w.Path), open(t, w.Path)
	others, items := []int64{5, 0, 7, 1, 2, 900}, []int64{16, 16, 16, 16, 16, 3}
	step, start := int64(40), int64(1000)
	for n := len(others); n > 0; n-- {
		w.Steps(looptest.Step{Step: step, Start: start, Generation: 5, Unit: 3, InUnit: int32(step)}, others[:n], items)
		late.Skip()
		var rec loop.Record
		for i := range n {
			rec = loop.Record{Kind: loop.Line, Flags: loop.Skipped, Spent: 9, Series: [loop.MaxSeries]float64{1, 2, 3}, Device: [loop.MaxPhases]int64{4}}
			if !r.Next(&rec) {
				t.Fatalf("%d of %d steps", i, n)
			}
			host := [loop.MaxPhases]int64{1, 2, 3, 4, 5, 6, 7, others[i]}
			if rec.Kind != loop.Step || rec.Step != step || rec.Start != start || rec.Total != 28+others[i] || rec.Host != host ||
				rec.Device[0] != -1 || rec.Device[15] != -1 || rec.Series[0] != float64(i) || !math.IsNaN(rec.Series[1]) || rec.Items != float64(items[i]) ||
				rec.Unit != 3 || rec.InUnit != int32(step) || rec.Flags != 0 || rec.Forward != 1 || rec.Backward != 1 || rec.Spent != 0 ||
				rec.Generation != 5 || rec.Block != loop.NoBlock {
				t.Fatalf("step %d of %d: %+v", i, n, rec)
			}
			step, start = step+1, start+rec.Total
		}
		if r.Next(&rec) {
			t.Fatalf("after %d steps: %+v", n, rec)
		}
		if late.Began() != start {
			t.Errorf("after %d steps the next began at %d, not %d", n, late.Began(), start)
		}
	}
}

// What was written is read in order, also when it wraps around; a reader that fell behind goes on with what there is and
// counts the rest.
func TestRecordsArriveInOrder(t *testing.T) {
	w := looptest.Create(t, t.TempDir(), 0)
	r := open(t, w.Path)
	var rec loop.Record
	if r.Next(&rec) {
		t.Fatal("a record of an empty ring")
	}
	read := int64(0)
	for i := range int64(10_000) {
		w.Step(looptest.Step{Step: i, Start: 7 * i, Unit: 3, InUnit: -1, Flags: loop.Skipped, Generation: 5, Host: []int64{i, 2, 3}, Series: []float64{float64(i)}})
		for i%3 == 0 && r.Next(&rec) {
			if rec.Kind != loop.Step || rec.Step != read || rec.Start != 7*read || rec.Total != read+5 || rec.Host[0] != read || rec.Series[0] != float64(read) ||
				rec.Unit != 3 || rec.InUnit != -1 || rec.Flags != loop.Skipped || rec.Generation != 5 || rec.Device[2] != -1 || rec.Block != loop.NoBlock {
				t.Fatalf("record %d: %+v", read, rec)
			}
			read++
		}
	}
	if read != 10_000 || r.Lost+r.Torn != 0 {
		t.Fatalf("%d read, %d lost, %d torn", read, r.Lost, r.Torn)
	}
	for i := range int64(3 * 4096) {
		w.Step(looptest.Step{Step: 10_000 + i})
	}
	n := int64(0)
	for last := read; r.Next(&rec); n++ {
		if rec.Step < last {
			t.Fatalf("step %d after %d", rec.Step, last)
		}
		last = rec.Step
	}
	if rec.Step != 9_999+3*4096 || r.Lost == 0 || r.Lost+n != 3*4096 {
		t.Errorf("up to step %d: %d lost and %d read of %d", rec.Step, r.Lost, n, 3*4096)
	}
}

// A record that is not whole is waited for, and given up if it never is.
func TestATornRecordIsNeverBelieved(t *testing.T) {
	w := looptest.Create(t, t.TempDir(), 0)
	r := open(t, w.Path)
	w.Step(looptest.Step{Step: 1})
	w.At(65536+200, []byte{1, 2, 3}) // which its CRC does not have
	w.Step(looptest.Step{Step: 2})
	var rec loop.Record
	for i := 0; ; i++ {
		if r.Next(&rec) {
			break
		}
		if i > 5000 {
			t.Fatal("the ring stands still")
		}
	}
	if rec.Step != 2 || r.Torn != 1 {
		t.Errorf("step %d, %d torn", rec.Step, r.Torn)
	}
	w.Step(looptest.Step{Step: 3})
	w.At(65536+2*576, binary.LittleEndian.AppendUint64(nil, 77)) // a number from nowhere
	if r.Next(&rec) {
		t.Errorf("%+v", rec)
	}
}

// Settings go to the loop, whose answer says what it refused.
func TestSettingsAreAnswered(t *testing.T) {
	w := looptest.Create(t, t.TempDir(), 0)
	stop := looptest.Train(w, time.Millisecond)
	defer stop()
	r := open(t, w.Path)
	var g *loop.Greeting
	if err := loop.Wait(nil, func() (found bool, err error) { g, err = r.Greeting(); return g != nil, err }); err != nil || len(g.Knobs) != 4 || g.Phases[1].Name != "forward" {
		t.Fatalf("%+v, %v", g, err)
	}
	if again, err := r.Greeting(); again != nil || err != nil {
		t.Errorf("a second greeting: %v, %v", again, err)
	}
	for value, want := range map[string]loop.Outcome{"bf16": loop.Done, "fp16": loop.Partly} {
		generation, err := r.Send(&loop.Settings{Set: map[string]string{"autocast": value}})
		if err != nil {
			t.Fatal(err)
		}
		var rec loop.Record
		_ = loop.Wait(nil, func() (bool, error) {
			return r.Next(&rec) && rec.Kind == loop.Answer && rec.Generation == generation, nil
		})
		if rec.Outcome != want || (rec.Refusals()["autocast"] != "") != (want == loop.Partly) {
			t.Errorf("%s: %d, %v", value, rec.Outcome, rec.Refusals())
		}
	}
	if !r.Operates() {
		t.Error("the only reader does not operate the loop")
	}
	second := open(t, w.Path)
	if _, err := second.Send(&loop.Settings{}); err == nil || second.Operates() {
		t.Errorf("a second reader operates the loop: %v", err)
	}
	if _, err := r.Send(&loop.Settings{Set: map[string]string{"x": strings.Repeat("y", 20_000)}}); err == nil {
		t.Error("settings of 20 kB were written")
	}
	if r.Beat(); w.Beat() == 0 {
		t.Error("no heartbeat")
	}
	if r.Close(); w.Beat() != 0 {
		t.Error("a heartbeat of a reader that ended")
	}
}

// A reader refuses what is no ring of its user, of its format and of a process.
func TestWhatIsNoRingIsRefused(t *testing.T) {
	for want, spoil := range map[string]func(w *looptest.Writer) string{
		"still being made": func(w *looptest.Writer) string { w.At(0, make([]byte, 8)); return w.Path },
		"format 1":         func(w *looptest.Writer) string { w.At(8, []byte{1}); return w.Path },
		"320 bytes":        func(w *looptest.Writer) string { w.At(12, []byte{64, 1}); return w.Path },
		"process 0":        func(w *looptest.Writer) string { w.At(20, make([]byte, 4)); return w.Path },
		"others cannot":    func(w *looptest.Writer) string { _ = os.Chmod(w.Path, 0o644); return w.Path },
		"being made":       func(w *looptest.Writer) string { _ = os.Truncate(w.Path, 10); return w.Path },
		"no such file":     func(w *looptest.Writer) string { return w.Path + "x" },
		"must be a file":   func(w *looptest.Writer) string { _ = os.Symlink(w.Path, w.Path+"l"); return w.Path + "l" },
	} {
		r, err := loop.Open(spoil(looptest.Create(t, t.TempDir(), 0)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if err == nil {
			r.Close()
		}
	}
	for what, change := range map[string][2]string{
		"no phase": {`"phases": [`, `"phases": [], "x": [`}, "format 9": {`"format": 2`, `"format": 9`}, "is there twice": {`"forward"`, `"data"`},
		`must be one of 3 values`: {`"value": "off", "help"`, `"value": "offf", "help"`}, "none of its values": {`["off", "bf16"],
            "refused"`, `["off", "x"], "refused"`},
		"must have 1 to 32 bytes": {`"gc"`, `"` + strings.Repeat("g", 40) + `"`}, "cannot unmarshal": {`"knobs": [`, `"knobs": 3, "y": [`},
		"from 1 to 1": {`"high": 64`, `"high": 1`}, "negative": {`"threads": 1`, `"threads": -1`}, "its type": {`"number"`, `"complex"`},
	} {
		w := looptest.Create(t, t.TempDir(), 0)
		text := strings.Replace(looptest.Greeting, change[0], change[1], 1)
		if text == looptest.Greeting {
			t.Errorf("%s: nothing changed", what)
		}
		w.Greet(text)
		if _, err := open(t, w.Path).Greeting(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A loop without a prismtop is listed; what one that was killed left is removed.
func TestLoopsThatGoOnAloneAreListed(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	alone, err := loop.MakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	killed, _ := loop.MakeFolder()
	w, dead := looptest.Create(t, alone, 0), looptest.Create(t, killed, 1<<22+1)
	for _, w := range []*looptest.Writer{w, dead} {
		w.Greet(looptest.Greeting)
		w.State(loop.Training)
	}
	if err := os.WriteFile(dead.Path+".picture0", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := loop.List()
	if len(all) != 1 || all[0].Path != w.Path || all[0].PID != os.Getpid() || all[0].Greeting.Script != "train.py" {
		t.Errorf("%+v", all)
	}
	if left, _ := filepath.Glob(killed + "/*"); len(left) != 0 {
		t.Errorf("a killed loop left %v", left)
	}
	r := open(t, w.Path)
	if all := loop.List(); len(all) != 0 {
		t.Errorf("a loop that has a reader is listed: %+v", all)
	}
	if !r.Alive() || r.State() != loop.Training {
		t.Errorf("alive %t, state %d", r.Alive(), r.State())
	}
}

// A program whose prismtop was killed before its loop's second step is found, and nothing is left of it once it has ended.
func TestAProgramWithoutARingIsFound(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	folder, err := loop.MakeFolder()
	if err != nil {
		t.Fatal(err)
	}
	program := exec.Command("sleep", "60")
	if err := program.Start(); err != nil {
		t.Skip(err)
	}
	end := sync.OnceFunc(func() { _ = program.Process.Kill(); _ = program.Wait() })
	t.Cleanup(end)
	if err := loop.Announce(folder, "train.py", program.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if all := loop.List(); len(all) != 0 {
		t.Errorf("one whose prismtop is there is listed: %+v", all)
	}
	path := filepath.Join(folder, "starting")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const killed = 1<<22 + 1 // no process has this ID
	text = bytes.Replace(text, fmt.Appendf(nil, `"PID":%d,`, os.Getpid()), fmt.Appendf(nil, `"PID":%d,`, killed), 1)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	all := loop.List()
	if len(all) != 1 || all[0].PID != program.Process.Pid || all[0].Path != "" || all[0].Greeting.Script != "train.py" {
		t.Fatalf("%+v", all)
	}
	w := looptest.Create(t, folder, program.Process.Pid)
	w.Greet(looptest.Greeting)
	w.State(loop.Training)
	if err := all[0].Await(t.Context()); err != nil || all[0].Path != w.Path {
		t.Errorf("its loop: %+v, %v", all[0], err)
	}
	end()
	if all := loop.List(); len(all) != 0 {
		t.Errorf("one that has ended is listed: %+v", all)
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("its folder is still there")
	}
}

// A file of any contents ends no reader.
func FuzzRing(f *testing.F) {
	f.Add([]byte{}, []byte{}, uint64(3), []byte(`{"format": 2}`))
	f.Add([]byte("PRSMLOOP\x01\x00\x00\x00\x40\x02\x00\x00\x00\x10\x00\x00\x01\x10"), []byte{1, 0, 0, 0, 0, 0, 0, 0, 1}, uint64(1)<<63, []byte(looptest.Greeting))
	f.Fuzz(func(t *testing.T, head, slot []byte, written uint64, greeting []byte) {
		w := looptest.Create(t, t.TempDir(), 0)
		w.Greet(string(greeting[:min(len(greeting), 28000)]))
		w.At(0, head[:min(len(head), 4000)])
		w.At(65536, slot[:min(len(slot), 100_000)])
		w.Word(48, written)
		r, err := loop.Open(w.Path)
		if err != nil {
			return
		}
		defer r.Close()
		var rec loop.Record
		for range 3000 {
			if r.Next(&rec) {
				rec.Refusals()
			}
		}
		_, _ = r.Greeting()
		_, _ = r.Send(&loop.Settings{Watch: loop.WatchAll})
		_ = r.State()
	})
}

// Reading allocates nothing, or a fast loop would pay for the collector.
func TestReadingAllocatesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: the race detector, whose runs are short, allocates itself")
	}
	w := looptest.Create(t, t.TempDir(), 0)
	r := open(t, w.Path)
	b := looptest.Record(loop.Step, 1, 1)
	var rec loop.Record
	if n := testing.AllocsPerRun(1000, func() {
		w.Publish(b)
		if !r.Next(&rec) {
			t.Fatal("no record")
		}
	}); n > 1 { // the writer's word
		t.Errorf("%g allocations for a record", n)
	}
}
