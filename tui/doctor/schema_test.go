package doctor

import (
	"bytes"
	"os"
	"testing"

	"prismtop/profiles/export/schematest"
	"prismtop/profiles/machine"
)

func TestSchema(t *testing.T) {
	schematest.Check(t, schematest.Document{Name: "doctor", Title: "prismtop doctor --json", Value: Facts{}, Nulls: true})
	here := someOptions(os.Environ()...)
	withGPU := someOptions()
	withGPU.GPU = machine.GPU{Usable: true, CUDA: "13.0", Driver: "580.1", Devices: []machine.GPUDevice{{Name: "A", Capability: "9.0", FreeReason: "no NVML"}}}
	withGPU.Sensors = machine.Sensors{GPUs: []machine.GPUSensors{{Name: "A", UUID: "GPU-1", Power: machine.Reading(73), Temperature: machine.Missing("lost")}}}
	withGPU.Advice.Found = []Advised{{Mode: "bf16"}}
	withGPU.Roofs = Roofs{GFLOPS: 300, BF16: 200, Levels: []Level{{Bytes: 2 << 20, Read: 100, Update: 130}}}
	withGPU.Check = &GPUCheck{Device: "A", Modules: []GPUModule{{"conv", 3, 12}}, Roofs: []GPURoof{{"copy", 3000, "GB/s"}}, Operators: []GPUCompare{{Name: "Add", Mode: "off", OK: true}}}
	for name, o := range map[string]Options{"here": here, "with a GPU": withGPU, "nothing": {}} {
		var b bytes.Buffer
		if err := Gather(o).WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate("doctor", b.Bytes()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
