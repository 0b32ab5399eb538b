package profiles

import "fmt"

// Ranks is the state of a training in which several processes take every step together.
type Ranks struct {
	World int    // processes of the training
	List  []Rank // those that are known, by rank

	// Slow is the rank that the others wait for, −1 if none is shown to be. It takes Excess nanoseconds a step longer
	// than the slowest of the others, with a 95 % interval, Phase being where most of it is.
	Slow              int
	Phase             string
	Excess, Low, High float64

	Steps  int    // over which the medians are
	Locked string // why settings cannot change; empty if they can
}

// Rank is a process of a training. Times are medians in nanoseconds, 0 where they are not known.
type Rank struct {
	Rank, PID int
	State     string // "training", "over", or how it ended
	Gone      bool   // it ended while the others trained
	Step      int64  // newest
	Behind    int64  // steps behind the first
	Time      float64
	Local     float64 // of a step, without Exchange
	Exchange  float64 // from its last gradient to the end of backward
	Wait      float64 // part of Exchange in which it waited for another rank
}

func (*Ranks) body() {}

// Check returns why a state, as a file has it, cannot be used.
func (r *Ranks) Check() error {
	if r.Slow < -1 || r.Slow >= r.World {
		return fmt.Errorf("rank %d of %d is slow", r.Slow, r.World)
	}
	return nil
}
