package profiles

// FlatWithin is the difference of the throughput, as a share, below which two batch sizes count as
// equal: the smaller one is then preferred.
const FlatWithin = 0.02

// Tuning is the state of a search for the batch size of the most items a second. Its comparisons
// are the rows of an Ablation, each of a size against the best one before, by the item.
type Tuning struct {
	From   int // the size at which it began
	Best   int // of those compared so far
	Chosen int // 0 before the end, and if it was ended early
	// Candidate is the size that is compared with Best now, 0 for none.
	Candidate int
	// Flat is the sizes between which nothing is gained, as far as they were compared: Best alone,
	// if both are Best.
	FlatFrom, FlatTo int
	Refused          string // why a larger size was not tried; empty if none was refused
}
