// Package cyto is CytoDL's default network on the engine: a DynUNet that segments cells,
// or predicts a signal, in three-dimensional or plane images (spec/ptycho-cyto.md §B2).
//
// A Network has the parameters; its plans are a prediction and a training step. Volumes
// are float32, one channel, [Z, Y, X] in row-major order; a plane is a volume with one Z.
// Around the network are what training takes: synthetic cells (Cells), random patches
// and their augmentation (Sampler), and prediction of whole images in overlapping windows
// (Windows).
package cyto
