//go:build !race

package profilestest

// Slow divides the length of the longest tests under the race detector.
const Slow = 1
