package loop

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"prismtop/profiles/atomicfile"
	"prismtop/profiles/machine"
)

// modules are the Python files that are put in front of PYTHONPATH.
//
//go:embed python/*.py
var modules embed.FS

// notModules are those of them that no program imports.
var notModules = map[string]bool{demo: true, attach: true}

const (
	demo   = "demo.py"
	attach = "attach.py"
)

// Install writes the module into a private folder below another, named after what is in it, and returns its path.
// Folders of other versions that no process uses any more are removed.
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
	folder = filepath.Join(below, folderPrefix+hex.EncodeToString(sum.Sum(nil))[:16])
	removeOthers(folder)
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
	now := time.Now()
	_ = os.Chtimes(folder, now, now) // in use from now on
	return folder, nil
}

// folderPrefix begins the name of a folder with the module.
const folderPrefix = "python-"

// abandonedAfter is the age from which a folder that no process uses is of a version that is not run any more, and not
// of one that is just being started.
const abandonedAfter = time.Hour

// removeOthers removes the folders of other versions beside a folder, unless a process was started with one of them.
func removeOthers(folder string) {
	others, _ := filepath.Glob(filepath.Join(filepath.Dir(folder), folderPrefix+"*"))
	for _, other := range others {
		info, err := os.Lstat(other)
		if other == folder || err != nil || !info.IsDir() || time.Since(info.ModTime()) < abandonedAfter {
			continue
		}
		if used, known := machine.InEnvironment(other); known && !used {
			_ = os.RemoveAll(other)
		}
	}
}

// Attachment is a program that a running Python executes to load the module, installed in a folder: it makes its rings
// in another, where the file AttachmentSays has AttachmentDone, or why not, once it has run.
func Attachment(module, rings string) []byte {
	text, _ := modules.ReadFile("python/" + attach) // it is embedded
	call, _ := json.Marshal([]string{module, rings, filepath.Join(rings, AttachmentSays), AttachmentDone})
	return append(text, fmt.Sprintf("\nprismtop_attach(*%s)\ndel prismtop_attach\n", call)...)
}

// Detachment is a program that has the module of an Attachment take everything back.
const Detachment = `__import__("sys").modules["prismtop"].LOOP.retire()` + "\n"

// What an Attachment leaves in its folder of rings.
const (
	AttachmentSays = "attached"
	AttachmentDone = "done"
)

// Demo is a program that trains a small network with PyTorch alone.
func Demo() []byte {
	text, _ := modules.ReadFile("python/" + demo) // it is embedded
	return text
}
