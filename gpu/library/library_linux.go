//go:build linux && !nogpu

package library

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// Library is an open shared library. It is never closed.
type Library struct {
	name   string
	handle uintptr
}

// Open opens the first path that loads. A missing library and one that fails to load give different errors.
func Open(paths ...string) (Library, error) {
	// dlerror reports only failures of the calling thread, so it must be called
	// on the thread of dlopen.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var broken error
	for _, path := range paths {
		if found, ok := irregular(path); ok { // opening a named pipe would wait for its writer
			broken = cmp.Or(broken, fmt.Errorf("%s is not a regular file: must be a shared library", found))
			continue
		}
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return Library{path, handle}, nil
		}
		if absent(path, err.Error()) || broken != nil {
			continue
		}
		if err.Error() == "" {
			broken = fmt.Errorf("%s does not load, and the dynamic linker does not say why", path)
			continue
		}
		broken = fmt.Errorf("%s does not load: %w", path, err)
	}
	if broken != nil {
		return Library{}, broken
	}
	return Library{}, fmt.Errorf("%s not found", paths[0])
}

// irregular returns what the dynamic linker would find in LD_LIBRARY_PATH, or at an
// absolute path, if that is anything but a regular file.
func irregular(path string) (found string, ok bool) {
	candidates := []string{path}
	if !strings.Contains(path, "/") {
		candidates = nil
		// an empty one is the working folder
		for _, folder := range strings.Split(strings.ReplaceAll(os.Getenv("LD_LIBRARY_PATH"), ";", ":"), ":") {
			special, _ := filepath.Glob(filepath.Join(folder, "glibc-hwcaps", "*", path)) // looked at first
			candidates = append(append(candidates, special...), filepath.Join(folder, path))
		}
	}
	for _, c := range candidates {
		info, err := os.Stat(c)
		switch {
		case err != nil:
			continue
		case !info.Mode().IsRegular():
			return c, true
		case !strings.Contains(c, "glibc-hwcaps"): // those are for some processors only
			return "", false
		}
	}
	return "", false
}

// absent reports whether a library did not load because it does not exist.
func absent(path, reason string) bool {
	if strings.Contains(reason, path+": cannot open shared object file") {
		return true
	}
	if !filepath.IsAbs(path) {
		return false
	}
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}

// Name is the path that was opened.
func (l Library) Name() string { return l.name }

// Address returns the address of a symbol, 0 if the library lacks it.
func (l Library) Address(symbol string) uintptr {
	address, err := purego.Dlsym(l.handle, symbol)
	if err != nil {
		return 0
	}
	return address
}

// Bind binds the function variable at fn to a symbol. purego's own registration
// panics on a missing symbol; Bind returns an error instead.
func (l Library) Bind(symbol string, fn any) error {
	address := l.Address(symbol)
	if address == 0 {
		return fmt.Errorf("%s has no %s", l.name, symbol)
	}
	purego.RegisterFunc(fn, address)
	return nil
}

// BindAll binds every symbol of the table; the first missing one is an error.
func (l Library) BindAll(symbols []Binding) error {
	for _, s := range symbols {
		if err := l.Bind(s.Symbol, s.Func); err != nil {
			return err
		}
	}
	return nil
}

// Binding is a symbol and the variable for it.
type Binding struct {
	Symbol string
	Func   any // pointer to a func variable of the symbol's C type
}
