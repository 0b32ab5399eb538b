package tasks

import (
	"fmt"
	"strings"
)

// Variant is a named set of the engine's switches that takes the place of a git branch.
type Variant struct {
	Name     string    // in the column branch
	Title    string    // of the phase, in the document's words
	Settings []Setting // those in which variants differ, the same keys in each
	// Notes are the changes of the phase that have no switch here, and why.
	Notes []string
}

// The variants' settings besides those of main. The phases' branches are cumulative, and so
// are the variants.
var (
	plain = []Setting{{AMPSetting, "off"}, {WorkersSetting, "0"}, {PrefetchSetting, "2"},
		{PersistentSetting, "false"}, {ProfileSetting, "false"}, {WindowBatchSetting, "4"}}
	mixed       = with(plain, AMPSetting, "bf16")
	tuned       = with(mixed, WindowBatchSetting, "8")
	loaded      = with(tuned, WorkersSetting, "4", PersistentSetting, "true")
	profiled    = with(loaded, ProfileSetting, "true")
	allVariants = []Variant{
		{Name: "main", Title: "baseline", Settings: plain},
		{Name: "phase1", Title: "GPU performance", Settings: mixed, Notes: []string{
			"channels last: every volume of this engine is laid out so",
			"fused Adam: one kernel updates a parameter with its decay in every variant",
			"TF32: a format of CUDA devices",
		}},
		{Name: "phase2", Title: "TensorRT integration", Settings: tuned, Notes: []string{
			"TensorRT: not in this engine; every variant runs a plan compiled before its first batch",
			"dynamic shapes: a prediction computes twice as many windows of an image at a time",
		}},
		{Name: "phase3", Title: "advanced optimisations", Settings: loaded, Notes: []string{
			"kernel fusion: norm, residual and activation are one pass in every variant",
			"multi-GPU: two replicas on the CPU are the trainer " + DDPSim,
		}},
		{Name: "phase4", Title: "benchmarking", Settings: profiled},
		{Name: "combined", Title: "all optimisations", Settings: profiled, Notes: []string{
			"the branches of the phases are cumulative: combined has the settings of phase4",
		}},
	}
)

// with returns settings with other values of some keys.
func with(settings []Setting, changes ...string) []Setting {
	all := append([]Setting(nil), settings...)
	for i := 0; i < len(changes); i += 2 {
		for j := range all {
			if all[j].Key == changes[i] {
				all[j].Value = changes[i+1]
			}
		}
	}
	return all
}

// Variants returns all variants, main first.
func Variants() []Variant {
	all := make([]Variant, len(allVariants))
	for i, v := range allVariants {
		v.Settings, v.Notes = append([]Setting(nil), v.Settings...), append([]string(nil), v.Notes...)
		all[i] = v
	}
	return all
}

// documented are words in the names of the documents' branches, by variant.
var documented = []struct{ words, variant string }{
	{"all-optimizations-combined", "combined"},
	{"optimize-gpu-performance", "phase1"},
	{"tensorrt-integration-phase2", "phase2"},
	{"advanced-optimizations-phase3", "phase3"},
	{"benchmarking-phase4", "phase4"},
}

// VariantOf returns the variant of a name, or of a branch of CytoDL's documents: there, what
// follows the last slash begins with the words of the phase, "tensorrt-integration-phase2" for
// one, and ends or continues with a hyphen.
func VariantOf(branch string) (Variant, error) {
	name := branch
	last := branch[strings.LastIndexByte(branch, '/')+1:]
	for _, d := range documented {
		if rest, has := strings.CutPrefix(last, d.words); has && (rest == "" || rest[0] == '-') {
			name = d.variant
		}
	}
	var names []string
	for _, v := range Variants() {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return Variant{}, fmt.Errorf("variant %q: must be %s, or a branch of CytoDL's document; --repo runs git branches",
		branch, oneOf(names))
}

// oneOf lists names: "a, b or c".
func oneOf(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
