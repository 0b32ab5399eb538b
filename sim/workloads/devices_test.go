package workloads

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles/preset"
	"prismtop/profiles/stream"
	"prismtop/sim"
	"prismtop/sim/cpu"
	"prismtop/sim/nn"
)

// borrowed is a backend under another device's name; it counts what is open.
type borrowed struct {
	nn.Backend
	open *int
}

func (b borrowed) Device() string { return "cuda" }
func (b borrowed) Close()         { *b.open--; b.Backend.Close() }

// A run computes on the device that its settings name, and closes it.
func TestSettingsChooseTheDevice(t *testing.T) {
	open := 0
	var asked []string
	lend := func(device string) (nn.Backend, error) {
		asked = append(asked, device)
		b, err := cpu.New(cpu.Options{Threads: 1})
		if err != nil {
			return nil, err
		}
		open++
		return borrowed{b, &open}, nil
	}
	gpu, none := Devices{GPU: lend}, NoGPU("no CUDA device: none")
	broken := Devices{GPU: func(string) (nn.Backend, error) { return nil, errors.New("out of memory") }}
	for _, tt := range []struct {
		setting      string
		devices      Devices
		want, refuse string
	}{
		{"cuda", gpu, "cuda", ""}, {"auto", gpu, "cuda", ""}, {"cpu", gpu, "cpu", ""},
		{"cuda:1", gpu, "cuda", ""}, {"auto", broken, "cpu", ""},
		{"auto", none, "cpu", ""}, {"auto", Devices{}, "cpu", ""},
		{"cuda", none, "", "device = cuda: no CUDA device: none"},
		{"cuda", Devices{}, "", "device = cuda: this program has no backend for GPUs"},
		{"cuda:1", none, "", "device = cuda:1: no CUDA device: none"},
		{"cuda", broken, "", "device = cuda: out of memory"},
	} {
		v, _, err := preset.Resolve(preset.Sources{Shelves: Presets(), Preset: "baseline", Sets: []string{
			"device=" + tt.setting, "size=32", "object_size=16", "radius=4", "samples=2", "iterations=2", "cycles=1", "init_iterations=2", "init_cycles=1", "threads=1",
		}})
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.New(t.Context(), sim.Options{Maker: PRISM(tt.devices), Settings: v, Stream: stream.New(64)})
		if tt.refuse != "" {
			if err == nil || !strings.Contains(err.Error(), tt.refuse) {
				t.Errorf("%s: the error is %v, want %q", tt.setting, err, tt.refuse)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.setting, err)
			continue
		}
		if got := r.Info().Device; got != tt.want {
			t.Errorf("%s: the run is on %q, want %q", tt.setting, got, tt.want)
		}
		r.Start(t.Context())
		if err := r.Wait(); err != nil {
			t.Errorf("%s: %v", tt.setting, err)
		}
		r.Close()
		if open != 0 {
			t.Errorf("%s: %d backends are still open", tt.setting, open)
		}
	}
	if want := []string{"cuda", "auto", "cuda:1"}; !slices.Equal(asked, want) {
		t.Errorf("opened %q, want %q", asked, want)
	}
}
