package inference

import (
	"embed"
	"errors"
	"fmt"
	"math"

	"prismtop/profiles/machine"
	"prismtop/profiles/preset"
	"prismtop/profiles/settings"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
)

const (
	groupNetwork   = "The network"
	groupScan      = "The scan"
	groupComputing = "How it is computed"
	groupLimits    = "Limits of the run"
)

// Table declares the settings.
var Table = settings.NewTable("ptycho", validate,
	settings.Integer(groupNetwork, "size", "pixels", "N, the side of a diffraction pattern", 64, 256).
		Rule("64, 128 or 256: a whole number", func(v any) bool { n := v.(int64); return n == 64 || n == 128 || n == 256 }),
	settings.Integer(groupNetwork, "gridsize", "", "side of a group: gridsize² patterns are the channels of one object", 1, 4),
	settings.Integer(groupNetwork, "filters_scale", "", "factor of all numbers of filters; 2 is PtychoPINN's default", 1, 8),
	settings.Text(groupNetwork, "amp_activation", "activation of the amplitude's centre; sigmoid is PtychoPINN's default", ptycho.AmpActivations()...).Optional("sigmoid"),
	settings.Text(groupNetwork, "heads", "whose heads the network has, which differ in how the border is drawn: PtychoPINN's Keras model's, or ptycho_torch's", ptycho.HeadKinds()...).Optional("keras"),
	settings.Text(groupNetwork, "weights", "trained: those that training left for this network, seeded where there are none; seeded: random ones, for comparisons with other programs",
		"trained", "seeded"),

	settings.Text(groupScan, "data", "NPZ file of a measured scan by PtychoPINN's schema; stands for the simulated one").Words("none", "").Optional(""),
	settings.Text(groupScan, "data_as", "how the numbers of the patterns in data are read: as they are, as PtychoPINN's loader does, or as intensities, whose square roots are taken",
		scan.AsAmplitude, scan.AsIntensity).Optional(scan.AsAmplitude),
	settings.Number(groupScan, "data_factor", "", "factor of the amplitudes of data; 0 is PtychoPINN's rule, by which the mean sum of a pattern's squares becomes (N/2)²", 0, 1e12).Words("", "PtychoPINN's rule").Optional("0"),
	settings.Integer(groupScan, "object_size", "pixels", "side of the simulated object, at least twice the size", 128, 4096),
	settings.Integer(groupScan, "positions", "", "number of diffraction patterns; of data, as many are drawn", 16, 1<<16),
	settings.Number(groupScan, "photons", "", "mean number of photons of a pattern", 1, 1e15),
	settings.Switch(groupScan, "object_phase", "the object also shifts the phase"),
	settings.Number(groupScan, "probe_curvature", "radians", "phase of the beam at its edge, above that in its centre; 0 is PtychoPINN's flat beam", -10, 10),
	settings.Integer(groupScan, settings.Seed, "", "seed of the object, the positions, the photons and the groups", 0, math.MaxInt64),

	settings.Integer(groupComputing, settings.BatchSize, "", "objects that the network computes at a time, at most as many as the scan has", 1, maxBatch).
		Live().Touches("load", "group", "normalise", "predict", "reassemble").Called("batch size", 'B').
		Press("]", settings.MoveNext, "twice the batch size").Press("[", settings.MoveBefore, "half the batch size").Foremost(1).
		Press("=", settings.MoveWrite, "batch size, typed"),
	settings.Switch(groupComputing, settings.AutoTune, "find the batch size of the most images a second while the run goes on").
		Live().Limit().Called("auto-tuner", 'T').
		Press("t", settings.MoveNext, "auto-tuner of the batch size").Foremost(3),
	settings.Switch(groupComputing, settings.AdaptBatch, "halve the batch size while more than 90 % of the memory is in use, and double it below 50 %, up to 256").
		Live().Limit().Called("adaptive batches", 'P').Optional("false").
		Press("p", settings.MoveNext, "batch size by memory pressure"),
	settings.Integer(groupComputing, settings.MemoryLimit, "MiB", "bound of the run's memory, of batch sizes and of plans that are kept", 0, 1<<20).
		Live().Limit().Called("memory limit", 'G').Words("", "no limit").
		Press("G", settings.MoveWrite, "memory limit in MiB"),
	settings.Text(groupComputing, "amp", "mixed precision of the convolutions; bf16x3 splits products and keeps nearly float32's accuracy", ptycho.Modes()...).
		Live().Touches("predict").Revertible().Called("AMP", 'a').
		Press("a", settings.MoveToggle, "mixed precision: on, off").Foremost(2).
		Compared(1, "off", "bf16", "bf16x3").Factor("amp", "bf16").
		Listed(1, "float32", "the range of float32", "nearly float32's accuracy"),
	settings.Switch(groupComputing, winograd, "3×3 convolutions by Winograd's F(4×4, 3×3): a quarter of the multiplications, ten times the rounding error of float32").
		Live().Touches("predict").Revertible().Called("Winograd", 'W').
		Press("W", settings.MoveNext, "convolutions by Winograd").Foremost(8).
		Compared(2, "false", "true").Factor("winograd", "true").
		Idle(func(v settings.Values) string {
			switch {
			case v.Text("amp") != "off":
				return "mixed precision computes the convolutions in its own way"
			case v.Text(settings.Device) != "auto" && v.Text(settings.Device) != "cpu":
				return "a GPU has no such kernels"
			}
			return ""
		}),
	settings.Integer(groupComputing, settings.Threads, "", "worker threads; 0 is one per core", 0, 1024).Live().Called("threads", '+').Press("+", settings.MoveNext, "one thread more").Press("-", settings.MoveBefore, "one thread fewer").Foremost(5),
	settings.Text(groupComputing, "kernels", "instruction set of the CPU's kernels; auto takes the fastest; avx512-bf16 and amx are avx512 with products of bf16 by AVX512_BF16 or by AMX",
		"auto", "avx512-bf16", "amx", "avx512", "avx2", "go").Fixed("the weights are laid out for it"),
	settings.Deciding(groupComputing),
	settings.Computing(groupComputing),
	settings.Switch(groupComputing, settings.LayerProfile, "show the time of every layer").Live().Touches().Called("layers", 'l').
		Press("l", settings.MoveNext, "layer profile").Foremost(7),

	settings.Integer(groupLimits, "passes", "", "passes over the scan", 1, 1e6),
	settings.UnitLimit(groupLimits, "pass", "passes", ""),
	settings.IterationLimit(groupLimits),
	settings.TimeLimit(groupLimits),
).As(settings.Roles{Precision: "amp"})

