package weights

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"prismtop/profiles/unit"
	"prismtop/sim/npy"
)

// checkpointName is the first array of a checkpoint, which is an NPZ archive, too (docs/checkpoints.md).
const checkpointName = "checkpoint"

var errCheckpoint = errors.New("is a checkpoint: must be a file of weights, which prismtop weights export --from " +
	"makes of it; --resume continues the run itself")

// wrappers are the prefixes that wrappers of PyTorch and Lightning put before the names of what they
// wrap: data parallel, a module that trains another, torch.compile, and CytoDL's models.
var wrappers = []string{"module.", "model.", "_orig_mod.", "backbone."}

// Names are the names and layouts that another program has for a network's arrays.
type Names struct {
	Key     string                 // of --names: monai
	Program string                 // MONAI's DynUNet
	Arrays  []Alias                // in the order of the network's, of which the last ones may be missing there
	Ignored func(name string) bool // names of what the network does not have and does not need; nil for none

	// Refused says why a file of the program is of another network, by what it has besides or of another
	// shape: it names the field of the program's configuration. Empty for no reason; nil for none.
	Refused func(name string, shape []int64) string
}

// Alias is an array under another program's name.
type Alias struct {
	Name  string
	Twins []string // further names of the same array there
	Axes  []int    // axis i there is axis Axes[i] here; nil for the same order
}

// shape returns the shape there of an array that has the given one here.
func (a *Alias) shape(here []int) []int {
	if a.Axes == nil {
		return here
	}
	there := make([]int, len(here))
	for i, axis := range a.Axes {
		there[i] = here[axis]
	}
	return there
}

// move returns numbers in the order of the other program, or from it back in the order here, where the shape is the
// given one.
func (a *Alias) move(values []float32, shape []int, back bool) []float32 {
	if a.Axes == nil {
		return values
	}
	moved := make([]float32, len(values))
	strides, step := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i], step = step, step*shape[i]
	}
	sides, at := a.shape(shape), make([]int, len(shape))
	for there := range step {
		here := 0
		for i, n := range at {
			here += n * strides[a.Axes[i]]
		}
		if back {
			moved[here] = values[there]
		} else {
			moved[there] = values[here]
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < sides[i] {
				break
			}
			at[i] = 0
		}
	}
	return moved
}

// Rename returns a network's arrays under another program's names and in its layouts.
func (n *Names) Rename(all []Tensor) []Tensor {
	var renamed []Tensor
	for i, a := range n.Arrays {
		t := Tensor{Shape: a.shape(all[i].Shape), Values: a.move(all[i].Values, all[i].Shape, false)}
		for _, name := range append([]string{a.Name}, a.Twins...) {
			t.Name = name
			renamed = append(renamed, t)
		}
	}
	return renamed
}

// own are the network's own names.
func (n *Network) own() *Names {
	own := &Names{Ignored: n.Ignored, Refused: n.Refused}
	for _, t := range n.Arrays {
		own.Arrays = append(own.Arrays, Alias{Name: t.Name})
	}
	return own
}

// places are the network's arrays by name. Twins have the place -1.
func (n *Names) places() map[string]int {
	places := make(map[string]int, len(n.Arrays))
	for i, a := range n.Arrays {
		places[a.Name] = i
		for _, twin := range a.Twins {
			places[twin] = -1
		}
	}
	return places
}

// take finds the network's arrays among those of a file and reads their numbers.
func (n *Network) take(all []stored) (tensors []Tensor, said []string, err error) {
	if len(all) > 0 && all[0].name == checkpointName {
		return nil, nil, errCheckpoint
	}
	names, best := n.own(), -1
	for _, candidate := range append([]*Names{names}, pointers(n.Others)...) {
		places, matched := candidate.places(), 0
		knows := func(name string) bool { _, ok := places[name]; return ok }
		for _, of := range all {
			if bare, _ := unwrapped(of.name, knows); knows(bare) {
				matched++
			}
		}
		if matched > best {
			names, best = candidate, matched
		}
	}
	found, said, err := n.find(all, names)
	if err != nil {
		return nil, nil, err
	}
	tensors = make([]Tensor, len(n.Arrays))
	for i, want := range n.Arrays {
		if of := found[i]; of.load != nil {
			if shape := names.Arrays[i].shape(want.Shape); !slices.EqualFunc(of.shape, shape,
				func(a int64, b int) bool { return a == int64(b) }) {
				return nil, nil, names.refuse(of, fmt.Errorf("%s has the shape (%s), must be (%s)", printed(of.name),
					npy.JoinShape(of.shape), joined(shape)))
			}
		}
	}
	for i, want := range n.Arrays {
		values := want.Values
		if of := found[i]; of.load != nil {
			if values, err = of.load(); err != nil {
				return nil, nil, err
			}
			for k, v := range values {
				if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
					return nil, nil, fmt.Errorf("%s: number %d is %g: must be finite in float32", printed(of.name), k,
						v)
				}
			}
			values = names.Arrays[i].move(values, want.Shape, true)
		}
		tensors[i] = Tensor{Name: want.Name, Shape: want.Shape, Values: values}
	}
	if names.Program != "" {
		said = append(said, "the names in the file of weights are those of "+names.Program)
	}
	return tensors, said, nil
}

