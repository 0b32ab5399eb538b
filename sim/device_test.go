package sim

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/prism"
	"prismtop/sim/workload"
	"prismtop/sim/workloads"
)

// movable is a run that does not end by itself.
var movable = slices.Concat(small, []string{"samples=60", "threshold=0", "iterations=5", "cycles=2", "init_iterations=4", "threads=1"})

// gpus are devices with a GPU of the tests, whose operations may fail, and what was opened.
func gpus(fault func(operation string) error, notes ...string) (d workloads.Devices, opened *[]*beside.Backend) {
	opened = new([]*beside.Backend)
	d.GPU = func(string) (nn.Backend, error) {
		if fault != nil {
			if err := fault("open"); err != nil {
				return nil, err
			}
		}
		inner, err := cpu.New(cpu.Options{Threads: 1})
		if err != nil {
			return nil, err
		}
		b := &beside.Backend{Backend: inner, Fault: fault, Notes: notes}
		*opened = append(*opened, b)
		return b, nil
	}
	return d, opened
}

// watched is a run that is stepped by a test.
type watched struct {
	t testing.TB
	*Run
	a *aggregate.Aggregator
}

func stepping(t testing.TB, d workloads.Devices, sets ...string) (*watched, error) {
	t.Helper()
	events := stream.New(1 << 12)
	r, err := New(t.Context(), Options{Maker: workloads.PRISM(d), Settings: configured(t, slices.Concat(movable, sets)...), Stream: events})
	if err != nil {
		return nil, err
	}
	t.Cleanup(r.Close)
	return &watched{t, r, aggregate.New(events.Follow(), aggregate.Options{})}, nil
}

// next runs iterations and returns the bits of their losses, and the flags of the last.
func (w *watched) next(n int) (bits []uint64, flags profiles.Flags) {
	w.t.Helper()
	for len(bits) < n {
		before := w.loop.index
		rec, done, err := w.Next(w.t.Context())
		if err != nil || done {
			w.t.Fatal(done, err)
		}
		if w.loop.index == before { // its device failed
			continue
		}
		bits, flags = append(bits, math.Float64bits(rec.Series[prism.SeriesLossNew])), rec.Flags
	}
	return bits, flags
}

func (w *watched) set(key, value string) {
	w.t.Helper()
	if err := w.Set(key, value); err != nil {
		w.t.Fatal(err)
	}
}

func (w *watched) snapshot() *profiles.Snapshot { return w.a.Tick(time.Now()) }

// logged returns the text of the log.
func logged(s *profiles.Snapshot) string {
	var b strings.Builder
	for _, line := range s.Log {
		fmt.Fprintln(&b, line.Text)
	}
	return b.String()
}

