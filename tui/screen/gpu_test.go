package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/profilestest"
	"prismtop/tui/layout"
	"prismtop/tui/tuitest"
)

// The golden screens of runs with a GPU show the values of the library that stands in for NVML, and say so in their names.
func TestGoldenScreensWithAMockGPU(t *testing.T) {
	profilestest.OneGoroutine(t)
	for _, tt := range []struct {
		name string
		snap func() *profiles.Snapshot
		zoom layout.Pane
		keys []string
	}{
		{"mock-gpu", tuitest.OnGPU, layout.None, nil}, {"mock-gpu-memory", tuitest.OnGPU, layout.None, []string{"w", "w", "w", "w"}},
		{"mock-gpu-cpu-run", tuitest.BesideGPU, layout.None, nil}, {"mock-gpu-cpu-run-memory", tuitest.BesideGPU, layout.None, []string{"w", "w", "w", "w"}},
		{"mock-gpu-zoom", tuitest.OnGPU, idGPU, nil}, {"mock-gpus-zoom", tuitest.OnOneOfTwoGPUs, idGPU, []string{"down"}},
		{"mock-gpu-zoom-ledger", tuitest.OnGPU, idMemory, nil}, {"mock-gpu-zoom-effects", tuitest.OnGPU, idEffects, []string{"down"}},
	} {
		for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
			name := fmt.Sprintf("%s-%dx%d", tt.name, size[0], size[1])
			t.Run(name, func(t *testing.T) {
				m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, tt.snap())
				if tt.zoom != layout.None {
					m = zoomed(t, size[0], size[1], tt.zoom, tt.snap(), tt.keys...)
				} else {
					press(m, tt.keys...)
				}
				checkFrame(t, m, size[0], size[1])
				tuitest.Golden(t, name, tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1])))
			})
		}
	}
}

// Small panes show the ledger's end and the most important sensors.
func TestGoldenSmallPanesWithAMockGPU(t *testing.T) {
	for _, size := range [][2]int{{38, 11}, {48, 9}, {36, 6}, {64, 15}} {
		for name, snap := range map[string]func() *profiles.Snapshot{"gpu": tuitest.OnGPU, "gpus": tuitest.OnOneOfTwoGPUs} {
			for _, id := range []layout.Pane{idGPU, idMemory} {
				m, _ := screen(t, 120, 40, Options{}, colorprofile.ASCII, snap())
				pane := m.panes[id]
				pane.SetSize(size[0], size[1])
				golden := fmt.Sprintf("mock-%s-pane-%s-%dx%d", name, deck.Panes[id].Name, size[0], size[1])
				t.Run(golden, func(t *testing.T) {
					tuitest.Golden(t, golden, tuitest.Shown(tuitest.Cells(strings.Join(tuitest.Lines(pane), "\n"), size[0], size[1])))
				})
			}
		}
	}
}

// The pane of GPUs is there as soon as there is one, and the list of panes says why there is none.
func TestThePaneOfGPUsComesWithTheFirstReading(t *testing.T) {
	m, _ := screen(t, 200, 60, Options{}, colorprofile.ANSI256, tuitest.Running())
	arrange(m, "everything")
	if !m.layout.Panes[idGPU].Empty() {
		t.Error("the pane is there before a reading")
	}
	s := tuitest.Running()
	s.Sensors.Reason = "libnvidia-ml.so.1 not found"
	m.Update(snapshotMsg{s})
	press(m, "P")
	if frame := frameOf(m); !strings.Contains(frame, "none: libnvidia-ml.so.1") {
		t.Errorf("the list does not say why there is none:\n%s", frame)
	}
	showOrHide(m, idGPU)
	if !strings.Contains(m.status.text, "libnvidia-ml.so.1 not found") {
		t.Errorf("asked for the pane: %q", m.status.text)
	}
	press(m, "esc")
	m.Update(snapshotMsg{tuitest.BesideGPU()})
	if m.layout.Panes[idGPU].Empty() {
		t.Error("the pane does not come with the first reading")
	}
	if frame := frameOf(m); !strings.Contains(frame, "not used by this run") || !strings.Contains(frame, "0.70 of 85.5 GB used, 0 by this run") {
		t.Errorf("a run on the processor:\n%s", frame)
	}
}

// Changing digits do not move their neighbours in the panes of a GPU.
func TestNothingJumpsWhenSensorsChange(t *testing.T) {
	a, b := tuitest.OnGPU(), tuitest.OnGPU()
	g := &b.Sensors.GPUs[0]
	g.Utilisation.Value, g.Power.Value, g.MemoryUsed.Value = 0.04, 73, 20*(1<<30)
	b.Memory.Device.Activations -= 300 << 20
	for _, size := range [][2]int{{80, 24}, {120, 40}, {200, 60}} {
		frames := [2]string{}
		for i, s := range []*profiles.Snapshot{a, b} {
			m, _ := screen(t, size[0], size[1], Options{}, colorprofile.ANSI256, s)
			press(m, "w", "w", "w", "w")
			frames[i] = tuitest.Shown(tuitest.Cells(m.View().Content, size[0], size[1]))
		}
		for _, word := range []string{"│", "╭", "driver", "unexplained", "of 700 W", "clocks", "host"} {
			if x, y := columns(frames[0], word), columns(frames[1], word); x != y {
				t.Errorf("%v: %q moved from %s to %s", size, word, x, y)
			}
		}
	}
}
