package tasks

import (
	"math/rand/v2"
	"slices"
)

// Schedule returns the order of the tasks, by index, in each of a number of rounds. One round
// is in the order of the list. More are in random order, each second round the reverse of the
// one before it: a machine that becomes slower does so alike for all tasks.
func Schedule(tasks, rounds int, seed uint64) [][]int {
	order := make([]int, tasks)
	for i := range order {
		order[i] = i
	}
	if rounds == 1 {
		return [][]int{order}
	}
	random := rand.New(rand.NewPCG(seed, 0x7461736b73))
	var all [][]int
	for round := range rounds {
		if round%2 == 0 {
			random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		} else {
			slices.Reverse(order)
		}
		all = append(all, slices.Clone(order))
	}
	return all
}
