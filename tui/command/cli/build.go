package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"prismtop/profiles/history"
)

// Build identifies this program: its version, the commit that it was built from, and its executable.
var Build = sync.OnceValue(func() history.Build {
	b := history.Build{Version: Version, Go: runtime.Version(), Program: executable()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
})

// executable returns the start of the SHA-256 of this program's file; empty if it cannot be read.
func executable() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
