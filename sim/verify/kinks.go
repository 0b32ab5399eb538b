package verify

import (
	"fmt"
	"math"

	"prismtop/sim/nn"
	"prismtop/sim/prism"
)

// ReLU and the L1 loss have a kink: the side on which a value lies determines a
// whole pixel's gradient. A value closer to the kink than float32 rounding may
// fall on either side in different correct programs, and gradients then differ by
// much more than rounding. Such values are settled on the reference's side: the
// bias before the ReLU, or the target pixel, is moved by no more than the value's
// own rounding.

// maxMoves bounds the number of settled values; more of them are no coincidence.
const maxMoves = 16

// settleKinks looks for such values in the first forward pass and moves them,
// earliest layer first, since a move shifts all later values.
func (d *decoderCase) settleKinks() error {
	for range maxMoves {
		n, err := d.trainer("l1", true)
		if err != nil {
			return err
		}
		moved, err := d.settleOne(n)
		n.close()
		if err != nil || !moved {
			return err
		}
	}
	return fmt.Errorf("more than %d values lie within rounding of a kink", maxMoves)
}

// settleOne moves the first value that is on the wrong side.
func (d *decoderCase) settleOne(n *network) (moved bool, err error) {
	if err := n.run(nn.SegmentForward, nn.SegmentEvaluate); err != nil {
		return false, err
	}
	for _, layer := range d.rectified() {
		k, err := n.findKink("act."+layer, "act."+layer, nil)
		if err != nil {
			return false, err
		}
		if k != nil {
			bias := d.values[layer+".bias"]
			channel := k.at * len(bias) / k.elements
			d.move(bias, channel, k.step(bias[channel]), "act."+layer, "ReLU")
			return true, nil
		}
	}
	for _, m := range []struct {
		name, output string
		target       []float32
	}{{"meas_old", prism.MeasuredOldOutput, d.targets[0]}, {"meas_new", prism.MeasuredNewOutput, d.targets[1]}} {
		k, err := n.findKink(m.name, m.output, m.target)
		if err != nil {
			return false, err
		}
		if k != nil {
			d.move(m.target, k.at, -k.step(m.target[k.at]), m.name, "L1")
			return true, nil
		}
	}
	return false, nil
}

// rectified lists the layers whose output goes to a ReLU, in order: the
// normalised ones or, without normalisation, the growing ones.
func (d *decoderCase) rectified() []string {
	var layers []string
	for i := range d.net.Channels() {
		norm := fmt.Sprintf("bn%d", i)
		conv := fmt.Sprintf("conv%d", i)
		switch {
		case d.values[norm+".bias"] != nil:
			layers = append(layers, norm)
		case d.values[conv+".bias"] != nil && d.arrays["param."+conv+".weight"].shape[2] == growingKernel:
			layers = append(layers, conv)
		}
	}
	return layers
}

// kink is a value on the wrong side: the distances from the kink here and in
// the reference.
type kink struct {
	at, elements int
	got, want    float64
}

// step returns the amount that moves the value to the reference's side if added
// to a float32 number of the given size.
func (k *kink) step(size float32) float64 {
	const ulps = 4 // for the rounding of the change and of the subsequent sum
	margin := math.Abs(k.want) + ulps*float64(math.Nextafter32(1, 2)-1)*math.Abs(float64(size))
	return math.Copysign(math.Abs(k.got)+margin, k.want-k.got)
}

// findKink compares the sides of an output with the truth's: of 0, or of the
// target if there is one. A value farther from the truth than rounding explains
// is not a kink: it fails by itself.
func (n *network) findKink(name, output string, target []float32) (*kink, error) {
	truth, reference := n.arrays[name+"_64"], n.arrays[name+"_32"]
	values, err := n.output(output)
	if err != nil {
		return nil, err
	}
	if truth == nil || reference == nil || len(truth.values) != len(values) || len(reference.values) != len(values) {
		return nil, nil
	}
	allowed := measureTolerance(truth, reference).allowed
	for i, v := range values {
		got, want := float64(v), truth.values[i]
		if !(math.Abs(got-want) <= allowed) {
			continue
		}
		if target != nil {
			got, want = got-float64(target[i]), want-float64(target[i])
		}
		if (got > 0) != (want > 0) {
			return &kink{i, len(values), got, want}, nil
		}
	}
	return nil, nil
}

// move adds to one element and leaves a note for the value's array.
func (d *decoderCase) move(values []float32, at int, step float64, name, kind string) {
	values[at] = float32(float64(values[at]) + step)
	d.notes[name] = fmt.Sprintf("a value within rounding of the kink of %s was moved by %.2g", kind, math.Abs(step))
}
