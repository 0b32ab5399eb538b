// Package optics models the instrument on the host: apertures, centred
// transforms, the telescope's measurement and its gradient, noise, sampling
// patterns and image metrics.
//
// A field is a square plane of n×n pixels, row by row. k-space coordinates are
// pixels from DC, which lies at [n/2, n/2]; centres are real-valued [y, x] and are
// not rounded (spec/prism.md §2).
package optics

// Point is a position in k-space, in pixels from DC.
type Point struct{ Y, X float64 }
