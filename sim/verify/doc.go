// Package verify recomputes reference vectors with this build's engine and
// reports for each array how far the result is from the truth.
//
// A file of reference vectors is an NPZ archive of inputs and of results, the
// latter twice: computed in float64 (names ending in _64, the truth) and in
// float32 by another program (_32, which indicates acceptable rounding). The
// contents of a file are recognised from the arrays' names and shapes, case by
// case; sizes, counts and case names are up to the file. An array not used by any
// check is a failure, so that nothing in a file goes unnoticed.
package verify
