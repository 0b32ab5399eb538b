// Package awaittest has a context for tests that end work at a certain place, and count
// how often it looks whether it is to end.
package awaittest

import (
	"context"
	"sync"
	"sync/atomic"
)

// Context ends when it was looked at a number of times. It may be used by several
// goroutines.
type Context struct {
	context.Context
	limit int64
	looks atomic.Int64
	once  sync.Once
	done  chan struct{}
}

// After is a context whose first looks find it going on, and whose next one ends it.
func After(looks int) *Context {
	return &Context{Context: context.Background(), limit: int64(looks), done: make(chan struct{})}
}

// Looks is how often the context was looked at.
func (c *Context) Looks() int { return int(c.looks.Load()) }

// Done is closed when the context has ended.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err is nil until the context has ended.
func (c *Context) Err() error {
	if c.looks.Add(1) <= c.limit {
		return nil
	}
	c.once.Do(func() { close(c.done) })
	return context.Canceled
}
