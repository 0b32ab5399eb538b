// Package verify recomputes reference vectors with this build's engine and says
// for each array how far the result is from the truth.
//
// A file of reference vectors is an NPZ archive of inputs and of results, the
// latter twice: computed in float64 (names ending in _64, the truth) and in
// float32 by another program (_32, which tells how much rounding is fair). What
// a file holds is recognised from the arrays' names and shapes, case by case;
// sizes, counts and case names are the file's own. An array that no check uses
// is a failure, so that nothing in a file goes unseen.
package verify
