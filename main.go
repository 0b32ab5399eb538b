// Command prismtop runs PRISM's progressive image reconstruction and shows,
// while it runs, where the time and the memory go.
package main

import (
	"os"

	"prismtop/tui/command"
)

func main() { os.Exit(command.Main()) }
