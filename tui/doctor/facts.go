// Package doctor reports what this machine, its terminal and its GPU can do for the program, and
// the reason for everything they cannot do.
package doctor

import (
	"os"
	"runtime"
	"time"

	"prismtop/profiles/machine"
	"prismtop/tui/words"
)

// Options holds the facts that only the caller knows.
type Options struct {
	Version string // version of the program
	CPU     machine.CPU
	Kernels []string // kernels in this build: "go", …
	Using   string   // kernels in use
	Threads int
	Roofs   Roofs
	Advice  Advice
	GPU     machine.GPU
	Check   *GPUCheck // nil unless it was asked for
	Sensors machine.Sensors
	Out     *os.File // output on which the screen would be drawn
	Env     []string // environment, in the form of os.Environ
}

// Facts holds everything that the doctor found.
type Facts struct {
	Schema   int            `json:"schema"`
	Program  Program        `json:"program"`
	CPU      machine.CPU    `json:"cpu"`
	Engine   Engine         `json:"engine"`
	Memory   machine.Memory `json:"memory"`
	GPU      machine.GPU    `json:"gpu"`
	GPUCheck *GPUCheck      `json:"gpu_check,omitempty"` // of doctor --gpu
	Sensors  Sensors        `json:"sensors"`
	Terminal Terminal       `json:"terminal"`
}

// Sensors holds what the GPUs' sensors and the counters of energy show.
type Sensors struct {
	GPUs         []GPUSensors `json:"gpus"`
	Reason       string       `json:"reason,omitempty"`        // why there are none
	EnergyReason string       `json:"energy_reason,omitempty"` // why the processors' energy cannot be read
}

// GPUSensors holds what one GPU shows.
type GPUSensors struct {
	Name    string   `json:"name"`
	UUID    string   `json:"uuid,omitempty"`
	Sensors []Sensor `json:"sensors"`
}

// Sensor is one sensor, as a text with its unit.
type Sensor struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Reason string `json:"reason,omitempty"` // why the value, or a part of it, is missing
}

// Program describes the build of the program.
type Program struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	System  string `json:"system"` // "linux/amd64"
}

// Engine describes the computation.
type Engine struct {
	Kernels string            `json:"kernels"`
	Threads int               `json:"threads"`
	Faster  []machine.Support `json:"faster"` // kernels for this processor's instruction sets: in use, or why not
	AMP     []Mode            `json:"amp"`
	Roofs   Roofs             `json:"roofs"`
	Advice  Advice            `json:"amp_advice"` // what bench amp found on this machine with these kernels and threads
	Models  []Generation      `json:"gpu_models"` // generations of GPUs and what mixed precision is on them, the oldest first
	Setup   []string          `json:"setup"`      // what to set on this machine, and what not
}

// Advice is what the benchmark of mixed precision found.
type Advice struct {
	Found  []Advised `json:"found"`            // newest first
	Reason string    `json:"reason,omitempty"` // why there is none
}

// Advised is advice on one mode at one size.
type Advised struct {
	Measured time.Time `json:"measured"`
	Version  string    `json:"version"` // of the program that measured
	Mode     string    `json:"mode"`
	Size     string    `json:"size"` // field and window: 512/128
	Verdict  string    `json:"verdict"`
	Sentence string    `json:"sentence"`
}

// Roofs holds the peak performance of the machine with the kernels and threads in use.
type Roofs struct {
	GFLOPS   float64   `json:"gflops"`                // fused multiply-adds on registers, 10⁹ operations per second
	BF16     float64   `json:"bf16_gflops,omitempty"` // dot products of bfloat16 on registers; left out without such an instruction
	Levels   []Level   `json:"levels"`                // smallest array first
	Measured time.Time `json:"measured"`
	Note     string    `json:"note,omitempty"` // conditions of the measurement, or why it was not stored
}

// Level is the bandwidth for arrays of a certain size, in 10⁹ bytes per second.
type Level struct {
	Bytes  int64   `json:"bytes"`
	Read   float64 `json:"read_gb_s"`
	Update float64 `json:"update_gb_s"` // read and written back, both counted
}

