// Package learning is what the workloads that train a network by minibatches share: the arrays of
// their checkpoints, weights that outlast an update that was cut short, the files that a training
// writes, and plans loaded on a device. It knows no network.
package learning

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
	"prismtop/sim/weights"
)

// Variables are the variables of a model, in a state on a device.
type Variables struct {
	Model *nn.Model
	State nn.State
}

// Read returns a copy of a variable.
func (v Variables) Read(name string) []float32 {
	i, _ := v.Model.Index(name)
	values := make([]float32, v.Model.Variables()[i].Shape.Elements())
	v.State.Read(i, values)
	return values
}

// Arrays lists the arrays of a checkpoint without their numbers: the variables but the gradients,
// which every iteration computes again.
func (v Variables) Arrays() []checkpoint.Array {
	var all []checkpoint.Array
	for _, of := range v.Model.Variables() {
		if of.Category != nn.Gradients {
			all = append(all, checkpoint.Array{Name: of.Name, Shape: slices.Clone([]int(of.Shape))})
		}
	}
	return all
}

// Copy returns Arrays with their numbers.
func (v Variables) Copy(ctx context.Context) ([]checkpoint.Array, error) {
	all := v.Arrays()
	for i := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all[i].Float32 = v.Read(all[i].Name)
	}
	return all, nil
}

// Restore writes the arrays of a checkpoint, which must be those of Arrays.
func (v Variables) Restore(c *checkpoint.Checkpoint) error {
	arrays, err := c.Take(v.Arrays())
	if err != nil {
		return err
	}
	for i, of := range v.Model.Variables() {
		if a, ok := arrays[of.Name]; ok {
			v.State.Write(i, a.Float32)
		}
	}
	return nil
}

// write writes arrays by their names.
func (v Variables) write(arrays []checkpoint.Array) {
	for i := range arrays {
		if at, ok := v.Model.Index(arrays[i].Name); ok {
			v.State.Write(at, arrays[i].Float32)
		}
	}
}

// WeightsOf fills in weights, of which names and shapes are given, from a checkpoint whose arrays
// have the same names.
func WeightsOf(c *checkpoint.Checkpoint, all []weights.Tensor) ([]weights.Tensor, error) {
	for i := range all {
		at := slices.IndexFunc(c.Arrays, func(a checkpoint.Array) bool { return a.Name == all[i].Name })
		if at < 0 || !slices.Equal(c.Arrays[at].Shape, all[i].Shape) || c.Arrays[at].Float32 == nil {
			return nil, fmt.Errorf("the array %s is missing, or not of the shape %v", all[i].Name, all[i].Shape)
		}
		all[i].Values = c.Arrays[at].Float32
	}
	return all, nil
}

// Network lists its weights by their names in files, which are those of variables, without their numbers.
type Network interface{ StateDict() []weights.Tensor }

// Keeper has the newest complete weights of a training, also after an update that was cut short. The
// zero value copies nothing and then has none.
type Keeper struct {
	keeps  bool
	kept   [][]float32 // before the newest update
	broken bool        // that was cut short: the variables are undefined
}

// KeepOutput makes Keep copy the weights.
func (k *Keeper) KeepOutput() { k.keeps = true }

// Keep is called before each update of the variables.
func (k *Keeper) Keep(v Variables, of Network) {
	if !k.keeps {
		return
	}
	all, first := of.StateDict(), k.kept == nil
	for i := range all {
		if first {
			k.kept = append(k.kept, v.Read(all[i].Name))
			continue
		}
		at, _ := v.Model.Index(all[i].Name)
		v.State.Read(at, k.kept[i])
	}
}

// Updated is called with the error of an update, which it returns: nil if that is complete.
func (k *Keeper) Updated(err error) error {
	k.broken = err != nil
	return err
}

// Whole reports whether the variables are those of a complete update.
func (k *Keeper) Whole() bool { return !k.broken }

// errCutShort refuses weights that an update left half changed.
var errCutShort = errors.New("the last update was cut short, and with it the weights")

// Newest returns the newest complete weights.
func (k *Keeper) Newest(v Variables, of Network) ([]weights.Tensor, error) {
	if k.broken && k.kept == nil {
		return nil, errCutShort
	}
	all := of.StateDict()
	for i := range all {
		if k.broken {
			all[i].Values = k.kept[i]
		} else {
			all[i].Values = v.Read(all[i].Name)
		}
	}
	return all, nil
}
