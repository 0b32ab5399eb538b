// Package awaittest has a context for tests that end work at a certain point, and count
// how often it checks the context.
package awaittest

import (
	"context"
	"sync"
	"sync/atomic"
)

// Context ends after a number of checks. It is safe for concurrent use.
type Context struct {
	context.Context
	limit int64
	looks atomic.Int64
	once  sync.Once
	done  chan struct{}
}

// After returns a context whose first looks checks find it active, and which ends
// with the next one.
func After(looks int) *Context {
	return &Context{Context: context.Background(), limit: int64(looks), done: make(chan struct{})}
}

// Looks returns the number of checks so far.
func (c *Context) Looks() int { return int(c.looks.Load()) }

// Done is closed when the context has ended.
func (c *Context) Done() <-chan struct{} { return c.done }

// Err returns nil until the context has ended.
func (c *Context) Err() error {
	if c.looks.Add(1) <= c.limit {
		return nil
	}
	c.once.Do(func() { close(c.done) })
	return context.Canceled
}