// maxBatch bounds batch sizes against typing errors.
const maxBatch = 4096

//go:embed presets/*.toml
var embedded embed.FS

// Presets returns the named sets of settings.
func Presets() preset.Shelf { return preset.Embedded(Table, embedded, "ptycho") }

// validate checks the rules that involve several settings.
func validate(v settings.Values) error {
	if size, object := v.Int("size"), v.Int("object_size"); object < 2*size && v.Text("data") == "" {
		return &settings.ValueError{Key: "object_size", Value: v.Get("object_size"), Want: fmt.Sprintf("must be at least twice the size, %d", 2*size)}
	}
	if least := scan.LeastPositions(channels(v)); v.Int("positions") < least {
		return &settings.ValueError{Key: "positions", Value: v.Get("positions"), Want: fmt.Sprintf("must be at least %d for groups of %d", least, channels(v))}
	}
	if batch, all := v.Int(settings.BatchSize), groupCount(v); batch > all {
		return &settings.ValueError{Key: settings.BatchSize, Value: v.Get(settings.BatchSize), Want: fmt.Sprintf("must be at most %d, the objects of this scan", all)}
	}
	return nil
}

// channels is the number of patterns of a group.
func channels(v settings.Values) int { return v.Int("gridsize") * v.Int("gridsize") }

// groupCount is the number of objects of a pass: one a position, or one for each
// gridsize² of them (spec/ptycho-cyto.md §A2).
func groupCount(v settings.Values) int { return max(v.Int("positions")/channels(v), 1) }

// config returns the network of the settings.
func config(v settings.Values) ptycho.Config {
	return ptycho.Config{Size: v.Int("size"), GridSize: v.Int("gridsize"), FiltersScale: v.Int("filters_scale"), ProbeBig: true, AmpActivation: v.Text("amp_activation"), Heads: v.Text("heads")}
}

// dataOptions returns how the settings read their data.
func dataOptions(v settings.Values) scan.ReadOptions {
	return scan.ReadOptions{As: v.Text("data_as"), Factor: v.Number("data_factor")}
}

// scanOptions returns the simulated scan of the settings.
func scanOptions(v settings.Values) scan.Options {
	return scan.Options{
		Size: v.Int("size"), ObjectSize: v.Int("object_size"), Positions: v.Int("positions"), Photons: v.Number("photons"),
		Phase: v.On("object_phase"), Curvature: v.Number("probe_curvature"), Seed: seed(v),
	}
}

func seed(v settings.Values) uint64 { return uint64(v.Int(settings.Seed)) }

// planOptions returns the plan of the settings.
func planOptions(v settings.Values) ptycho.PlanOptions {
	return ptycho.PlanOptions{Batch: v.Int(settings.BatchSize)}.With(precision(v))
}

// winograd is the setting of Winograd's convolutions.
const winograd = "winograd"

// precision returns how the network multiplies.
func precision(v settings.Values) ptycho.Precision {
	return ptycho.PrecisionOf(v.Text("amp"), v.On(winograd))
}

// limit returns the bound of the memory in bytes, 0 for none.
func limit(v settings.Values) int64 { return int64(v.Int(settings.MemoryLimit)) << 20 }

// threads returns the number of threads of the settings.
func threads(v settings.Values) int {
	if n := v.Int(settings.Threads); n > 0 {
		return n
	}
	return machine.Processors()
}

// noTruth is why a reconstruction of a file without objectGuess is not compared.
const noTruth = "the data have no objectGuess to compare with"

// errNothing is the error of saving before the first object.
var errNothing = errors.New("nothing was reconstructed yet")