func pointers(all []Names) []*Names {
	var p []*Names
	for i := range all {
		p = append(p, &all[i])
	}
	return p
}

// refuse returns the program's reason to refuse an array, or else the error.
func (n *Names) refuse(of stored, err error) error {
	if n.Refused != nil {
		if reason := n.Refused(of.name, of.shape); reason != "" {
			return fmt.Errorf("%w: %s", err, reason)
		}
	}
	return err
}

// find returns the file's arrays in the network's order; those without load are missing.
func (n *Network) find(all []stored, names *Names) (found []stored, said []string, err error) {
	places := names.places()
	knows := func(name string) bool {
		_, ok := places[name]
		return ok || names.Ignored != nil && names.Ignored(name)
	}
	found = make([]stored, len(n.Arrays))
	prefixes := map[string]int{}
	var extra, missing []string
	var first stored
	seen := make(map[string]bool, len(all))
	for _, of := range all {
		name, prefix := unwrapped(of.name, knows)
		if seen[name] {
			return nil, nil, fmt.Errorf("%q is there twice", of.name)
		}
		seen[name] = true
		if prefix != "" {
			prefixes[prefix]++
		}
		switch i, ok := places[name]; {
		case ok && i >= 0:
			found[i] = of
		case !knows(name):
			if extra = append(extra, of.name); len(extra) == 1 {
				first = of
			}
		}
	}
	for i, t := range n.Arrays {
		if found[i].load == nil && t.Values == nil {
			a := &Alias{Name: t.Name}
			if i < len(names.Arrays) {
				a = &names.Arrays[i]
			}
			missing = append(missing, fmt.Sprintf("%s (%s)", a.Name, joined(a.shape(t.Shape))))
		}
	}
	if len(missing)+len(extra) > 0 {
		return nil, nil, names.refuse(first, differ(missing, extra))
	}
	for _, prefix := range slices.Sorted(maps.Keys(prefixes)) {
		said = append(said, fmt.Sprintf("left out %s of %s in the file of weights", prefix,
			unit.Plural(prefixes[prefix], "name", "names")))
	}
	return found, said, nil
}

// unwrapped returns a name without the prefixes of wrappers, and those, if that makes it known; else the
// name as it is.
func unwrapped(name string, known func(string) bool) (bare, prefix string) {
	if known(name) {
		return name, ""
	}
	bare = name
	for !known(bare) {
		i := slices.IndexFunc(wrappers, func(w string) bool { return strings.HasPrefix(bare, w) })
		if i < 0 {
			break
		}
		bare, prefix = bare[len(wrappers[i]):], prefix+wrappers[i]
	}
	if inner := strings.ReplaceAll(bare, "._orig_mod.", "."); inner != bare { // a part was compiled
		bare, prefix = inner, prefix+"_orig_mod."
	}
	if !known(bare) {
		return name, ""
	}
	return bare, prefix
}

// mostNamed bounds the names in an error.
const mostNamed = 12

// differ returns the error that lists names that are missing in a file or not the network's.
func differ(missing, extra []string) error {
	var parts []string
	for _, p := range []struct {
		what string
		of   []string
	}{{"missing", missing}, {"not of this network", extra}} {
		if len(p.of) == 0 {
			continue
		}
		shown := p.of[:min(len(p.of), mostNamed)]
		for i, name := range shown {
			shown[i] = printed(name)
		}
		text := p.what + ": " + strings.Join(shown, ", ")
		if more := len(p.of) - len(shown); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		parts = append(parts, text)
	}
	return errors.New("has other names than the network: " + strings.Join(parts, "; "))
}

func joined(shape []int) string {
	axes := make([]int64, len(shape))
	for i, n := range shape {
		axes[i] = int64(n)
	}
	return npy.JoinShape(axes)
}
