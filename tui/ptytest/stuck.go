//go:build unix

package ptytest

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// Stuck is a terminal that does not read until it is freed.
type Stuck struct {
	mu    sync.Mutex
	freed chan struct{}
	buf   bytes.Buffer
}

// NewStuck returns a terminal that does not read.
func NewStuck() *Stuck { return &Stuck{freed: make(chan struct{})} }

// Free lets the terminal read from the first byte.
func (s *Stuck) Free() { close(s.freed) }

// Write waits until the terminal is freed.
func (s *Stuck) Write(p []byte) (int, error) {
	<-s.freed
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

// Text returns what the terminal has read.
func (s *Stuck) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// Eventually waits for a condition, and fails the test if it is not met in time.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}
