package doctor

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"prismtop/profiles/machine"
)

func someOptions(env ...string) Options {
	return Options{
		Version: "1.2.3",
		CPU: machine.CPU{Model: "Test CPU", Arch: "amd64", Logical: 2, Features: []string{"avx2", "fma"}, Sets: []machine.Support{
			{Name: "amx", Reason: "the processor or the operating system does not offer amx-tile"},
			{Name: "avx2", Available: true},
		}},
		Kernels: []string{"go"}, Using: "go", Threads: 2,
		GPU: machine.GPU{Reason: "no CUDA device: libcuda.so.1 not found"},
		Env: env,
	}
}

func text(t *testing.T, f Facts) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportGivesReasonsForWhatIsMissing(t *testing.T) {
	got := text(t, Gather(someOptions("TERM=xterm-256color", "LANG=en_GB.UTF-8")))
	for _, want := range []string{
		"1.2.3", "Test CPU · amd64 · 2 logical", "avx2 fma", "go on 2 threads",
		"amx: no, the processor or the operating system does not offer amx-tile",
		"avx2: no, the processor offers it, this build has no kernels for it",
		"bf16: exact, but rounded in software",
		"not used: no CUDA device: libcuda.so.1 not found",
		"stdout is no terminal", "TERM xterm-256color", "UTF-8: yes (LANG=en_GB.UTF-8)",
		"synchronized output: unknown",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

// What to set depends on what multiplies: a GPU, native instructions for bf16, or neither.
func TestSetupFollowsTheMachine(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"leave amp off":               func(*Options) {},
		"natively: prismtop bench":    func(o *Options) { o.Using = "amx" },
		"bench amp --set device=cuda": func(o *Options) { o.GPU = machine.GPU{Usable: true} },
	} {
		o := someOptions()
		change(&o)
		if got := text(t, Gather(o)); !strings.Contains(got, want) || !strings.Contains(got, "no batch to tune") {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

func TestReportOnKernelsOfThisBuild(t *testing.T) {
	o := someOptions()
	o.Kernels, o.Using = []string{"go", "avx2"}, "avx2"
	if got := text(t, Gather(o)); !strings.Contains(got, "avx2 on 2 threads") || strings.Contains(got, "avx2: ") {
		t.Errorf("kernels in use are also listed as missing:\n%s", got)
	}
	o.Using = "go"
	if got := text(t, Gather(o)); !strings.Contains(got, "avx2: available, not in use") {
		t.Errorf("kernels that were not chosen are not listed:\n%s", got)
	}
	o.Using = "amx"
	for _, mode := range Gather(o).Engine.AMP {
		if mode.Native != (mode.Name != "fp16") {
			t.Errorf("under AMX: %+v", mode)
		}
	}
}

func TestReportOnRoofs(t *testing.T) {
	o := someOptions()
	if got := text(t, Gather(o)); strings.Contains(got, "roofs") {
		t.Errorf("roofs that were not measured are shown:\n%s", got)
	}
	o.Roofs = Roofs{GFLOPS: 300, Levels: []Level{{Bytes: 2 << 20, Read: 100, Update: 130}}, Measured: time.Unix(0, 0).UTC()}
	got := text(t, Gather(o))
	for _, want := range []string{"300 GFLOP/s on registers, measured 1970-01-01", "2 MiB: 100 GB/s read, 130 GB/s updated"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
	for bf16, want := range map[float64]string{
		200: "200 GFLOP/s of bf16 dot products on registers: 0.67 of float32's, so avx512-bf16 gains nothing\n",
		540: "540 GFLOP/s of bf16 dot products on registers: 1.80 times float32's, for which auto takes avx512-bf16\n",
	} {
		o.Roofs.BF16 = bf16
		if got := text(t, Gather(o)); !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
	o.Roofs.BF16 = 0
	// the note about the measurement is below its figures
	o.Roofs.Note = "the roofs are doubtful and not kept: other programs took 60 % of the processors while they were measured"
	if got := text(t, Gather(o)); !strings.Contains(got, "130 GB/s updated\n           "+o.Roofs.Note+"\n") {
		t.Errorf("report lacks the note on the roofs:\n%s", got)
	}
	o.Roofs.BF16 = 6 // of a measurement that is doubtful follows nothing
	if got := text(t, Gather(o)); strings.Contains(got, "gains nothing") || !strings.Contains(got, "registers: 0.02 of float32's\n") {
		t.Errorf("something follows from doubtful roofs:\n%s", got)
	}
}

func TestReportQuotesAdviceWithItsDate(t *testing.T) {
	o := someOptions()
	at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	o.Advice.Found = []Advised{
		{Measured: at, Version: "1.0", Mode: "bf16", Size: "512/128", Sentence: "amp = bf16 at 512/128: do not use it."},
		{Measured: at, Version: "1.0", Mode: "fp16", Size: "512/128", Sentence: "amp = fp16 at 512/128: \x1bdo not use it."},
	}
	got := text(t, Gather(o))
	if !strings.Contains(got, "measured on this machine on 2026-11-22 by prismtop 1.0:\n             amp = bf16 at 512/128: do not use it.\n             amp = fp16 at 512/128: ") ||
		strings.Contains(got, "\x1b") {
		t.Errorf("%s", got)
	}
	o.Advice = Advice{Reason: "speed and risk were not measured on this machine: prismtop bench amp"}
	if got := text(t, Gather(o)); !strings.Contains(got, "\n           speed and risk were not measured on this machine: prismtop bench amp\n") {
		t.Errorf("%s", got)
	}
}

func TestReportOnGPU(t *testing.T) {
	o := someOptions()
	o.GPU = machine.GPU{Reason: "r", CUDA: "13.0", Driver: "580.1", Devices: []machine.GPUDevice{
		{Name: "A", Capability: "9.0", TotalBytes: 1 << 37, FreeBytes: 1 << 36},
		{Name: "B", Capability: "8.0", TotalBytes: 1 << 34, FreeReason: "no NVML"},
	}}
	got := text(t, Gather(o))
	for _, want := range []string{"driver 580.1, CUDA 13.0", "A · compute capability 9.0 · 137 GB for programs · 68.7 GB free", "B · compute capability 8.0 · 17.2 GB for programs · free memory unknown: no NVML"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
}

func TestReportHasEverySensorOrItsReason(t *testing.T) {
	o := someOptions()
	o.Sensors = machine.Sensors{Reason: "libnvidia-ml.so.1 not found", Processors: machine.Missing("no RAPL on this machine")}
	got := text(t, Gather(o))
	for _, want := range []string{"of GPUs: none, libnvidia-ml.so.1 not found", "energy of the processors: n/a, no RAPL on this machine"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
	g := machine.GPUSensors{Name: "A", MemoryUsed: machine.Reading(624 << 20), MemoryReserved: machine.Reading(565 << 20), MemoryTotal: machine.Reading(81559 << 20), Power: machine.Reading(73.25), Energy: machine.Reading(5073.25),
		PowerLimit: machine.Missing("NVML: no permission (4)"), Temperature: machine.Missing("NVML: not supported on this device (3)"), Throttle: []string{"idle"}, Sent: machine.Reading(8.5e5),
		Processes: []machine.GPUProcess{{ID: 1, Bytes: machine.Reading(1 << 20)}}}
	o.Sensors = machine.Sensors{GPUs: []machine.GPUSensors{g}, Processors: machine.Reading(0)}
	got = text(t, Gather(o))
	for _, want := range []string{"GPU 0, A", "memory: 1.25 GB of 85.5 GB used", "driver: 592 MB of the memory used", "power: 73.2 W (the rest n/a, NVML: no permission (4))", "temperature: n/a, NVML: not supported on this device (3)",
		"held down by: idle", "PCIe sent: 850 KB/s", "fan: n/a, not read", "processes: 1, 1.05 MB", "energy: 5.07 kJ since the driver was loaded", "energy of the processors: counted by RAPL"} {
		if !strings.Contains(got, want) {
			t.Errorf("report lacks %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, ": "); n < 17 {
		t.Errorf("%d sensors:\n%s", n, got)
	}
}

func TestTerminal(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		want func(Terminal) bool
	}{
		{"ssh", []string{"SSH_TTY=/dev/pts/1"}, func(t Terminal) bool { return t.SSH }},
		{"no ssh", nil, func(t Terminal) bool { return !t.SSH }},
		{"tmux", []string{"TMUX=/x"}, func(t Terminal) bool { return t.Multiplexer == "tmux" }},
		{"screen", []string{"STY=1"}, func(t Terminal) bool { return t.Multiplexer == "screen" }},
		{"NO_COLOR", []string{"NO_COLOR=1"}, func(t Terminal) bool { return t.NoColor }},
		{"NO_COLOR empty", []string{"NO_COLOR="}, func(t Terminal) bool { return !t.NoColor }},
		{"NO_COLOR with any value", []string{"TTY_FORCE=1", "TERM=xterm-256color", "NO_COLOR=yes"}, func(t Terminal) bool {
			return t.Colors == "none" && t.Pictures == "braille"
		}},
		{"24-bit colours", []string{"TTY_FORCE=1", "TERM=xterm-256color", "COLORTERM=truecolor"}, func(t Terminal) bool {
			return t.Colors == "truecolor" && strings.Contains(t.Pictures, "24-bit colours, 64 greys")
		}},
		{"256 colours", []string{"TTY_FORCE=1", "TERM=xterm-256color"}, func(t Terminal) bool {
			return t.Colors == "256" && strings.Contains(t.Pictures, "24 greys")
		}},
		{"LC_ALL wins", []string{"LANG=de_DE.UTF-8", "LC_ALL=C"}, func(t Terminal) bool {
			return !t.UTF8 && t.Locale == "LC_ALL=C" && len(t.Advice) == 1
		}},
		{"utf8 spelt otherwise", []string{"LC_CTYPE=en_US.utf8"}, func(t Terminal) bool { return t.UTF8 && len(t.Advice) == 0 }},
		{"no locale", nil, func(t Terminal) bool { return !t.UTF8 && t.Locale == "none set" }},
		{"not a terminal", []string{"TERM=xterm"}, func(t Terminal) bool { return !t.Interactive && t.Reason != "" && t.Colors == "none" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := terminal(nil, test.env); !test.want(got) {
				t.Errorf("terminal = %+v", got)
			}
		})
	}
}

func TestAdviceOnSmallAndPoorTerminals(t *testing.T) {
	small := Terminal{Interactive: true, Width: 59, Height: 15, UTF8: true, Colors: "truecolor"}
	poor := Terminal{Interactive: true, Width: 80, Height: 24, UTF8: true, Colors: "16"}
	good := Terminal{Interactive: true, Width: 60, Height: 15, UTF8: true, Colors: "256"}
	if a := small.advise(); len(a) != 1 || !strings.Contains(a[0], "60x15") {
		t.Errorf("small: %q", a)
	}
	if a := poor.advise(); len(a) != 1 || !strings.Contains(a[0], "few colours") {
		t.Errorf("poor: %q", a)
	}
	inside, far := good, good
	inside.Multiplexer, far.SSH = "tmux", true
	if a := inside.advise(); len(a) != 1 || !strings.Contains(a[0], "terminal-features") {
		t.Errorf("inside tmux: %q", a)
	}
	if a := far.advise(); len(a) != 1 || !strings.Contains(a[0], "COLORTERM") {
		t.Errorf("over SSH: %q", a)
	}
	if a := good.advise(); len(a) != 0 {
		t.Errorf("good: %q", a)
	}
}

func TestJSONKeepsReasonsBesideNulls(t *testing.T) {
	var b bytes.Buffer
	if err := Gather(someOptions()).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var got map[string]map[string]any
	var schema struct{ Schema int }
	if err := json.Unmarshal(b.Bytes(), &schema); err != nil || schema.Schema != 1 {
		t.Fatal(err, schema)
	}
	trimmed := bytes.Replace(b.Bytes(), []byte(`"schema": 1,`), nil, 1)
	if err := json.Unmarshal(trimmed, &got); err != nil {
		t.Fatal(err)
	}
	if v, ok := got["terminal"]["synchronized_output"]; !ok || v != nil || got["terminal"]["synchronized_output_reason"] == "" {
		t.Errorf("terminal = %v", got["terminal"])
	}
	if got["gpu"]["usable"] != false || got["gpu"]["reason"] == "" {
		t.Errorf("gpu = %v", got["gpu"])
	}
}

func TestGatherOnThisMachine(t *testing.T) {
	o := someOptions(os.Environ()...)
	o.Out = os.Stdout
	f := Gather(o)
	if f.Memory.Total == 0 && f.Memory.Reason == "" {
		t.Errorf("memory = %+v", f.Memory)
	}
	t.Log("\n" + text(t, f))
}

// Every generation of GPUs has a line, and those of this machine are marked.
func TestGenerationsOfGPUs(t *testing.T) {
	facts := Gather(Options{GPU: machine.GPU{Usable: true, Devices: []machine.GPUDevice{{Capability: "7.5"}, {Capability: "12.0"}, {Capability: "8.9"}}}})
	var text bytes.Buffer
	if err := facts.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Turing (RTX 20xx, GTX 16xx, T4; 7.5, here): fp16", "Volta (V100; 7.0 and 7.2): not supported", "Ampere (A100, A10, RTX 30xx; 8.0 to 8.7): bf16",
		"Ada (L4, L40, RTX 40xx; 8.9, here)", "Blackwell (B200, RTX 50xx; 10.0 to 12.1, here)"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, text.String())
		}
	}
}
