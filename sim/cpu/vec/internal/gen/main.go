// Command gen writes the assembly kernels of package vec's rooms and their Go
// declarations. It is run by go generate in that package; a test of package kernels
// checks that the committed files are up to date.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"prismtop/sim/cpu/vec/internal/gen/kernels"
)

func main() {
	dir := flag.String("dir", ".", "where to write")
	flag.Parse()
	files, err := kernels.Files()
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(*dir, name), text, 0o644); err != nil {
			fmt.Fprintln(os.Stderr, "gen:", err)
			os.Exit(1)
		}
	}
}
