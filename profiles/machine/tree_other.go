//go:build !linux

package machine

import "runtime"

// Tree is a process with everything that descends from it.
type Tree struct{}

// NewTree returns the tree of a process.
func NewTree(int) *Tree { return &Tree{} }

// Seconds returns 0: on this system, loads are not read either.
func (*Tree) Seconds() float64 { return 0 }

// SeesDescendants tells that what descends from a process is not known on this system.
const SeesDescendants = false

// Groups returns the group of the process alone.
func Groups(root int) []int { return []int{root} }

// Started returns 0: it is not known when a process was started.
func Started(int) int64 { return 0 }

// ReadResidentOf reports that the memory of other processes is not read on this system.
func ReadResidentOf(int) (rss, peak int64, reason string) {
	return 0, 0, "the memory of other processes is not read on " + runtime.GOOS
}

// InEnvironment is for Linux.
func InEnvironment(string) (used, known bool) { return false, false }
