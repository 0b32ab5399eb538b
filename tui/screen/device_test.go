package screen

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/colorprofile"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/sim/prism"
	"prismtop/tui/tuitest"
)

// lacking is a run on a machine that lacks some values of settings.
type lacking struct {
	*tuitest.Recorder
	values []string
	asked  []string
}

// onMachine is a screen of a run on a machine that lacks some values.
func onMachine(t *testing.T, s *profiles.Snapshot, lacks ...string) (*Model, *lacking) {
	t.Helper()
	run := &lacking{Recorder: tuitest.NewRecorder(), values: lacks}
	m, _ := screen(t, 120, 40, Options{}, colorprofile.ANSI256, s)
	m.seat.source = run
	return m, run
}

func (r *lacking) Do(c profiles.Command) error {
	if len(c.Settings) == 0 {
		return nil
	}
	r.asked = append(r.asked, c.Settings[0].Value)
	if slices.Contains(r.values, c.Settings[0].Value) {
		return errors.New(c.Settings[0].Key + " = " + c.Settings[0].Value + ": not here")
	}
	return nil
}

// on is a snapshot of a run with a setting device, computed on a device.
func on(setting, device string) *profiles.Snapshot {
	s := tuitest.Trainer()
	tuitest.Set(s, "device", setting)
	s.Run.Device = device
	return s
}

func TestOneKeySwitchesBetweenTheProcessorAndTheGPU(t *testing.T) {
	for _, tt := range []struct{ setting, device, want string }{
		{"auto", "cpu", "cuda"}, {"cpu", "cpu", "cuda"}, {"auto", "cuda", "cpu"}, {"cuda", "cuda", "cpu"}, {"cuda:1", "cuda", "cpu"},
	} {
		m, run := onMachine(t, on(tt.setting, tt.device))
		if press(m, "U"); !slices.Equal(run.asked, []string{tt.want}) {
			t.Errorf("device = %s on %s: U asked for %q, want %s", tt.setting, tt.device, run.asked, tt.want)
		}
	}
}

func TestTheKeyComesBackToTheSameGPU(t *testing.T) {
	m, run := onMachine(t, on("cuda:1", "cuda"))
	if press(m, "U", "U"); !slices.Equal(run.asked, []string{"cpu", "cuda:1"}) {
		t.Errorf("asked for %q", run.asked)
	}
}

func TestAMissingGPUIsRefusedWithItsReason(t *testing.T) {
	m, _ := onMachine(t, on("auto", "cpu"), "cuda")
	if press(m, "U"); m.status.text != "device stays auto: not here" || !m.status.bad {
		t.Errorf("the screen says %q", m.status.text)
	}
}

// The reason of a refusal can be read on a narrow screen: without what would be right, or else in the log.
func TestARefusalCanBeReadOnANarrowScreen(t *testing.T) {
	const brief, long = "no CUDA device: libcuda.so.1 not found", "NVIDIA GeForce GTX 1080 Ti: compute capability 6.1: the kernels need 7.5 or later"
	for _, tt := range []struct {
		w            int
		reason, want string
		logged       bool
	}{
		{120, brief, "device stays auto: " + brief + "; use auto or cpu", false},
		{80, brief, "device stays auto: " + brief, false},
		{60, brief, "device stays auto: " + brief, false},
		{120, long, "device stays auto: " + long, false},
		{80, long, "device stays auto: NVIDIA GeForce GTX 1080 Ti: compute capability 6.1: … (log)", true},
	} {
		m, r := screen(t, tt.w, 24, Options{}, colorprofile.ANSI256, on("auto", "cpu"))
		r.Refuse = errors.New("device = cuda: " + tt.reason + "; use auto or cpu")
		press(m, "U")
		if got := strings.TrimSpace(lastLine(m)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("at %d columns: %q, want %q", tt.w, got, tt.want)
		}
		lines := m.within(m.snap).Log
		logged := len(lines) > 0 && lines[len(lines)-1].Text == "device stays auto: "+tt.reason+"; use auto or cpu"
		if logged != tt.logged {
			t.Errorf("at %d columns: %q is in the log: %v", tt.w, tt.reason, logged)
		}
	}
}

