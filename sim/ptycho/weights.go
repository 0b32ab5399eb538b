package ptycho

import (
	"context"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/weights"
)

// StateDict lists the network's arrays without their numbers, by the names of files of
// weights: for each convolution NAME.weight [out, in, 3, 3] and NAME.bias [out], and
// log_scale. The names are enc.I.a and enc.I.b, and for each HEAD, amp and phase,
// HEAD.stages.I.a and .b, HEAD.inner, and HEAD.outer_a, .outer_b, .outer_c.
func (n *Network) StateDict() []weights.Tensor {
	all := n.convolutions()
	return append(all, weights.Tensor{Name: scaleParameter, Shape: []int{}})
}

// convolutions is StateDict without the scale.
func (n *Network) convolutions() []weights.Tensor {
	var all []weights.Tensor
	for _, c := range n.convs {
		all = append(all,
			weights.Tensor{Name: c.name + ".weight", Shape: []int{c.out, c.in, kernel, kernel}},
			weights.Tensor{Name: c.name + ".bias", Shape: []int{c.out}})
	}
	return all
}

// Seeded returns weights drawn from a linear congruential generator, for comparisons
// with other programs (§A1.8): uniform within ±√(6/(9·in)), biases within ±0.05, and
// a scale of 1.
func (n *Network) Seeded(seed uint32) []weights.Tensor {
	g, all := weights.Generator(seed), n.StateDict()
	for i, c := range n.convs {
		bound := math.Sqrt(6 / float64(kernel*kernel*c.in))
		w, bias := make([]float32, c.out*c.in*kernel*kernel), make([]float32, c.out)
		for k := range kernel * kernel {
			for in := range c.in {
				for out := range c.out {
					w[(out*c.in+in)*kernel*kernel+k] = float32(g.Next() * bound)
				}
			}
		}
		for out := range bias {
			bias[out] = float32(g.Next() * 0.05)
		}
		all[2*i].Values, all[2*i+1].Values = w, bias
	}
	all[len(all)-1].Values = []float32{0}
	return all
}

// SetWeights writes weights, in any order, to a state.
func (n *Network) SetWeights(s nn.State, all []weights.Tensor) error {
	return weights.Put(n.model, s, all)
}

// Weights reads the weights of a state.
func (n *Network) Weights(s nn.State) []weights.Tensor {
	return weights.Get(n.model, s, n.StateDict(), "")
}

// ReadWeights reads a file of weights with the names of StateDict or of Names, and returns lines for the log about
// it. Without log_scale in the file, the scale is 1.
func (n *Network) ReadWeights(ctx context.Context, path string) (all []weights.Tensor, said []string, err error) {
	arrays := n.StateDict()
	arrays[len(arrays)-1].Values = []float32{0}
	return weights.Read(ctx, path, weights.Network{Arrays: arrays, Others: n.programs(), Refused: n.refusedOwn})
}

// ScaleOf returns the factor by which normalised amplitudes are multiplied for a network
// with these weights, which divides by it.
func ScaleOf(all []weights.Tensor) float64 {
	for _, t := range all {
		if t.Name == scaleParameter && len(t.Values) == 1 {
			return math.Exp(float64(t.Values[0]))
		}
	}
	return 1
}
