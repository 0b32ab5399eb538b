package settings

import "math"

// IterationLimit declares the setting that ends a run of any workload after a number of
// iterations.
func IterationLimit(group string) Entry {
	return Integer(group, MaxIterations, "", "end the run after so many; 0 is no limit", 0, 1<<53).
		Live().Limit().Called("most iterations", 'Z').
		Press("Z", MoveWrite, "limit of iterations").Words("", "no limit")
}

// UnitLimit declares the setting that ends a run after a number of its units of work, such as
// "sample" and "samples"; of describes the counting, as in ", counted over all passes".
func UnitLimit(group, one, many, of string) Entry {
	return Integer(group, MaxUnits(many), "", "end the run after this many "+many+of+"; 0 is all", 0, math.MaxInt32).
		Live().Limit().Called("last "+one, 'j').
		Press("j", MoveBefore, "one "+one+" fewer").Press("J", MoveNext, "one "+one+" more").Words("", "all")
}

// TimeLimit declares the setting that ends a run of any workload after a running time.
func TimeLimit(group string) Entry {
	return Number(group, MaxSeconds, "seconds", "end the run after so long; 0 is no limit", 0, 1e9).
		Live().Limit().Called("most seconds", 'X').
		Press("X", MoveWrite, "limit of seconds").Words("", "no limit")
}

// Deciding declares the setting that says what follows a press of a key that changes a revertible
// setting, for any workload that has some.
func Deciding(group string) Entry {
	return Text(group, Decide, "a press of a key that is cheap to take back: auto decides it, for 10 s or "+
		"180 iterations at most; ask waits until you replicate it; off offers nothing",
		DecideAuto, DecideAsk, DecideOff).
		Live().Limit().Called("a press decides", '@').
		Press("@", MoveNext, "what a press decides")
}

// Computing declares the setting that says where a workload is computed that GPUs have kernels for.
func Computing(group string) Entry {
	return Text(group, Device, "where it is computed; auto is the GPU if there is one, cuda:1 the second GPU",
		"auto", "cpu", "cuda", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7").
		Live().Called("device", 'U').Press("U", MoveToggle, "device: CPU, GPU")
}
