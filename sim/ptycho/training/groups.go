package training

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"prismtop/sim/ptycho"
	"prismtop/sim/ptycho/scan"
)

// Streams of random numbers of one seed.
const (
	splitStream = 0x73706c6974
	orderStream = 0x6f72646572
)

// groups is a scan divided into groups to learn from and groups for testing. With more
// than one pattern a group, a pattern may be in groups of both.
type groups struct {
	scan        *scan.Scan
	factor      float64 // of amplitudes: normalised, and scaled to the number of photons
	train, test []group
	probe       []float32 // as the plan's input
	least       []float64 // sum of the least possible Poisson loss, by position
}

// group is a group with the offsets that networks read.
type group struct {
	scan.Group
	offsets []float32
}

// divide groups a scan. A share of the groups, drawn from the seed, is for testing.
func divide(ctx context.Context, s *Settings, from *scan.Scan) (*groups, error) {
	normal, err := from.Normalisation()
	if err != nil {
		return nil, err
	}
	all, err := from.Groups(ctx, s.network().Channels(), s.Positions, s.Seed)
	if err != nil {
		return nil, err
	}
	g := &groups{scan: from, factor: normal * ptycho.IntensityScale(s.Photons, s.Size)}
	if g.probe, err = ptycho.ScaledProbe(from.Probe, s.Size); err != nil {
		return nil, err
	}
	drawn := rand.New(rand.NewPCG(s.Seed, splitStream)).Perm(len(all))[:s.testGroups()]
	slices.Sort(drawn)
	for i, members := range all {
		one := group{members, from.Offsets(members)}
		if _, kept := slices.BinarySearch(drawn, i); kept {
			g.test = append(g.test, one)
		} else {
			g.train = append(g.train, one)
		}
	}
	g.least = make([]float64, len(from.X))
	for i := range g.least {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, v := range from.Pattern(i) {
			g.least[i] += leastLoss(g.count(v))
		}
	}
	return g, nil
}

// count is the number of photons of an amplitude, in the scale of the network.
func (g *groups) count(amplitude float32) float64 {
	v := float64(amplitude) * g.factor
	return v * v
}

// leastLoss is the Poisson loss of a count that is predicted as it is.
func leastLoss(count float64) float64 {
	if count == 0 {
		return 0
	}
	return count - count*math.Log(count)
}

// order returns the training groups in the order of an epoch.
func (g *groups) order(seed uint64, epoch int) []int {
	return rand.New(rand.NewPCG(seed, orderStream+uint64(epoch))).Perm(len(g.train))
}

// fill writes groups to the plan's inputs; counts is nil for a plan without them. It
// returns the least possible mean loss of their pixels.
func (g *groups) fill(members []group, diffraction, counts, offsets []float32) (least float64) {
	pixels, k := g.scan.Size*g.scan.Size, 0
	for i, one := range members {
		if offsets != nil {
			copy(offsets[i*len(one.offsets):], one.offsets)
		}
		for _, at := range one.Positions {
			for j, v := range g.scan.Pattern(at) {
				diffraction[k*pixels+j] = float32(float64(v) * g.factor)
				if counts != nil {
					counts[k*pixels+j] = float32(g.count(v))
				}
			}
			least += g.least[at]
			k++
		}
	}
	return least / float64(k*pixels)
}

// centres are x and y of the test groups.
func (g *groups) centres() [][2]float64 { return centresOf(g.test) }

func centresOf(of []group) [][2]float64 {
	all := make([][2]float64, len(of))
	for i, one := range of {
		all[i] = [2]float64{one.X, one.Y}
	}
	return all
}

// bytes is the memory of the scan.
func (g *groups) bytes() int64 {
	n := 4*len(g.scan.Diffraction) + 8*len(g.least)
	if g.scan.Object != nil {
		n += 8 * len(g.scan.Object.Values)
	}
	return int64(n)
}
