//go:build !race

// Package profilestest has what the tests of the packages below profiles share.
package profilestest

// Slow divides the length of the longest tests under the race detector.
const Slow = 1
