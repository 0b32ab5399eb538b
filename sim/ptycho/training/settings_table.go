package training

import (
	"fmt"

	"prismtop/profiles/machine"
	"prismtop/profiles/settings"
	"prismtop/profiles/unit"
	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
)

// The groups, in the order of Settings.
const (
	groupScan      = "The scan"
	groupNetwork   = "The network"
	groupTraining  = "The training"
	groupLimits    = "Limits of the run"
	groupComputing = "How it is computed"
)

// Why the settings of a group cannot change during a run.
const (
	fixedScan    = "the scan is simulated at the start"
	fixedNetwork = "other weights would be needed"
	fixedSplit   = "the groups are divided at the start"
)

// Table is the single definition of each setting's name, meaning, range and presentation.
// The fields of Settings hold the values.
var Table = settings.NewTable("ptycho-training", joined,
	settings.Integer(groupScan, "size", "pixels", "N, the side of a diffraction pattern", 64, 256).
		Rule("a power of two", func(v any) bool { n, _ := v.(int64); return n == 64 || n == 128 || n == 256 }).Fixed(fixedScan),
	settings.Text(groupScan, "data", "NPZ file of a measured scan by PtychoPINN's schema; stands for the simulated one").Words("none", "").Optional("").Fixed(fixedScan),
	settings.Text(groupScan, "data_as", "how the numbers of the patterns in data are read: as they are, as PtychoPINN's loader does, or as intensities, whose square roots are taken",
		scan.AsAmplitude, scan.AsIntensity).Optional(scan.AsAmplitude).Fixed(fixedScan),
	settings.Number(groupScan, "data_factor", "", "factor of the amplitudes of data; 0 is PtychoPINN's rule, by which the mean sum of a pattern's squares becomes (N/2)²", 0, 1e12).Words("", "PtychoPINN's rule").Optional("0").Fixed(fixedScan),
	settings.Integer(groupScan, "object_size", "pixels", "side of the simulated object, at least twice the size", 128, 4096).Fixed(fixedScan),
	settings.Integer(groupScan, "positions", "", "number of diffraction patterns, and of groups", 16, 1<<16).Fixed(fixedScan),
	settings.Number(groupScan, "photons", "", "mean number of photons of a pattern", 1, 1e15).Fixed(fixedScan),
	settings.Switch(groupScan, "object_phase", "the object also shifts the phase").Fixed(fixedScan),
	settings.Number(groupScan, "probe_curvature", "radians", "phase of the beam at its edge, above that in its centre; 0 is PtychoPINN's flat beam", -10, 10).Fixed(fixedScan),

	settings.Integer(groupNetwork, "gridsize", "", "side of a group: gridsize² patterns are the channels of one object", 1, 4).Fixed(fixedNetwork),
	settings.Integer(groupNetwork, "filters_scale", "", "factor of all numbers of filters; 2 is PtychoPINN's default", 1, 8).Fixed(fixedNetwork),
	settings.Text(groupNetwork, "amp_activation", "activation of the amplitude's centre; sigmoid is PtychoPINN's default", ptycho.AmpActivations()...).Optional("sigmoid").Fixed(fixedNetwork),
	settings.Text(groupNetwork, "heads", "whose heads the network has, which differ in how the border is drawn: PtychoPINN's Keras model's, or ptycho_torch's", ptycho.HeadKinds()...).Optional("keras").Fixed(fixedNetwork),

	settings.Integer(groupTraining, "batch", "groups", "groups of a minibatch", 1, 1024).Fixed(fixedSplit),
	settings.Integer(groupTraining, "epochs", "", "times that all training groups are learned from", 1, 1<<20).Fixed("the run is announced with it"),
	settings.Number(groupTraining, "test_share", "", "share of the groups that is kept for testing, in whole minibatches and at least one", 0, 0.5).Fixed(fixedSplit),
	settings.Number(groupTraining, "learning_rate", "", "Adam's step", 0, 1).Above().Live().Touches().Called("lr", 'l').Press("l", settings.MoveBefore, "halve learning rate").Press("L", settings.MoveNext, "double learning rate").Foremost(4),
	settings.Text(groupTraining, "scheduler", "learning rate over the epochs", "constant", "plateau").Live().Touches().Called("schedule", 'H').
		Press("H", settings.MoveNext, "learning rate's schedule").
		Listed(2, "the learning rate stays", "halves it when the test loss stands still"),
	settings.Integer(groupTraining, "patience", "epochs", "end after so many epochs without a lower test loss; 0 never", 0, 1<<20).
		Live().Limit().Called("patience", 'P').Press("p", settings.MoveWrite, "patience of the early stop").Words("", "never"),

	settings.IterationLimit(groupLimits),
	settings.UnitLimit(groupLimits, "epoch", "epochs", ""),
	settings.TimeLimit(groupLimits),

	settings.Switch(groupComputing, "checkpointing", "recompute activations in the backward pass instead of keeping them: less memory, more time").
		Live().Touches("forward", "backward").Revertible().Called("recompute", 'c').
		Press("c", settings.MoveNext, "recompute activations").Foremost(3).Compared(2, "false", "true"),
	settings.Switch(groupComputing, "fused_optimizer", "update convolutions' weights as their gradients are computed, which then take no memory").
		Live().Touches("backward", "optimizer").Revertible().Called("fused optimizer", 'o').
		Press("o", settings.MoveNext, "fused optimizer").Foremost(2).Compared(1, "false", "true").Everything(),
	settings.Text(groupComputing, "amp", "mixed precision of the convolutions; bf16x3 splits products and keeps nearly float32's accuracy", "off", "bf16", "bf16x3").
		Live().Revertible().Called("AMP", 'a').
		Press("a", settings.MoveToggle, "mixed precision: on, off").Foremost(1).
		Compared(3, "off", "bf16", "bf16x3").Factor("amp", "bf16").
		Listed(1, "float32", "the range of float32", "nearly float32's accuracy"),
	settings.Integer(groupComputing, "threads", "", "worker threads; 0 is one per core", 0, 1024).Live().Called("threads", '+').Press("-", settings.MoveBefore, "one thread fewer").Press("+", settings.MoveNext, "one thread more").Foremost(9),
	settings.Text(groupComputing, "kernels", "instruction set of the CPU's kernels; auto takes the fastest; avx512-bf16 and amx are avx512 with products of bf16 by AVX512_BF16 or by AMX",
		"auto", "avx512-bf16", "amx", "avx512", "avx2", "go").Fixed("the weights are laid out for it"),
	settings.Switch(groupComputing, settings.LayerProfile, "show the layer that takes longest, beside what this machine can do at most").
		Live().Called("layer profile", 'y').Press("y", settings.MoveNext, "profile of the layers"),
	settings.Deciding(groupComputing),
	settings.Computing(groupComputing),
	settings.Integer(groupComputing, "seed", "", "seed of the object, the positions, the photons, the groups, the first weights and the order of the minibatches", 0, settings.MaxInteger).
		Fixed("the scan and the first weights came from it"),
).As(settings.Roles{Rate: "learning_rate", Precision: "amp"})

