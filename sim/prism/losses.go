package prism

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
)

// LossSpec is the loss of one measurement: a weighted sum of terms (spec/prism.md
// §5.5). The zero value is PRISM's default, normalised L1.
type LossSpec struct{ terms []lossTerm }

type lossTerm struct {
	kind      nn.LossKind
	normalize bool
	weight    float32
}

// CompositeWeights are the shares of the composite loss; they sum to 1 within 0.01.
type CompositeWeights struct{ L1, L2, SSIM float64 }

// ParseLoss reads a loss by its name: l1, l2, ssim, ms-ssim, composite. Normalize
// divides l1 and l2 by the target's mean amplitude or mean square; inside a
// composite they are never divided. Weights apply to composite only.
func ParseLoss(name string, normalize bool, w CompositeWeights) (LossSpec, error) {
	switch name {
	case "l1":
		return oneTerm(nn.L1, normalize), nil
	case "l2":
		return oneTerm(nn.L2, normalize), nil
	case "ssim":
		return oneTerm(nn.SSIM, false), nil
	case "ms-ssim":
		return oneTerm(nn.MSSSIM, false), nil
	case "composite":
		return composite(w)
	}
	return LossSpec{}, fmt.Errorf("loss = %q: must be l1, l2, ssim, ms-ssim or composite", name)
}

func oneTerm(kind nn.LossKind, normalize bool) LossSpec {
	return LossSpec{terms: []lossTerm{{kind, normalize, 1}}}
}

func composite(w CompositeWeights) (LossSpec, error) {
	// same bound as the settings' rule
	if sum := w.L1 + w.L2 + w.SSIM; w.L1 < 0 || w.L2 < 0 || w.SSIM < 0 || !(math.Abs(sum-1) <= 0.01+1e-12) {
		return LossSpec{},
			fmt.Errorf("loss = composite: weights %g, %g, %g of l1, l2, ssim must be positive and sum to 1",
				w.L1, w.L2, w.SSIM)
	}
	var s LossSpec
	for _, t := range []lossTerm{{nn.L1, false, float32(w.L1)}, {nn.L2, false, float32(w.L2)},
		{nn.SSIM, false, float32(w.SSIM)}} {
		if t.weight > 0 {
			s.terms = append(s.terms, t)
		}
	}
	return s, nil
}

// add adds the loss of a prediction against a target to a graph, as a scalar.
func (s LossSpec) add(g *nn.Graph, prediction, target nn.Value) nn.Value {
	if len(s.terms) == 0 {
		s = oneTerm(nn.L1, true)
	}
	values, weights := make([]nn.Value, len(s.terms)), make([]float32, len(s.terms))
	for i, t := range s.terms {
		values[i], weights[i] = g.Loss(prediction, target, t.kind, t.normalize), t.weight
	}
	if len(values) == 1 && weights[0] == 1 {
		return values[0]
	}
	return g.WeightedSum(weights, values...)
}

// pointwise returns the loss's only term, if that compares pixel by pixel.
func (s LossSpec) pointwise() (kind nn.LossKind, normalize, ok bool) {
	if len(s.terms) == 0 {
		return nn.L1, true, true
	}
	t := s.terms[0]
	return t.kind, t.normalize, len(s.terms) == 1 && t.weight == 1 && (t.kind == nn.L1 || t.kind == nn.L2)
}
