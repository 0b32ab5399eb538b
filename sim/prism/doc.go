// Package prism is PRISM's progressive reconstruction as a workload (spec/prism.md is the reference for all of it).
//
// A telescope sees an object o of N×N amplitudes through one aperture M of k-space at a time (§2.2):
//
//	y = flip | F( M · F(o) ) |,   F the centred, orthonormal discrete Fourier transform
//
// For each aperture, a sample, a decoder without input draws the whole object, x(θ), and its parameters θ are trained
// until both the union U of all earlier apertures and the new one, m, agree with what was measured (§5.3):
//
//	loss(θ) = L(A_U x, A_U x') + L(A_m x, y),   A_M x = flip | F( M · F(x) ) |
//
// x' is the result of the sample before, and L normalised L1 unless a setting says otherwise (§5.5). Adam takes one
// step an iteration.
//
// Where to begin: Reconstruction (reconstruction.go) is the algorithm, which initialisation.go and samples.go carry on;
// its parts are the trainer (decoder, plan and state on a device), the estimate, the progress, the truth and targets,
// and the caches, a file each. Decoder (decoder.go, forward.go) is the network and plans.go its plans, of which an
// iteration is one. settings.go has the settings, settings_table.go what each may be and how the screen shows it, and
// schema.go what the numbers of a record mean. maker.go connects all of it to a run.
package prism
