//go:build !unix

package tui

import "os"

// ownsTTY says that Bubble Tea sets the terminal's modes.
const ownsTTY = false

func inForeground(uintptr) bool { return true }

func onResize(chan<- os.Signal) {}
