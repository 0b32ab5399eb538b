package loader

import "math/rand/v2"

// shuffle puts the samples into an epoch's order.
func (l *Loader) shuffle(epoch int) {
	if l.orderEpoch == epoch {
		return
	}
	l.orderEpoch = epoch
	for i := range l.order {
		l.order[i] = i
	}
	if !l.o.Shuffle {
		return
	}
	l.shuffler.seed(l.o.Seed, epoch, -1)
	for i := len(l.order) - 1; i > 0; i-- {
		j := l.shuffler.IntN(i + 1)
		l.order[i], l.order[j] = l.order[j], l.order[i]
	}
}

// randomness is a generator that can be seeded for a place in training.
type randomness struct {
	*rand.Rand
	source *rand.PCG
}

func newRandomness() randomness {
	source := rand.NewPCG(0, 0)
	return randomness{rand.New(source), source}
}

// seed begins the random numbers of a sample, by its place in an epoch; -1 is the order of
// the epoch itself.
func (r randomness) seed(seed uint64, epoch, place int) {
	r.source.Seed(mix(seed^0x6c6f61646572), mix(uint64(epoch)<<32|uint64(place+1)))
}

// mix spreads the bits of a number (SplitMix64), so that neighbouring places have unrelated
// random numbers.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
