package machine

import "runtime"

// processors is read before the program raises the number of goroutines that run at once.
var processors = runtime.GOMAXPROCS(0)

// Processors is the number of processors that this process may use: those of its control group,
// or as many as the environment variable GOMAXPROCS says.
func Processors() int { return processors }

// ShareProcessors lets twice as many goroutines run at once as there are processors, so that the
// operating system shares the processors between those that compute and those that watch. With
// one for each processor a goroutine that wakes up takes a processor's place in Go's scheduler
// from one that computes, which then waits for the scheduler.
func ShareProcessors() { runtime.GOMAXPROCS(2 * processors) }
