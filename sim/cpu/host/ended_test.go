package host

import (
	"context"
	"errors"
	"testing"

	"prismtop/profiles/await/awaittest"
	"prismtop/sim/optics"
)

// Passes over a whole field check their context often enough, and return its error when
// it ends.
func TestAContextEndsWhatTakesLong(t *testing.T) {
	const n = 4096
	plane := make([]float32, n*n)
	spectrum := make([]complex64, n*n)
	// The way of the backend: a piece after the other, until the context ends.
	serial := func(ctx context.Context) *Telescope {
		return must[*Telescope](t)(NewTelescope(n, NewPlanCache(true, nil), func(count int, body func(lo, hi int)) {
			for i := 0; i < count && ctx.Err() == nil; i++ {
				body(i, i+1)
			}
		}))
	}
	for _, tt := range []struct {
		name  string
		looks int // at least, of the whole
		do    func(ctx context.Context) error
	}{
		{"a fused measurement", n / 16, func(ctx context.Context) error {
			s := serial(ctx)
			s.SetTransforms(optics.Transforms{Fused: true})
			return s.Measure(ctx, plane, plane, plane, optics.Support{})
		}},
		{"a measurement", n / 16, func(ctx context.Context) error {
			return serial(ctx).Measure(ctx, plane, plane, plane, optics.Support{})
		}},
		{"an intensity", 8, func(ctx context.Context) error { return serial(ctx).InverseIntensity(ctx, plane, spectrum, plane) }},
		{"a comparison", 1024 / 16, func(ctx context.Context) error {
			m := Metrics{}
			_, err := m.Compare(ctx, plane, plane, n, optics.Window{Size: 1024})
			return err
		}},
		{"a comparison by scales", 1024/16 + 512/16, func(ctx context.Context) error {
			m := Metrics{}
			_, err := m.MSSSIM(ctx, plane[:1<<20], plane[1<<20:][:1<<20], 1024, 1024)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			whole := awaittest.After(1 << 40)
			if err := tt.do(whole); err != nil || whole.Looks() < tt.looks {
				t.Errorf("%d looks, want %d at least; %v", whole.Looks(), tt.looks, err)
			}
			for _, looks := range []int{0, whole.Looks() / 2} {
				if err := tt.do(awaittest.After(looks)); !errors.Is(err, context.Canceled) {
					t.Errorf("ended after %d looks: %v", looks, err)
				}
			}
		})
	}
}
