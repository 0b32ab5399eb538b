// Package ptycho is PtychoPINN's network on the engine: from the diffraction
// amplitudes of a group of overlapping scan positions to the complex object that they
// show (spec/ptycho-cyto.md §A).
//
// A Network has the parameters; its plans are an inference, from diffraction to the
// merged object of each group, and a training iteration, which adds the diffraction
// physics and a Poisson loss. Reassemble joins the groups' objects on one canvas.
//
// Groups are merged each by itself, so that a result does not depend on the batch it was
// computed in.
package ptycho
