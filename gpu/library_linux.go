//go:build linux && !nogpu

package gpu

import (
	"fmt"
	"strings"

	"github.com/ebitengine/purego"
)

// library is a shared library opened at run time.
type library struct {
	name   string
	handle uintptr
}

// openLibrary opens the first path that loads. A library that is absent and one
// that is there and does not load give different errors.
func openLibrary(paths ...string) (library, error) {
	var broken error
	for _, path := range paths {
		handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return library{path, handle}, nil
		}
		absent := strings.Contains(err.Error(), path+": cannot open shared object file")
		if !absent && broken == nil {
			broken = fmt.Errorf("%s does not load: %w", path, err)
		}
	}
	if broken != nil {
		return library{}, broken
	}
	return library{}, fmt.Errorf("%s not found", paths[0])
}

// bind points the function that fn points to at a symbol. purego's own
// registration panics on a missing symbol; this is an error instead.
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

// text is the string in a NUL-terminated buffer.
func text(buffer []byte) string {
	s, _, _ := strings.Cut(string(buffer), "\x00")
	return s
}
