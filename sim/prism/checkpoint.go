package prism

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"prismtop/sim/checkpoint"
	"prismtop/sim/nn"
)

// Names of a checkpoint's arrays beside the model's variables; all are [N, N]. Each is there
// only while the reconstruction needs it.
const (
	currentArray   = "reconstruction.current" // at the start of the sample
	outputArray    = "reconstruction.newest"
	targetOldArray = "target.old"
	targetNewArray = "target.new"
)

// position is the part of a reconstruction's state that is no array. The accumulated mask, the
// disc and the thresholds follow from it and the settings; caches affect no bit of a result.
type position struct {
	Initial      bool              `json:"initial"`   // the initialisation is under way
	Sample       int               `json:"sample"`    // counted over all passes; −1 before the first
	InSample     int               `json:"in_sample"` // iterations of it so far
	LearningRate checkpoint.Number `json:"learning_rate"`
	PlateauBest  checkpoint.Number `json:"plateau_best"`
	PlateauBad   int               `json:"plateau_bad"`
	Elapsed      time.Duration     `json:"elapsed_ns"` // of the sample
	Noise        string            `json:"noise"`      // where its random numbers stand, hexadecimal; empty without noise
	Picture      string            `json:"picture"`    // SHA-256 of the object's amplitudes, hexadecimal
	Current      bool              `json:"current"`    // reconstruction.current is there
	Whole        bool              `json:"whole"`      // reconstruction.newest is there
}

// targets reports whether a sample is under way, whose targets the next iteration needs.
func (p *position) targets() bool { return !p.Initial && p.InSample > 0 }

// measured returns the number of samples in the accumulated mask.
func (p *position) measured() int {
	switch {
	case p.Initial:
		return 0
	case p.InSample > 0:
		return p.Sample
	}
	return p.Sample + 1
}

// Checkpoint returns the state of the reconstruction between two iterations.
func (r *Reconstruction) Checkpoint(ctx context.Context) (*checkpoint.State, error) {
	sum, err := r.truth.sum(ctx)
	if err != nil {
		return nil, err
	}
	p, arrays, err := r.copyState(ctx, nil)
	if err != nil {
		return nil, err
	}
	p.Picture = sum
	return &checkpoint.State{Scalars: p, Arrays: arrays}, nil
}

// copyState copies the state of the reconstruction between two iterations, without the picture's hash, to the memory of
// an older copy as far as that fits.
func (r *Reconstruction) copyState(ctx context.Context, old []checkpoint.Array) (position, []checkpoint.Array, error) {
	p := position{
		Initial: r.initial, Sample: r.sample, InSample: r.inSample, LearningRate: checkpoint.Number(r.lr),
		PlateauBest: checkpoint.Number(r.plateau.best), PlateauBad: r.plateau.bad, Elapsed: time.Since(r.began),
		Current: r.hasCurrent, Whole: r.whole,
	}
	if r.system.options.Noise != nil {
		source := r.system.options.Noise.State()
		state, err := source.MarshalBinary()
		if err != nil {
			return p, nil, err
		}
		p.Noise = hex.EncodeToString(state)
	}
	r.keepTargets()
	arrays := r.arrays(&p)
	for i := range arrays {
		if err := ctx.Err(); err != nil {
			return p, nil, err
		}
		a := &arrays[i]
		if k := slices.IndexFunc(old, func(o checkpoint.Array) bool {
			return o.Name == a.Name &&
				slices.Equal(o.Shape, a.Shape)
		}); k >= 0 {
			a.Float32 = old[k].Float32
		} else {
			a.Float32 = make([]float32, elements(a.Shape))
		}
		switch a.Name {
		case currentArray:
			copy(a.Float32, r.current)
		case outputArray:
			output, err := r.newest()
			if err != nil {
				return p, nil, err
			}
			copy(a.Float32, output)
		case targetOldArray:
			copy(a.Float32, r.targets.old)
		case targetNewArray:
			copy(a.Float32, r.targets.new)
		default:
			v, _ := r.decoder.Model().Index(a.Name)
			r.state.Read(v, a.Float32)
		}
	}
	return p, arrays, r.failure()
}

// keepTargets copies the targets of a sample from the plan, if that holds the newest.
func (r *Reconstruction) keepTargets() {
	if !r.initial {
		r.targets.keep(r.program)
	}
}

