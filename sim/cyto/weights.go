package cyto

import (
	"context"
	"math"
	"slices"
	"strings"

	"prismtop/sim/nn"
	"prismtop/sim/weights"
)

// StateDict lists the network's arrays without their numbers, by the names of files of
// weights: of a residual block inp, down or bottle, BLOCK.conv1.weight [out, in, 3, 3, 3],
// BLOCK.conv2.weight, BLOCK.norm1.weight and .bias, BLOCK.norm2, and of the shortcut
// BLOCK.conv3.weight [out, in, 1, 1, 1] and BLOCK.norm3; of the way up, up0 and up1,
// BLOCK.up.weight [in, out, 2, 2, 2], BLOCK.conv1, .conv2, .norm1 and .norm2; out.weight
// and out.bias. Weights for planes lack the first axis of the kernel.
func (n *Network) StateDict() []weights.Tensor {
	all := make([]weights.Tensor, len(n.parameters))
	for i, p := range n.parameters {
		all[i] = weights.Tensor{Name: p.Name, Shape: slices.Clone(p.Shape)}
	}
	return all
}

// Seeded returns weights drawn from a linear congruential generator, for comparisons
// with other programs (§B2.3): of convolutions uniform within ±√(6/fan in), of norms
// within 0.1 of 1, biases within ±0.1.
func (n *Network) Seeded(seed uint32) []weights.Tensor {
	g, all := weights.Generator(seed), n.StateDict()
	for i, p := range n.parameters {
		v := make([]float32, elements(p.Shape))
		for k := range v {
			switch {
			case p.fanIn > 0:
				v[k] = float32(g.Next() * math.Sqrt(6/float64(p.fanIn)))
			case strings.HasSuffix(p.Name, ".weight"):
				v[k] = float32(1 + 0.1*g.Next())
			default:
				v[k] = float32(0.1 * g.Next())
			}
		}
		all[i].Values = v
	}
	return all
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// SetWeights writes weights, in any order, to a state.
func (n *Network) SetWeights(s nn.State, all []weights.Tensor) error {
	return weights.Put(n.model, s, all)
}

// Weights reads the weights of a state.
func (n *Network) Weights(s nn.State) []weights.Tensor {
	return weights.Get(n.model, s, n.StateDict(), "")
}

// Gradients reads the gradients of the last training step, while its plan is loaded.
func (n *Network) Gradients(s nn.State) []weights.Tensor {
	return weights.Get(n.model, s, n.StateDict(), ".grad")
}

// ReadWeights reads a file of weights with the names of StateDict or of Names, and returns lines for the log about it.
func (n *Network) ReadWeights(ctx context.Context, path string) (all []weights.Tensor, said []string, err error) {
	return weights.Read(ctx, path, weights.Network{Arrays: n.StateDict(), Others: n.Names()})
}
