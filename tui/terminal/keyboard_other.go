//go:build !unix

package terminal

import "github.com/charmbracelet/x/term"

// keyboard would stand between the terminal and Bubble Tea, which reads it itself here.
type keyboard struct{ term.File }

func newKeyboard(terminal term.File, _ func()) (*keyboard, error) { return &keyboard{terminal}, nil }

func (*keyboard) start() error { return nil }
func (*keyboard) stop()        {}

// Close leaves the terminal open.
func (*keyboard) Close() error { return nil }