// reference is the losses of iterations on the processor alone.
func reference(t *testing.T, n int) []uint64 {
	t.Helper()
	w, err := stepping(t, workloads.Devices{}, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	bits, _ := w.next(n)
	return bits
}

func TestADeviceChangesDuringTheRunWithTheWeights(t *testing.T) {
	want := reference(t, 60)
	d, opened := gpus(nil, "kernels are enqueued one by one")
	w, err := stepping(t, d, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := w.next(9)
	for _, device := range []string{"cuda", "cpu", "cuda:1"} {
		w.set("device", device)
		bits, flags := w.next(1)
		if flags&profiles.Warmup == 0 {
			t.Errorf("the first iteration on %s is compared with others", device)
		}
		more, _ := w.next(14)
		got = slices.Concat(got, bits, more)
		kind, card := "cpu", ""
		if device != "cpu" {
			kind, card = "cuda", "Test GPU"
		}
		if s := w.snapshot(); s.Run.Device != kind || s.Run.Card != card || s.Settings.Text(settings.Device) != device || s.Run.Failed != "" {
			t.Errorf("after device = %s the run is on %q (%q), setting %q, failed %q", device, s.Run.Device, s.Run.Card, s.Settings.Text(settings.Device), s.Run.Failed)
		}
	}
	if !slices.Equal(got, want[:len(got)]) {
		t.Error("losses differ from those of a run that stays on one device")
	}
	if text := logged(w.snapshot()); strings.Count(text, "kernels are enqueued one by one") != 2 {
		t.Errorf("the remarks of the device are not in the log: %s", text)
	}
	w.Close()
	for i, b := range *opened {
		if b.Closed == 0 {
			t.Errorf("backend %d is still open", i)
		}
	}
	if len(*opened) != 2 {
		t.Errorf("%d backends were opened", len(*opened))
	}
}

// planted returns a fault that happens once, in the n-th operation of a name.
func planted(operation string, n int, err error) func(string) error {
	count := 0
	return func(name string) error {
		if name != operation {
			return nil
		}
		if count++; count != n {
			return nil
		}
		return err
	}
}

var errDriver = errors.New("opening the GPU: cuModuleLoadData: the driver is too old for the PTX (222)")

func TestAChangeOfTheDeviceThatFailsIsRefused(t *testing.T) {
	want := reference(t, 16)
	for _, tt := range []struct {
		operation string
		err       error
		says      string
	}{
		{"open", errDriver, "device stays cpu: opening the GPU: cuModuleLoadData: the driver is too old for the PTX (222)"},
		{"state", &beside.MemoryError{}, "device stays cpu: the test's GPU has too little memory; a smaller size or object_size needs less"},
		{"load", &beside.MemoryError{}, "device stays cpu: load plan: the test's GPU has too little memory; a smaller size or object_size needs less"},
		{"write", &beside.LostError{During: "a copy"}, "device stays cpu: the test's GPU is lost, during a copy"},
	} {
		d, opened := gpus(planted(tt.operation, 1, tt.err))
		w, err := stepping(t, d, "device=cpu")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := w.next(8)
		w.set("device", "cuda")
		more, _ := w.next(8)
		if !slices.Equal(slices.Concat(got, more), want) {
			t.Errorf("%s: the run did not go on as before", tt.operation)
		}
		s := w.snapshot()
		if text := logged(s); !strings.Contains(text, tt.says) {
			t.Errorf("%s: the log lacks %q: %s", tt.operation, tt.says, text)
		}
		if s.Settings.Text(settings.Device) != "cpu" || w.wanted.Text(settings.Device) != "cpu" || s.Run.Device != "cpu" {
			t.Errorf("%s: setting %q, asked for %q, run on %q", tt.operation, s.Settings.Text(settings.Device), w.wanted.Text(settings.Device), s.Run.Device)
		}
		w.Close()
		for _, b := range *opened {
			if b.Closed == 0 {
				t.Errorf("%s: a backend is still open", tt.operation)
			}
		}
	}
}

// A plan that does not fit the device's memory leaves the run with the one before.
func TestASettingThatNeedsTooMuchMemoryIsRefused(t *testing.T) {
	short := false
	d, _ := gpus(func(operation string) error {
		if short && operation == "load" {
			short = false
			return &beside.MemoryError{}
		}
		return nil
	})
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := w.next(8)
	short = true
	w.set("checkpointing", "true")
	more, _ := w.next(8)
	if !slices.Equal(slices.Concat(got, more), reference(t, 16)) {
		t.Error("the run did not go on as before")
	}
	if s := w.snapshot(); s.Settings.On("checkpointing") || w.wanted.On("checkpointing") || !strings.Contains(logged(s), "checkpointing stays false: load plan: the test's GPU has too little memory") {
		t.Errorf("checkpointing = %v, log: %s", s.Settings.On("checkpointing"), logged(s))
	}
}

var lostIterations = regexp.MustCompile(`; (\d+) iterations? lost$`)

func TestARunGoesOnAfterItsDeviceFailed(t *testing.T) {
	want := reference(t, 80)
	lost, short := &beside.LostError{During: "kernel loss"}, &beside.MemoryError{}
	for _, tt := range []struct {
		operation string
		n         int
		err       error
	}{
		{"run", 1, lost}, {"run", 2, lost}, {"run", 40, lost}, {"run", 63, short}, {"run", 90, errors.New("cuLaunchKernel: invalid value (1)")},
		{"load", 3, lost}, {"read", 120, lost}, {"read", 150, short}, {"write", 90, lost}, {"write", 60, short},
	} {
		name := fmt.Sprintf("%s %d", tt.operation, tt.n)
		d, opened := gpus(planted(tt.operation, tt.n, tt.err))
		w, err := stepping(t, d, "device=auto")
		if err != nil {
			t.Fatal(name, err)
		}
		got, _ := w.next(70)
		s := w.snapshot()
		match := lostIterations.FindStringSubmatch(s.Run.Failed)
		if match == nil || !strings.Contains(logged(s), s.Run.Failed) {
			t.Fatalf("%s: failed %q, log: %s", name, s.Run.Failed, logged(s))
		}
		gone, _ := strconv.Atoi(match[1])
		at := 0
		for at < len(got) && got[at] == want[at] {
			at++
		}
		if at < gone || !slices.Equal(got[at:], want[at-gone:len(got)-gone]) {
			t.Errorf("%s: from iteration %d on, after %d lost ones, the losses are not those of the copy", name, at, gone)
		}
		if s.Run.Device != "cpu" || s.Settings.Text(settings.Device) != "cpu" || w.wanted.Text(settings.Device) != "cpu" || s.State != profiles.Running {
			t.Errorf("%s: device %q, setting %q, asked for %q, %v", name, s.Run.Device, s.Settings.Text(settings.Device), w.wanted.Text(settings.Device), s.State)
		}
		if !slices.ContainsFunc(s.Alerts, func(a profiles.Alert) bool { return a.ID == "device-failed" }) {
			t.Errorf("%s: no alert: %v", name, s.Alerts)
		}
		if (*opened)[0].Closed == 0 {
			t.Errorf("%s: the backend is still open", name)
		}
		w.Close()
	}
}

func TestADeviceThatFailsAtTheStart(t *testing.T) {
	for _, tt := range []struct {
		operation string
		err       error
		says      string
	}{
		{"open", errDriver, "(222)"}, {"state", &beside.MemoryError{}, "too little memory; a smaller size or object_size needs less"},
		{"load", &beside.MemoryError{}, "too little memory"}, {"load", &beside.LostError{During: "kernel fill"}, "lost, during kernel fill"},
	} {
		d, _ := gpus(planted(tt.operation, 1, tt.err))
		_, err := stepping(t, d, "device=cuda")
		var lacking *workload.LackingError
		if err == nil || !errors.As(err, &lacking) || !strings.HasPrefix(err.Error(), "device = cuda: ") || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: device = cuda: error %v, want %q", tt.operation, err, tt.says)
		}
		d, _ = gpus(planted(tt.operation, 1, tt.err))
		w, err := stepping(t, d, "device=auto")
		if err != nil {
			t.Errorf("%s: device = auto: %v", tt.operation, err)
			continue
		}
		w.next(2)
		if s := w.snapshot(); s.Run.Device != "cpu" || !strings.Contains(logged(s), "computed on the CPU: ") || !strings.Contains(logged(s), tt.says) {
			t.Errorf("%s: device = auto: run on %q, log: %s", tt.operation, s.Run.Device, logged(s))
		}
		if reason := w.snapshot().Run.GPUReason; !strings.Contains(reason, tt.says) || strings.Contains(reason, "computed on") {
			t.Errorf("%s: device = auto: the reason for the CPU is %q, want %q", tt.operation, reason, tt.says)
		}
	}
}

// A fork's comparison may move the run to a device that fails: the run is then where the fork began.
func TestAForkOnADeviceThatFails(t *testing.T) {
	want := reference(t, 40)
	d, _ := gpus(planted("run", 30, &beside.LostError{During: "kernel loss"}))
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	w.set("device", "cpu")
	got, _ := w.next(7)
	if err := w.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "device", Value: "cuda"}}, At: w.loop.index}); err != nil {
		t.Fatal(err)
	}
	more, _ := w.next(20)
	s := w.snapshot()
	if s.Run.Failed == "" || !strings.Contains(logged(s), "fork of device ended: the device failed") {
		t.Fatalf("failed %q, log: %s", s.Run.Failed, logged(s))
	}
	if got = append(got, more...); !slices.Equal(got, want[:len(got)]) {
		t.Error("the run did not go on from where the fork began")
	}
}

