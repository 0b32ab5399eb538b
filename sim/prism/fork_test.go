package prism_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"prismtop/profiles"
	"prismtop/sim/prism"
)

// arm runs iterations and returns the bits of their losses and of the output.
func arm(t *testing.T, r *prism.Reconstruction, n int) (bits []uint64) {
	t.Helper()
	var rec profiles.Iteration
	for range n {
		rec = profiles.Iteration{}
		if out, err := r.Iterate(t.Context(), &rec); err != nil || out.UnitEnded {
			t.Fatalf("%v, the sample ended: %v", err, out.UnitEnded)
		}
		bits = append(bits, math.Float64bits(rec.Series[prism.SeriesLossOld]), math.Float64bits(rec.Series[prism.SeriesLossNew]))
	}
	for _, v := range r.Output() {
		bits = append(bits, uint64(math.Float32bits(v)))
	}
	return bits
}

// The same arm twice gives the same bits, whatever ran between, and the run goes on as if nothing
// had been.
func TestAForkGoesBackBitForBit(t *testing.T) {
	for _, sets := range []string{
		"", "noise=shot snr=30", "amp=bf16", "amp=fp16", "fused_optimizer=false", "pattern=remeasure noise=composite snr=30 readout_sigma=0.01",
		"scheduler=plateau", "batch_norm=true loss=composite",
	} {
		t.Run(sets, func(t *testing.T) {
			r, rec := inSecondSample(t, strings.Fields(sets)...)
			if err := r.Mark(t.Context()); err != nil {
				t.Fatal(err)
			}
			first := arm(t, r, 12)
			if err := r.Return(t.Context()); err != nil {
				t.Fatal(err)
			}
			v, _ := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=1000000"}, strings.Fields(sets), []string{"learning_rate=0.5", "checkpointing=true", "pattern=remeasure"})...)
			same, _ := resolved(t, "", slices.Concat(steadySettings, []string{"iterations=1000000"}, strings.Fields(sets))...)
			if err := r.Apply(t.Context(), v.Values()); err != nil {
				t.Fatal(err)
			}
			other := arm(t, r, 12)
			if err := r.Apply(t.Context(), same.Values()); err != nil {
				t.Fatal(err)
			}
			if err := r.Return(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again := arm(t, r, 12); !slices.Equal(first, again) {
				t.Error("the same arm twice gave other bits")
			}
			if slices.Equal(first, other) {
				t.Error("another learning rate gave the same bits")
			}
			r.Unmark()
			iterate(t, r, rec)
		})
	}
}

func TestAForkNeedsAPointWithinASample(t *testing.T) {
	s, object := resolved(t, "", steadySettings...)
	r := prepared(t, s, object, 1)
	if err := r.Mark(t.Context()); err == nil {
		t.Error("marked before the first iteration")
	}
	if err := r.Return(t.Context()); err == nil {
		t.Error("returned without a mark")
	}
}
