package machine

import (
	"fmt"
	"hash/fnv"
	"os"
)

// Host returns a short name of this machine, eight hexadecimal digits, for names of files that
// belong to one of its processes.
func Host() string {
	name, _ := os.Hostname()
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(name)) // which does not fail
	return fmt.Sprintf("%08x", sum.Sum32())
}