func TestTF32NeedsAGPU(t *testing.T) {
	const says = "amp = tf32: only a GPU multiplies in TF32: must be off, bf16, bf16x3 or fp16 on the CPU"
	for _, device := range []string{"cpu", "auto"} {
		_, err := stepping(t, workloads.NoGPU("no CUDA device: none"), "amp=tf32", "device="+device)
		if err == nil || err.Error() != says {
			t.Errorf("device = %s: error %v", device, err)
		}
	}
	d, _ := gpus(nil)
	w, err := stepping(t, d, "device=cpu")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Set("amp", "tf32"); err == nil || err.Error() != says {
		t.Errorf("on the CPU: error %v", err)
	}
	if err := w.Set("device", "cuda"); err != nil {
		t.Error(err)
	}
	if err := w.Set("amp", "tf32"); err != nil {
		t.Error(err)
	}
	if err := w.Set("device", "cpu"); err == nil || err.Error() != says {
		t.Errorf("back to the CPU: error %v", err)
	}
}

// A checkpoint of a run on a GPU resumes on the CPU from the same weights if --device names it.
func TestACheckpointGoesOnOnAnotherDevice(t *testing.T) {
	want := reference(t, 30)
	d, _ := gpus(nil)
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	w.next(13)
	path := checkpointed(t, w.Run)
	for _, tt := range []struct {
		device  string
		devices workloads.Devices
		refuse  string
	}{
		{"cpu", workloads.NoGPU("no CUDA device: none"), ""}, {"auto", workloads.NoGPU("no CUDA device: none"), ""}, {"cuda:1", d, ""},
		{"cuda", workloads.NoGPU("no CUDA device: none"), "device = cuda: no CUDA device: none; use auto or cpu"},
	} {
		c := reopened(t, path)
		v, err := c.Settings.Set("device", tt.device)
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(t.Context(), Options{Maker: workloads.PRISM(tt.devices), Settings: v, Resume: c, Stream: stream.New(1 << 10)})
		if tt.refuse != "" {
			if err == nil || err.Error() != tt.refuse {
				t.Errorf("%s: error %v", tt.device, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(tt.device, err)
		}
		got, _ := (&watched{t: t, Run: r}).next(17)
		if !slices.Equal(got, want[13:]) {
			t.Errorf("%s: the losses are not those that follow", tt.device)
		}
		r.Close()
	}
}

// A fork ends if the device refuses its other setting, and the run continues.
func TestAForkThatTheDeviceRefusesEnds(t *testing.T) {
	want := reference(t, 30)
	d, _ := gpus(planted("open", 2, errDriver))
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	w.set("device", "cpu")
	got, _ := w.next(7)
	if err := w.Do(profiles.Command{Kind: profiles.ForkCommand, Settings: []settings.Assignment{{Key: "device", Value: "cuda"}}, At: w.loop.index}); err != nil {
		t.Fatal(err)
	}
	more, _ := w.next(13)
	if got = append(got, more...); !slices.Equal(got, want[:len(got)]) {
		t.Error("the run did not go on as before")
	}
	if s := w.snapshot(); s.Run.Device != "cpu" || s.Run.Failed != "" || !strings.Contains(logged(s), "fork of device ended: opening the GPU") {
		t.Errorf("on %q, log: %s", s.Run.Device, logged(s))
	}
}

// A field that the GPU cannot transform is computed on the CPU, or refused where the GPU was asked for.
func TestAFieldTooLargeForTheDevice(t *testing.T) {
	const says = "the GPU transforms lines of at most 8 pixels"
	d, opened := gpus(nil)
	open := d.GPU
	d.GPU = func(device string) (nn.Backend, error) {
		b, err := open(device)
		if b, ok := b.(*beside.Backend); ok {
			b.Longest = 8
		}
		return b, err
	}
	w, err := stepping(t, d, "device=auto")
	if err != nil {
		t.Fatal(err)
	}
	w.next(2)
	if s := w.snapshot(); s.Run.Device != "cpu" || !strings.Contains(strings.Join(s.Run.Notes, "; "), says) {
		t.Errorf("on %q, with the notes %q", s.Run.Device, s.Run.Notes)
	}
	w.set("device", "cuda")
	w.next(1)
	if s := w.snapshot(); s.Run.Device != "cpu" || s.Settings.Text("device") != "auto" || !strings.Contains(logged(s), says) {
		t.Errorf("on %q, device = %s: %s", s.Run.Device, s.Settings.Text("device"), logged(s))
	}
	if _, err := stepping(t, d, "device=cuda"); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want %q", err, says)
	}
	for i, b := range *opened {
		if b.Closed != 1 {
			t.Errorf("backend %d was closed %d times", i, b.Closed)
		}
	}
}
