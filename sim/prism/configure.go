package prism

import (
	"context"
	"fmt"

	"prismtop/sim/nn"
	"prismtop/sim/optics"
	"prismtop/sim/tensor"
)

// decoderConfig returns the decoder configuration of the settings.
func decoderConfig(s *Settings) DecoderConfig {
	return DecoderConfig{
		Size: s.Size, ObjectSize: s.ObjectSize, Latent: s.Latent, Channels: s.Channels,
		BatchNorm: s.BatchNorm, Activation: s.OutputActivation, Seed: s.Seed, AMSGrad: s.AMSGrad,
	}
}

// samplePattern places the apertures of every sample (spec/prism.md §4).
func samplePattern(ctx context.Context, s *Settings) ([][]optics.Point, error) {
	diameter := s.ROIDiameter
	if diameter == 0 {
		diameter = float64(s.Size)
	}
	o := optics.PatternOptions{
		Name: s.Sampling, Samples: s.Samples, Diameter: diameter, Size: s.Size,
		Length: s.SampleLength, Seed: s.Seed,
	}
	if s.SampleLength > 0 {
		// One aperture per radius along the line, like PRISM's
		// samples_per_line_meas below 1; its default of one per pixel costs two
		// FFTs each.
		o.LineCentres = int(s.SampleLength/s.Radius) + 1
	}
	return optics.Pattern(ctx, o)
}

// aperture returns the aperture of the settings.
func aperture(s *Settings) (optics.Aperture, error) {
	kind, err := optics.ParseApertureKind(s.Aperture)
	if err != nil {
		return optics.Aperture{}, err
	}
	a := optics.Aperture{
		Kind: kind, Radius: s.Radius, InnerRadius: s.InnerRadius, Spiders: s.Spiders, SpiderWidth: s.SpiderWidth,
	}
	return a, a.Validate(s.Size)
}

// maskLimit bounds the cached masks: those of a few samples, since a sample only
// uses its own.
const maskLimit = 16 << 20

// newSystem prepares the measurements of an object.
func newSystem(s *Settings, in Inputs, device Device, masks *optics.MaskCache) (*MeasurementSystem, error) {
	shape, err := aperture(s)
	if err != nil {
		return nil, err
	}
	detector, err := noise(s)
	if err != nil {
		return nil, err
	}
	window := optics.ObjectWindow(s.Size, s.ObjectSize)
	return NewMeasurementSystem(SystemOptions{
		Truth: in.Object.Amplitude, Measured: in.Measured, Size: s.Size, Aperture: shape, Noise: detector,
		Rows: [2]int{window.Top, window.Top + window.Size},
		Host: device.Host, Masks: masks, Transforms: transforms(s), Faithful: s.Faithful,
		Cache: NewMeasurementCache(int64(s.MeasurementCacheMB)<<20, s.MeasurementCache, nil),
	})
}

// transforms returns the configuration of transforms for measurements outside the
// plans, the same as in the plans.
func transforms(s *Settings) optics.Transforms {
	return optics.Transforms{Fused: s.FusedTelescope, Pruned: s.PrunedFFT}
}

func noise(s *Settings) (*optics.Noise, error) {
	return optics.NewNoise(optics.NoiseOptions{
		Kind: s.Noise, SNR: s.SNR, ReadoutSigma: s.ReadoutSigma, Faithful: s.Faithful, Seed: s.Seed,
	})
}

// planOptions returns the plan options of the settings.
func planOptions(s *Settings, apertures int) (PlanOptions, error) {
	loss, err := ParseLoss(s.Loss, s.NormalizeLoss, CompositeWeights{L1: s.CompositeL1, L2: s.CompositeL2,
		SSIM: s.CompositeSSIM})
	if err != nil {
		return PlanOptions{}, err
	}
	amp, ok := ampModes[s.AMP]
	if !ok {
		return PlanOptions{}, fmt.Errorf("amp = %q: must be off, bf16, bf16x3, fp16 or tf32", s.AMP)
	}
	return PlanOptions{AMP: amp.stored, Products: amp.products, Loss: loss, Apertures: apertures,
		SharedSpectrum: s.SharedSpectrum,
		Fused:          s.FusedTelescope, Pruned: s.PrunedFFT, Checkpointing: s.Checkpointing,
		FusedOptimizer: s.FusedOptimizer}, nil
}

// ampModes are the values of the setting amp: the storage type of convolutions
// and of the results between them, and how float32 is multiplied.
var ampModes = map[string]struct {
	stored   tensor.DType
	products nn.Products
}{
	"off":    {tensor.Float32, nn.Exact},
	"bf16":   {tensor.BFloat16, nn.Exact},
	"bf16x3": {tensor.Float32, nn.BF16x3},
	"fp16":   {tensor.Float16, nn.Exact},
	"tf32":   {tensor.Float32, nn.TF32},
}
