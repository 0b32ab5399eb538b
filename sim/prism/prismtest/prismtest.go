// Package prismtest has records of reconstructions for the tests of other packages.
package prismtest

import (
	"prismtop/profiles"
	"prismtop/sim/prism"
)

// Info returns the description of a run with the given number of samples.
func Info(samples int) profiles.RunInfo {
	return profiles.RunInfo{Schema: prism.Schema(), Object: "moon", Units: samples, GPUReason: "no CUDA device"}
}

// Progressive returns the record of an iteration of the second sample; its index counts
// from 0.
func Progressive() profiles.Iteration {
	it := profiles.Iteration{Kind: prism.KindLaterSample, Unit: 1}
	it.Series[prism.SeriesLossOld], it.Series[prism.SeriesLossNew] = 0.5, 0.25
	return it
}

// Compared returns a comparison with the truth at an iteration.
func Compared(iteration int64, psnr float64) profiles.Measurement {
	m := profiles.Measurement{Iteration: iteration, Values: profiles.NoValues()}
	m.Values[prism.SeriesPSNR] = psnr
	return m
}

// ComparedAll is Compared with SSIM and RMSE.
func ComparedAll(iteration int64, psnr, ssim, rmse float64) profiles.Measurement {
	m := Compared(iteration, psnr)
	m.Values[prism.SeriesSSIM], m.Values[prism.SeriesRMSE] = ssim, rmse
	return m
}
