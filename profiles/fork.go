package profiles

// How a fork compares two settings, unless it is told otherwise.
const (
	ForkArm   = 50 // iterations of each arm
	ForkCount = 8  // pairs of arms, each pair from a point of its own
)

// Fork is what a change of settings did to the result on equal terms: from the same point, with the
// same weights, moments and random numbers, some iterations were run under the settings before
// the change and again under those after it, and the run then went back to where it was. It is
// immutable.
type Fork struct {
	Running bool
	Of      int64 // the iteration at which the change was made
	Key     string
	Before  string
	After   string
	Ended   string // why, empty while it runs

	Arm     int // iterations of each arm
	Done    int // pairs of arms
	Planned int

	Rows []ForkRow // by series: the quality, then the losses
}

// ForkRow is the difference in one series at the end of the arms.
type ForkRow struct {
	Series int // index in the schema
	// Before and After are means over the pairs.
	Before, After float64
	// Difference is that of after less before, the middle of the pairs, with a 95 % interval,
	// which is infinite below stats.SignedRankLeast pairs.
	Difference, Low, High float64
	Equal                 bool // every pair ended with the same bits
}
