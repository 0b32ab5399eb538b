// Command prismtop runs PRISM's progressive image reconstruction and shows,
// while it runs, where the time and the memory go.
package main

import (
	"embed"
	"os"

	"prismtop/tui/command"
)

// pages are what prismtop docs and prismtop licenses print.
//
//go:embed README.md CHANGELOG.md LICENSE docs/*.md docs/third-party.txt
var pages embed.FS

func main() { os.Exit(command.Main(pages)) }
