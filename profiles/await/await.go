// Package await waits for an operation that cannot be interrupted, such as a library's decoder, or for the end of a
// context, whichever comes first. The operation then goes on by itself and its result is dropped.
package await

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Result calls do on its own goroutine and returns its results, or the error of ctx if
// that ends first; do then continues until it ends by itself. It is for uninterruptible
// operations: a system call or a third-party decoder. Result panics if do does, with the
// stack of do.
func Result[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
		fault any
	}
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if v := recover(); v != nil {
				o.fault = fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
			done <- o
		}()
		o.value, o.err = do()
	}()
	select {
	case o := <-done:
		if o.fault != nil {
			panic(o.fault)
		}
		if err := ctx.Err(); err != nil {
			o.err = err // its error may be the context's end in disguise
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
