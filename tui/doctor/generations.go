package doctor

import (
	"strings"

	"prismtop/profiles/machine"
)

// Generation is a generation of NVIDIA's GPUs: whether there are kernels for it, and which modes of mixed precision it
// multiplies by matrix instructions, where they are worth a measurement (bench amp).
type Generation struct {
	Name       string `json:"name"`
	Models     string `json:"models"`
	Capability string `json:"capability"`        // compute capabilities, "8.0 and 8.6"
	Kernels    string `json:"kernels,omitempty"` // set of PTX; left out if there are none
	AMP        string `json:"amp"`               // what mixed precision is there
	Here       bool   `json:"here"`              // a GPU of this machine is one
}

// What mixed precision is on GPUs with the sets of kernels.
const (
	noKernels = "not supported: the kernels need compute capability 7.5"
	turingAMP = "fp16 by matrix instructions; bf16 is widened, bf16x3 split and TF32 computed as float32"
	ampereAMP = "bf16, bf16x3, fp16 and TF32 by matrix instructions"
)

// generations lists the generations, the oldest first, with those of this machine marked.
func generations(g machine.GPU) []Generation {
	all := []Generation{
		{Name: "Pascal and earlier", Models: "GTX 10xx, P100", Capability: "up to 6.2", AMP: noKernels},
		{Name: "Volta", Models: "V100", Capability: "7.0 and 7.2", AMP: noKernels},
		{Name: "Turing", Models: "RTX 20xx, GTX 16xx, T4", Capability: "7.5", Kernels: "sm_75", AMP: turingAMP},
		{Name: "Ampere", Models: "A100, A10, RTX 30xx", Capability: "8.0 to 8.7", Kernels: "sm_80", AMP: ampereAMP},
		{Name: "Ada", Models: "L4, L40, RTX 40xx", Capability: "8.9", Kernels: "sm_80", AMP: ampereAMP},
		{Name: "Hopper", Models: "H100, H200", Capability: "9.0", Kernels: "sm_80", AMP: ampereAMP},
		{Name: "Blackwell", Models: "B200, RTX 50xx", Capability: "10.0 to 12.1", Kernels: "sm_80", AMP: ampereAMP},
	}
	for _, d := range g.Devices {
		if i := generationOf(d.Capability); i >= 0 {
			all[i].Here = true
		}
	}
	return all
}

// generationOf returns the index of a compute capability's generation; −1 if it has none.
func generationOf(capability string) int {
	major, minor, ok := strings.Cut(capability, ".")
	switch {
	case !ok:
		return -1
	case len(major) > 1:
		return 6
	case major < "7":
		return 0
	case major == "7" && minor < "5":
		return 1
	case major == "7":
		return 2
	case major == "8" && minor < "9":
		return 3
	case major == "8":
		return 4
	case major == "9":
		return 5
	}
	return -1
}

// generations writes the list.
func (p *page) generations(all []Generation) {
	for i, g := range all {
		label, here := "", ""
		if i == 0 {
			label = "gpu models"
		}
		if g.Here {
			here = ", here"
		}
		p.line(label, "%s (%s; %s%s): %s", g.Name, g.Models, g.Capability, here, g.AMP)
	}
}
