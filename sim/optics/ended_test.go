package optics

import (
	"context"
	"errors"
	"testing"

	"prismtop/profiles/await/awaittest"
)

// Passes over a whole field, and loops that make thousands of items, check their
// context often enough, and return its error when it ends.
func TestAContextEndsWhatTakesLong(t *testing.T) {
	const n = 4096
	plane := make([]float32, n*n)
	for _, tt := range []struct {
		name  string
		looks int // at least, of the whole
		do    func(ctx context.Context) error
	}{
		{"a mask", n, func(ctx context.Context) error {
			return Aperture{Radius: n / 2}.Add(ctx, plane, Coordinates(n), Point{})
		}},
		{"a mask behind vanes", 64, func(ctx context.Context) error {
			a := Aperture{Kind: Obscured, Radius: 40, InnerRadius: 4, Spiders: 64, SpiderWidth: 1}
			return a.Add(ctx, plane, Coordinates(n), Point{})
		}},
		{"a kept mask", 64, func(ctx context.Context) error {
			_, err := NewMaskCache(n, 0, true, nil).Mask(ctx, Aperture{Radius: 40}, Point{})
			return err
		}},
		{"a union", 64, func(ctx context.Context) error {
			return NewMaskCache(n, 0, false, nil).Add(ctx, plane, Aperture{Radius: 40}, Point{})
		}},
		{"noise", 16, func(ctx context.Context) error {
			return must[*Noise](t)(NewNoise(NoiseOptions{Kind: "composite", SNR: 40, ReadoutSigma: 0.1})).Apply(ctx, plane, plane)
		}},
		{"a pattern of lines", 5000, func(ctx context.Context) error {
			_, err := Pattern(ctx, PatternOptions{Name: "random", Samples: 5000, Diameter: 200, Size: 256, Length: 100})
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

// A mask that was not drawn to its end is not kept.
func TestAnUnfinishedMaskIsNotKept(t *testing.T) {
	c, a := NewMaskCache(64, 0, true, nil), Aperture{Radius: 20}
	if _, err := c.Mask(awaittest.After(5), a, Point{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if got := maskOf(t, c, a, Point{}); count(got) != count(drawn(64, a, Point{})) {
		t.Errorf("%d pixels", count(got))
	}
}
