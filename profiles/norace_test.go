//go:build !race

package profiles

// slow divides the length of the longest tests under the race detector.
const slow = 1
