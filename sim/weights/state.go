package weights

import (
	"fmt"
	"slices"

	"prismtop/sim/nn"
)

// Weights of a network's state, and the generator of those that other programs can draw, too.

// Put writes arrays, in any order, to a state of a model.
func Put(m *nn.Model, s nn.State, all []Tensor) error {
	for _, t := range all {
		i, ok := m.Index(t.Name)
		if !ok || !slices.Equal(t.Shape, m.Variables()[i].Shape) || t.Values == nil {
			return fmt.Errorf("weights: %s %v is not an array of this network with its numbers", t.Name, t.Shape)
		}
		s.Write(i, t.Values)
	}
	return nil
}

// Get reads the numbers of arrays from a state of a model, where their names end in suffix. It returns the arrays.
func Get(m *nn.Model, s nn.State, all []Tensor, suffix string) []Tensor {
	for i := range all {
		v, _ := m.Index(all[i].Name + suffix)
		all[i].Values = make([]float32, m.Variables()[v].Shape.Elements())
		s.Read(v, all[i].Values)
	}
	return all
}

// Generator is a linear congruential generator of 32 bits.
type Generator uint32

// Next returns the next number in [−1, 1).
func (g *Generator) Next() float64 {
	*g = *g*1664525 + 1013904223
	return float64(*g)/(1<<31) - 1
}
