package machine

import "runtime"

// processors is read before ShareProcessors raises GOMAXPROCS.
var processors = runtime.GOMAXPROCS(0)

// Processors returns the number of processors available to this process: the limit of its control
// group, or the environment variable GOMAXPROCS.
func Processors() int { return processors }

// ShareProcessors sets GOMAXPROCS to twice the number of processors, so that the operating system
// shares the processors between computing and monitoring goroutines. With one per processor, a
// goroutine that wakes up displaces a computing goroutine in Go's scheduler, which must then wait
// for the scheduler.
func ShareProcessors() { runtime.GOMAXPROCS(2 * processors) }