// The settings pane and the help say why auto is the CPU, and nothing where the user chose it.
func TestTheScreenSaysWhyAutoIsTheCPU(t *testing.T) {
	for _, w := range []int{80, 120} {
		for _, setting := range []string{"auto", "cpu"} {
			s := on(setting, "cpu")
			s.Run.GPUReason = "no CUDA device: libcuda.so.1 not found"
			m, _ := screen(t, w, 40, Options{}, colorprofile.ANSI256, s)
			press(m, ",")
			settingsIn(m).Select(settings.Decide) // the row above
			m.Update(downKey)
			if frame := seen(m); strings.Contains(frame, "auto is the CPU: "+s.Run.GPUReason) != (setting == "auto") {
				t.Errorf("%d columns, device = %s:\n%s", w, setting, frame)
			}
			if m.Update(upKey); settingsIn(m).Selected() != settings.Decide {
				t.Fatalf("%s is selected", settingsIn(m).Selected())
			}
			if frame := seen(m); strings.Contains(frame, "no CUDA device: libcuda.") != (setting == "auto") {
				t.Errorf("%d columns, device = %s, not selected:\n%s", w, setting, frame)
			}
			help := ""
			for _, line := range m.help.noteLines(70) {
				help += line.Text + " "
			}
			if strings.Contains(help, "The device auto is the CPU: "+s.Run.GPUReason+".") != (setting == "auto") {
				t.Errorf("%d columns, device = %s: %s", w, setting, help)
			}
		}
	}
}

// The lists of values mark those that this machine lacks, with the reason, unless the next run may have them.
func TestTheListsMarkWhatTheMachineLacks(t *testing.T) {
	const noGPU, noTF32 = "no CUDA device: libcuda.so.1 not found", "not available on a CPU"
	for _, tt := range []struct {
		setting, device, reason, list string
		want                          []string
	}{
		{"auto", "cpu", noGPU, "amp", []string{"5 – tf32        " + noTF32, "4 ○ fp16 "}},
		{"cpu", "cpu", "", "amp", []string{"5 – tf32        " + noTF32}},
		{"auto", "cuda", "", "amp", []string{"5 ○ tf32        10-bit products "}},
		{"cuda", "cpu", "", "amp", []string{"5 ○ tf32        10-bit products "}}, // asked for the next run
		{"auto", "cpu", noGPU, "device", []string{"1 ● auto ", "2 ○ cpu ", "3 – cuda        " + noGPU, "4 – cuda:1      " + noGPU}},
		{"cpu", "cpu", "", "device", []string{"1 ○ auto ", "2 ● cpu ", "3 ○ cuda "}},
	} {
		s := on(tt.setting, tt.device)
		s.Run.GPUReason, s.Run.Cautions = tt.reason, prism.Cautions(tt.device, "avx512")
		m, _ := screen(t, 80, 24, Options{}, colorprofile.ANSI256, s)
		press(m, ",")
		settingsIn(m).Select(tt.list)
		press(m, "enter")
		checkFrame(t, m, 80, 24)
		for _, want := range tt.want {
			if frame := seen(m); !strings.Contains(frame, want) {
				t.Errorf("device = %s on %s: the list of %s lacks %q:\n%s", tt.setting, tt.device, tt.list, want, frame)
			}
		}
		help := ""
		for _, line := range m.help.noteLines(70) {
			help += line.Text + " "
		}
		if lacks := tt.device == "cpu" && tt.setting != "cuda"; strings.Count(help, "AMP tf32 is "+noTF32+".") != map[bool]int{true: 1}[lacks] {
			t.Errorf("device = %s on %s: %s", tt.setting, tt.device, help)
		}
	}
}

// Going through the values of a setting leaves out those that the machine lacks.
func TestACycleLeavesOutWhatTheMachineLacks(t *testing.T) {
	s := on("auto", "cpu")
	tuitest.Set(s, "amp", "fp16")
	m, run := onMachine(t, s, "tf32")
	if m.knobs.nudge("amp", true); !slices.Equal(run.asked, []string{"tf32", "off"}) || !strings.HasPrefix(m.status.text, "AMP: fp16 → off") {
		t.Errorf("asked for %q, the screen says %q", run.asked, m.status.text)
	}
	m, _ = onMachine(t, s, "off", "bf16", "bf16x3", "tf32")
	if m.knobs.nudge("amp", true); m.status.text != "AMP stays fp16: amp = tf32: not here" {
		t.Errorf("with nothing else: %q", m.status.text)
	}
}