// arrays lists the arrays of a checkpoint at a position, without their numbers: the model's
// variables but the gradients, which every iteration computes again, then the planes.
func (r *Reconstruction) arrays(p *position) []checkpoint.Array {
	var all []checkpoint.Array
	for _, v := range r.decoder.Model().Variables() {
		if v.Category != nn.Gradients {
			all = append(all, checkpoint.Array{Name: v.Name, Shape: slices.Clone([]int(v.Shape))})
		}
	}
	plane := []int{r.settings.Size, r.settings.Size}
	for _, a := range []struct {
		there bool
		name  string
	}{{p.Current, currentArray}, {p.Whole, outputArray}, {p.targets(), targetOldArray}, {p.targets(), targetNewArray}} {
		if a.there {
			all = append(all, checkpoint.Array{Name: a.name, Shape: plane})
		}
	}
	return all
}

func elements(shape []int) int {
	n := 1
	for _, axis := range shape {
		n *= axis
	}
	return n
}

// Resume puts a new reconstruction into the state of a checkpoint of the same settings.
func (r *Reconstruction) Resume(ctx context.Context, c *checkpoint.Checkpoint) error {
	var p position
	if err := c.Scalars(&p); err != nil {
		return err
	}
	if err := r.checkPosition(ctx, c, &p); err != nil {
		return err
	}
	arrays, err := c.Take(r.arrays(&p))
	if err != nil {
		return err
	}
	if err := r.restore(ctx, &p, arrays); err != nil {
		return err
	}
	return r.load(ctx)
}

// restore puts the reconstruction into a state, given its arrays by their names. The next plan is not loaded.
func (r *Reconstruction) restore(ctx context.Context, p *position, arrays map[string]checkpoint.Array) error {
	if p.Noise != "" {
		var source rand.PCG
		state, err := hex.DecodeString(p.Noise)
		if err == nil {
			err = source.UnmarshalBinary(state)
		}
		if err != nil {
			return fmt.Errorf("the state of the noise's random numbers cannot be read: %w", err)
		}
		r.system.options.Noise.SetState(source)
	}
	for i, v := range r.decoder.Model().Variables() {
		if a, ok := arrays[v.Name]; ok {
			r.state.Write(i, a.Float32)
		}
	}
	copy(r.current, arrays[currentArray].Float32)
	copy(r.output, arrays[outputArray].Float32)
	copy(r.targets.old, arrays[targetOldArray].Float32)
	copy(r.targets.new, arrays[targetNewArray].Float32)
	r.hasCurrent, r.whole, r.hasOutput = p.Current, p.Whole, p.Whole
	if r.system.Samples() != p.measured() {
		r.system.clearMasks()
		for i := range p.measured() {
			if err := r.system.AddMask(ctx, r.samples.of(i)); err != nil {
				return err
			}
		}
	}
	r.initial, r.sample, r.inSample, r.lr = p.Initial, p.Sample, p.InSample, float64(p.LearningRate)
	r.plateau, r.began = plateau{float64(p.PlateauBest), p.PlateauBad}, time.Now().Add(-p.Elapsed)
	if r.program != nil {
		r.program.fed = false
	}
	return r.failure()
}

// checkPosition returns an error if a position is impossible or of another picture.
func (r *Reconstruction) checkPosition(ctx context.Context, c *checkpoint.Checkpoint, p *position) error {
	sum, err := r.truth.sum(ctx)
	rate := float64(p.LearningRate)
	switch {
	case err != nil:
		return err
	case p.Picture != sum:
		return fmt.Errorf("the picture %s differs from that of the checkpoint, %s: give it by --image or --set "+
			"measured, or restore the file", r.truth.object.Name, c.Object)
	case p.Initial && (r.initialisation.disc == nil || p.Sample != -1),
		p.Sample < -1 || p.Sample >= r.samples.total(r.settings.Passes) || p.InSample < 0 || p.InSample > math.MaxInt32,
		p.Sample == -1 && p.InSample > 0 && !p.Initial,
		!(rate > 0) || math.IsInf(rate, 0) || p.PlateauBad < 0 || p.PlateauBad > plateauPatience ||
			math.IsNaN(float64(p.PlateauBest)),
		p.Elapsed < 0:
		return errors.New("the task's state is one that no run has")
	case (p.Noise != "") != (r.system.options.Noise != nil):
		return errors.New("the state of the noise's random numbers does not fit the setting noise")
	}
	return nil
}
