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
	commit, _, modified := commit()
	return history.Build{Version: Version, Go: runtime.Version(), Program: executable(), Commit: commit,
		Modified: modified}
})

// commit returns the commit that the program was built from, when it was made, and whether files had changed since; ""
// if the build did not record it.
func commit() (revision, made string, modified bool) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", "", false
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.time":
			made = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	return revision, made, modified
}

// AboutBuild describes the build: what follows "prismtop version", without the end of its last line.
func AboutBuild() string {
	return aboutBuild(commit())
}

// aboutBuild describes a build from a commit.
func aboutBuild(revision, made string, modified bool) string {
	text := Version + "\n"
	switch {
	case revision == "":
		text += "commit  not recorded by this build (go build -buildvcs=true does)\n"
	case modified:
		text += "commit  " + revision + " of " + made + ", with changes since\n"
	default:
		text += "commit  " + revision + " of " + made + "\n"
	}
	return text + "go      " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}

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
