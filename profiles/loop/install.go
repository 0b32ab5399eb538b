package loop

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"prismtop/profiles/atomicfile"
)

// modules are the Python files that are put in front of PYTHONPATH.
//
//go:embed python/*.py
var modules embed.FS

// notModules are those of them that no program imports.
var notModules = map[string]bool{demo: true}

const demo = "demo.py"

// Install writes the module into a private folder below another, named after what is in it, and returns its path.
func Install(below string) (folder string, err error) {
	names, err := fs.Glob(modules, "python/*.py")
	if err != nil {
		return "", err
	}
	sum, files := sha256.New(), map[string][]byte{}
	for _, name := range names {
		text, err := modules.ReadFile(name)
		if err != nil {
			return "", err
		}
		base := strings.TrimPrefix(name, "python/")
		if notModules[base] {
			continue
		}
		fmt.Fprintf(sum, "%s %d\n%s", base, len(text), text)
		files[base] = text
	}
	folder = filepath.Join(below, "python-"+hex.EncodeToString(sum.Sum(nil))[:16])
	if err := atomicfile.OwnFolder(folder); err != nil {
		return "", fmt.Errorf("the folder of the Python module: %w", err)
	}
	for base, text := range files {
		path := filepath.Join(folder, base)
		if there, err := os.ReadFile(path); err == nil && string(there) == string(text) {
			continue
		}
		if err := atomicfile.Write(path, text, 0o600); err != nil {
			return "", fmt.Errorf("the Python module: %w", err)
		}
	}
	return folder, nil
}

// Demo is a program that trains a small network with PyTorch alone.
func Demo() []byte {
	text, _ := modules.ReadFile("python/" + demo) // it is embedded
	return text
}