// joined checks the rules that involve several settings, for this machine's memory.
func joined(v settings.Values) error { return joinedWith(v, machine.ReadMemory().Allowed()) }

func joinedWith(v settings.Values, memory int64) error {
	s := From(v)
	if s.ObjectSize < 2*s.Size && s.Data == "" {
		return v.Wrong("object_size", fmt.Sprintf("must be at least twice the size, %d", 2*s.Size))
	}
	if channels := s.network().Channels(); s.Positions < scan.LeastPositions(channels) {
		return v.Wrong("positions", fmt.Sprintf("must be at least %d for groups of %d", scan.LeastPositions(channels), channels))
	}
	if s.batches() < 1 {
		return v.Wrong("batch", fmt.Sprintf("with %d of %d groups for testing, none is left to learn from: must be smaller", s.testGroups(), s.Positions))
	}
	if least := s.leastMemory(); memory > 0 && least > float64(memory) {
		key := "batch"
		switch {
		case float64(s.scan().DrawingBytes()) >= least:
			key = "object_size"
		case s.scanBytes() > least/2:
			key = "positions"
		}
		return v.Wrong(key, fmt.Sprintf("needs at least %s of memory, this machine has %s: must be smaller", unit.Memory(least), unit.Memory(float64(memory))))
	}
	return nil
}

// scanBytes is the memory of the patterns and of the object.
func (s *Settings) scanBytes() float64 {
	pixels, side := float64(s.Size)*float64(s.Size), float64(s.ObjectSize)
	return 4*pixels*float64(s.Positions) + 8*side*side
}

// leastMemory is a lower bound of a run's memory: that in which the object is drawn, or
// later the scan and the results of the network's first stage for a minibatch, which the
// backward pass needs. Checkpointing computes them again.
func (s *Settings) leastMemory() float64 {
	first := float64(ptycho.FirstFilters(s.Size)*s.FiltersScale) * float64(s.Size) * float64(s.Size) * float64(s.Batch)
	planes := 2.0
	if s.Checkpointing {
		planes = 1
	}
	return max(float64(s.scan().DrawingBytes()), s.scanBytes()+4*planes*first)
}
