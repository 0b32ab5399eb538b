package sim

import (
	"slices"
	"strings"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/settings"
	"prismtop/profiles/stream"
	"prismtop/sim/ablation"
	"prismtop/sim/nn/nntest/beside"
	"prismtop/sim/workloads"
)

// The settings of the CPU are judged by those that are restored, not by those of the arm in which the device failed.
func TestADeviceThatFailsDuringAnAblation(t *testing.T) {
	lost := false
	d, _ := gpus(func(operation string) error {
		if lost {
			return &beside.LostError{During: operation}
		}
		return nil
	})
	w, err := stepping(t, d, "device=cuda", "amp=tf32", "init_iterations=0", "iterations=1000000")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Ablate(ablation.Options{Rounds: 1000, Least: 4, Time: time.Millisecond, Only: []string{"amp"}}); err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		if w.loop.settings.Text("amp") != "tf32" {
			break
		}
		w.next(1)
	}
	if amp := w.loop.settings.Text("amp"); amp == "tf32" {
		t.Fatal("the ablation did not switch amp")
	}
	lost = true
	w.next(3)
	if s := w.snapshot(); s.Run.Device != "cpu" || s.Settings.Text("amp") != "off" || w.wanted.Text("amp") != "off" || s.State != profiles.Running {
		t.Errorf("on %q, amp %q, asked for %q, %v: %s", s.Run.Device, s.Settings.Text("amp"), w.wanted.Text("amp"), s.State, logged(s))
	}
}

// A quality that could not be read is not published, and the run continues on the CPU.
func TestADeviceThatFailsWhileItIsCompared(t *testing.T) {
	reads := -1
	d, _ := gpus(func(operation string) error {
		if operation == "read" && reads >= 0 {
			if reads++; reads == 2 { // the first is of the loss
				return &beside.MemoryError{}
			}
		}
		return nil
	})
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	w.next(1) // the initialisation has four
	at := w.loop.index
	w.loop.view.every, w.loop.view.took, reads = time.Nanosecond, 0, 0
	if _, _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s := w.snapshot(); w.loop.recorded != at || s.Run.Device != "cpu" || !strings.Contains(s.Run.Failed, "too little memory") {
		t.Errorf("iteration %d was recorded, the run is on %q, failed %q", at, s.Run.Device, s.Run.Failed)
	}
	w.next(3)
}

// A run continues where its device fails right after it moved there.
func TestADeviceThatFailsRightAfterTheMove(t *testing.T) {
	want := reference(t, 20)
	for _, operation := range []string{"read", "run"} {
		d, _ := gpus(planted(operation, 1, &beside.LostError{During: operation}))
		w, err := stepping(t, d, "device=cpu")
		if err != nil {
			t.Fatal(err)
		}
		got, _ := w.next(8)
		w.set("device", "cuda")
		more, _ := w.next(8)
		if !slices.Equal(slices.Concat(got, more), want[:16]) {
			t.Errorf("%s: the run did not continue from where it moved", operation)
		}
		if s := w.snapshot(); s.Run.Device != "cpu" || !strings.HasSuffix(s.Run.Failed, "continuing on the CPU from the newest copy of the weights; 0 iterations lost") {
			t.Errorf("%s: on %q, failed %q", operation, s.Run.Device, s.Run.Failed)
		}
	}
}

// A card has no room for two runs: the old one is closed before the new one is opened.
func TestARestartOnAGPUStaysThere(t *testing.T) {
	var opened *[]*beside.Backend
	var d workloads.Devices
	d, opened = gpus(func(operation string) error {
		for _, b := range *opened {
			if operation == "open" && b.Closed == 0 {
				return &beside.MemoryError{}
			}
		}
		return nil
	})
	w, err := stepping(t, d, "device=auto")
	if err != nil {
		t.Fatal(err)
	}
	w.next(8)
	if err := w.Do(profiles.Command{Kind: profiles.RestartCommand}); err != nil {
		t.Fatal(err)
	}
	w.next(2)
	if s := w.snapshot(); s.Run.Device != "cuda" || s.Run.Failed != "" || len(*opened) != 2 {
		t.Errorf("on %q, %d backends opened: %s", s.Run.Device, len(*opened), logged(s))
	}
}

// Two names of one card are one device.
func TestTheSameCardIsOpenedOnce(t *testing.T) {
	d, opened := gpus(nil)
	d.Ordinal = func(device string) int { // the first card is too old
		if device == "cuda:2" {
			return 2
		}
		return 1
	}
	w, err := stepping(t, d, "device=auto")
	if err != nil {
		t.Fatal(err)
	}
	w.next(3)
	for _, device := range []string{"cuda", "cuda:1", "cuda"} {
		w.set("device", device)
		w.next(1)
	}
	if len(*opened) != 1 {
		t.Errorf("%d backends were opened", len(*opened))
	}
	w.set("device", "cuda:2")
	w.next(1)
	if len(*opened) != 2 {
		t.Errorf("%d backends were opened for two cards", len(*opened))
	}
}

