package profiles

// Default options of a fork.
const (
	ForkArm   = 50 // iterations per arm
	ForkCount = 8  // pairs of arms, each from its own starting point
)

// Fork compares the result before and after a change of settings on equal terms: from the same
// point, with the same weights, moments and random numbers, some iterations ran under the
// settings before the change and again under those after it; the run then returned to that point.
// It is immutable.
type Fork struct {
	Running bool
	Of      int64 // iteration of the change
	Key     string
	Before  string
	After   string
	Ended   string // reason; empty while it runs

	Arm     int // iterations per arm
	Done    int // completed pairs of arms
	Planned int

	Rows []ForkRow // by series: the quality, then the losses
}

// ForkRow is the difference in one series at the end of the arms.
type ForkRow struct {
	Series int // index in the schema
	// Before and After are means over the pairs.
	Before, After float64
	// Difference is the centre of the pairs' differences, after minus before, estimated by
	// stats.SignedRank; the difference of the means may be another. Its 95 % interval is
	// infinite with fewer than stats.SignedRankLeast pairs.
	Difference, Low, High float64
	Equal                 bool // every pair ended bit-identical
}
