package profiles

// The layers of a plan with their times, and the machine's roofs.

// Layer is one kernel of an iteration, with its mean time over the last half
// second.
type Layer struct {
	Name   string // "layer 2 convT dW"
	Kernel string // that computes it, if the device chose among several; else ""
	Phase  Phase  // the first, if a kernel belongs to several
	Nanos  float64
	FLOPs  int64 // additions and multiplications
	Bytes  int64 // read and written at least once

	// Compute and Memory are shares, 0 to 1, of this machine's peak rates; Memory
	// is above 1 if the data stayed in a faster cache than assumed. Judged is
	// false if the rates were not measured.
	Compute, Memory float64
	Judged          bool
}

// Roofs are this machine's measured peak rates with the kernels and threads in use.
type Roofs struct {
	GFLOPS float64     // 10⁹ additions and multiplications per second
	Levels []RoofLevel // smallest first
}

// RoofLevel is the bandwidth for data that fit into the given number of bytes, in
// 10⁹ bytes per second; larger data have the bandwidth of the last level.
type RoofLevel struct {
	Bytes int64
	GBs   float64
}
