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
	w.loop.run.options.Metrics, w.loop.comparing, reads = time.Nanosecond, 0, 0
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
	if err := w.Restart(); err != nil {
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