// A change of the device shows what auto stood for.
func TestAChangeFromAutoNamesTheDevice(t *testing.T) {
	gpu, _ := gpus(nil)
	for _, tt := range []struct {
		devices        workloads.Devices
		from, to, want string
	}{
		{gpu, "auto", "cpu", "cuda→cpu"}, {gpu, "cpu", "auto", "cpu→cuda"}, {gpu, "auto", "cuda", "auto→cuda"}, {gpu, "cuda", "cpu", "cuda→cpu"},
		{workloads.NoGPU("no CUDA device: none"), "auto", "cpu", "auto→cpu"},
	} {
		events := stream.New(1 << 10)
		follower := events.Follow()
		r, err := New(t.Context(), Options{Maker: workloads.PRISM(tt.devices), Settings: configured(t, slices.Concat(movable, []string{"device=" + tt.from})...), Stream: events})
		if err != nil {
			t.Fatal(err)
		}
		w := &watched{t, r, aggregate.New(events.Follow(), aggregate.Options{})}
		w.next(2)
		w.set("device", tt.to)
		w.next(1)
		got := ""
		follower.Drain(func(e *profiles.Event) {
			if c, ok := e.Body.(*profiles.Changed); ok && c.Key == settings.Device {
				got = c.Before + "→" + c.After
			}
		})
		if got != tt.want {
			t.Errorf("%s→%s is shown as %q, want %q", tt.from, tt.to, got, tt.want)
		}
		r.Close()
	}
}

// What was asked for behind a change in which the device failed is carried out on the CPU, and so is the change.
func TestCommandsBehindAChangeThatFails(t *testing.T) {
	loads := 0
	d, _ := gpus(func(operation string) error {
		if operation == "load" {
			if loads++; loads == 2 {
				return &beside.LostError{During: operation}
			}
		}
		return nil
	})
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	w.next(2)
	w.set("amp", "bf16")
	w.set("learning_rate", "0.0025")
	if err := w.Do(profiles.Command{Kind: profiles.NoteCommand, By: "", Text: "seen"}); err != nil {
		t.Fatal(err)
	}
	w.next(2)
	s := w.snapshot()
	if v := s.Settings; s.Run.Device != "cpu" || v.Text("amp") != "bf16" || v.Number("learning_rate") != 0.0025 || v.Text("device") != "cpu" || len(s.Notes) != 1 {
		t.Errorf("on %q, with amp %s, learning rate %g, device %s, and %d notes: %s", s.Run.Device, v.Text("amp"), v.Number("learning_rate"), v.Text("device"), len(s.Notes), logged(s))
	}
	var changed []string
	for _, c := range s.Changes {
		changed = append(changed, c.Key)
	}
	if want := []string{"device", "amp", "learning_rate"}; !slices.Equal(changed, want) {
		t.Errorf("the changes are of %q, want %q", changed, want)
	}
	if n := len(s.Settings.Differing(w.wanted)); n > 0 || w.asking != 0 {
		t.Errorf("%d settings are not as asked for, and %d changes wait", n, w.asking)
	}
}

// A change that is refused does not return with those behind it.
func TestCommandsBehindARefusedChange(t *testing.T) {
	d, _ := gpus(planted("load", 2, &beside.MemoryError{}))
	w, err := stepping(t, d, "device=cuda")
	if err != nil {
		t.Fatal(err)
	}
	w.next(2)
	w.set("amp", "bf16")
	w.set("learning_rate", "0.0025")
	w.next(1)
	s := w.snapshot()
	if v := s.Settings; s.Run.Device != "cuda" || v.Text("amp") != "off" || v.Number("learning_rate") != 0.0025 || len(v.Differing(w.wanted)) > 0 {
		t.Errorf("on %q, with amp %s and learning rate %g: %s", s.Run.Device, v.Text("amp"), v.Number("learning_rate"), logged(s))
	}
}

// Units that are trained again after a failure count once.
func TestUnitsThatAreTrainedAgainCountOnce(t *testing.T) {
	var fail bool
	reads := 0
	d, _ := gpus(func(operation string) error {
		switch {
		case fail:
			return &beside.LostError{During: operation}
		case operation == "read" && reads < 100: // copying the state takes so long that it is not done again
			reads++
			time.Sleep(10 * time.Millisecond)
		}
		return nil
	})
	w, err := stepping(t, d, "device=cuda", "init_iterations=0", "iterations=2", "cycles=1")
	if err != nil {
		t.Fatal(err)
	}
	units := func() (all []int32) {
		for _, r := range w.snapshot().Results {
			all = append(all, r.Unit)
		}
		return all
	}
	w.next(11)
	if done := units(); !slices.Equal(done, []int32{0, 1, 2, 3, 4}) {
		t.Fatalf("units %d ended", done)
	}
	fail = true
	w.next(1)
	if s := w.snapshot(); s.Run.Device != "cpu" || len(s.Results) != len(w.loop.units.newest) || len(s.Results) >= 5 {
		t.Fatalf("on %q, %d units have ended, the loop has %d", s.Run.Device, len(s.Results), len(w.loop.units.newest))
	}
	for len(units()) < 7 {
		w.next(1)
	}
	if done := units(); !slices.Equal(done, []int32{0, 1, 2, 3, 4, 5, 6}) || len(w.loop.units.newest) != 7 {
		t.Errorf("units %d ended, the loop has %d", done, len(w.loop.units.newest))
	}
}
