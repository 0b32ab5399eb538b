//go:build !unix

package tui

import "os"

func inForeground(uintptr) bool { return true }

func onResize(chan<- os.Signal) {}