// Mode is one setting of mixed precision.
type Mode struct {
	Name   string `json:"name"`
	Native bool   `json:"native"` // the kernels in use compute with native instructions of the processor
	Note   string `json:"note"`
}

// Gather collects the facts from the operating system and the environment, without querying the
// terminal.
func Gather(o Options) Facts {
	return Facts{
		Schema:   1,
		Program:  Program{Version: o.Version, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH},
		CPU:      o.CPU,
		Engine:   engine(o),
		Memory:   machine.ReadMemory(),
		GPU:      o.GPU,
		GPUCheck: o.Check,
		Sensors:  sensors(&o.Sensors),
		Terminal: terminal(o.Out, o.Env),
	}
}

// sensors lists what was read.
func sensors(s *machine.Sensors) Sensors {
	to := Sensors{GPUs: []GPUSensors{}, Reason: s.Reason, EnergyReason: s.Processors.Reason}
	for i := range s.GPUs {
		g := GPUSensors{Name: s.GPUs[i].Name, UUID: s.GPUs[i].UUID}
		for _, sensor := range words.Sensors(&s.GPUs[i]) {
			g.Sensors = append(g.Sensors, Sensor{sensor.Name, sensor.Text, sensor.Reason})
		}
		to.GPUs = append(to.GPUs, g)
	}
	return to
}

// engine reports for each instruction set that kernels can be written for whether it is in use.
// Available means here that both the processor and this build support it.
func engine(o Options) Engine {
	e := Engine{Kernels: o.Using, Threads: o.Threads, Roofs: o.Roofs, AMP: modes(o.Using), Advice: o.Advice,
		Models: generations(o.GPU)}
	has := map[string]bool{}
	for _, k := range o.Kernels {
		has[k] = true
	}
	for _, s := range o.CPU.Sets {
		if s.Available && !has[s.Name] {
			s = machine.Support{Name: s.Name, Reason: "the processor offers it, this build has no kernels for it"}
		}
		e.Faster = append(e.Faster, s)
	}
	e.Setup = setup(&e, &o.GPU)
	return e
}

// setup advises what to set on a machine, as PRISM's guide does by hardware: what the presets have on already, mixed
// precision, and the batch.
func setup(e *Engine, g *machine.GPU) []string {
	amp := "leave amp off: the kernels in use round bf16 in software, which costs time"
	switch {
	case g.Usable:
		amp = "on the GPU, measure amp = bf16 and fp16 at your size: prismtop bench amp --set device=cuda"
	case e.AMP[1].Native:
		amp = "measure amp = bf16 at your size, which the kernels in use multiply natively: prismtop bench amp"
	}
	return []string{
		"the presets have caches, fused steps and pruned transforms on: nothing needs to be set for them",
		amp,
		"a reconstruction has no batch to tune: it trains one sample at a time; for PtychoPINN's inference prismtop bench ptycho finds the batch size",
	}
}

// modes lists the modes of mixed precision for the kernels in use.
func modes(kernels string) []Mode {
	emulated := "exact, but rounded in software: shows what the precision does to quality, not its speed"
	list := []Mode{
		{Name: "off", Native: true, Note: "float32 throughout"},
		{Name: "bf16", Note: emulated},
		{Name: "bf16x3", Note: "three bf16 products for each of float32, here as two in float32: near float32's accuracy, slower"},
		{Name: "fp16", Note: emulated + "; with a gradient scaler"},
	}
	switch kernels {
	case "avx512-bf16":
		list[1] = Mode{Name: "bf16", Native: true,
			Note: "large convolutions by dot products of AVX512_BF16, sums in float32"}
	case "amx":
		list[1] = Mode{Name: "bf16", Native: true,
			Note: "convolutions by AMX, those that fill no tiles by dot products of AVX512_BF16, sums in float32"}
		list[2] = Mode{Name: "bf16x3", Native: true, Note: "large convolutions by AMX, near float32's accuracy"}
	}
	return list
}
