//go:build linux && !nogpu

package gpu

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/ebitengine/purego"
)

// library is a shared library opened at run time.
type library struct {
	name   string
	handle uintptr
}

// openLibrary opens the first path that loads. A missing library and one that
// fails to load give different errors.
func openLibrary(paths ...string) (library, error) {
	// dlerror reports only failures of the calling thread, so it must be called
	// on the thread of dlopen.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var broken error
	for _, path := range paths {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return library{path, handle}, nil
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
		return library{}, broken
	}
	return library{}, fmt.Errorf("%s not found", paths[0])
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

// bind binds the function variable at fn to a symbol. purego's own registration
// panics on a missing symbol; bind returns an error instead.
func (l library) bind(symbol string, fn any) error {
	address, err := purego.Dlsym(l.handle, symbol)
	if err != nil {
		return fmt.Errorf("%s has no %s", l.name, symbol)
	}
	purego.RegisterFunc(fn, address)
	return nil
}

// bindAll binds every symbol of the table; the first missing one is an error.
func (l library) bindAll(symbols []binding) error {
	for _, s := range symbols {
		if err := l.bind(s.symbol, s.fn); err != nil {
			return err
		}
	}
	return nil
}

type binding struct {
	symbol string
	fn     any // pointer to a func variable of the symbol's C type
}

// text returns the string in a NUL-terminated buffer.
func text(buffer []byte) string {
	s, _, _ := strings.Cut(string(buffer), "\x00")
	return s
}
