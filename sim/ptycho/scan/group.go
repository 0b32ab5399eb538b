package scan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// neighbours is K, the number of nearest positions among which a group is drawn.
const neighbours = 4

// LeastPositions returns the number of positions that groups of channels positions need.
func LeastPositions(channels int) int {
	if channels <= 1 {
		return 1
	}
	return max(neighbours, channels) + 1
}

// Group is the positions of a group, by index, and their mean.
type Group struct {
	Positions []int
	X, Y      float64
}

// Groups returns count groups of channels positions each. With one channel a group is a
// position of its own. With more, it is drawn from the four positions nearest to one, or
// the channels nearest if that is more, which does not itself belong to the group. The
// positions to start from are drawn without replacement.
func (s *Scan) Groups(ctx context.Context, channels, count int, seed uint64) ([]Group, error) {
	n := len(s.X)
	if channels < 1 || count < 1 || count > n {
		return nil, fmt.Errorf("%d groups of %d from %d positions: must be from 1 to %[3]d groups", count, channels, n)
	}
	if least := LeastPositions(channels); n < least {
		return nil, fmt.Errorf("groups of %d from %d positions: needs %d positions or more", channels, n, least)
	}
	near := max(neighbours, channels)
	r := rand.New(rand.NewPCG(seed, 0x67726f7570))
	seeds := r.Perm(n)[:count]
	slices.Sort(seeds)
	groups := make([]Group, count)
	var all *cells
	if channels > 1 {
		all = newCells(s.X, s.Y)
	}
	for i, at := range seeds {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		members := []int{at}
		if channels > 1 {
			around := all.nearest(at, near)
			members = members[:0]
			for _, k := range r.Perm(near)[:channels] {
				members = append(members, around[k])
			}
		}
		groups[i] = s.group(members)
	}
	return groups, nil
}

// group returns a group with its mean.
func (s *Scan) group(members []int) Group {
	g := Group{Positions: members}
	for _, at := range members {
		g.X += s.X[at] / float64(len(members))
		g.Y += s.Y[at] / float64(len(members))
	}
	return g
}

// Offsets returns x and y of the group's mean minus each position's: what a network reads.
func (s *Scan) Offsets(g Group) []float32 {
	var all []float32
	for _, at := range g.Positions {
		all = append(all, float32(g.X-s.X[at]), float32(g.Y-s.Y[at]))
	}
	return all
}
