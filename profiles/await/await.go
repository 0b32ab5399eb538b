// Package await waits for what cannot be interrupted, or for the end of a context.
package await

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Result calls do on a goroutine of its own and returns what it returns, or the error of
// ctx where that ends first. Then do goes on until it ends by itself: it is for what
// cannot be interrupted, a system call or another's decoder. A panic of do is one of
// Result, with the stack of do.
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
			o.err = err // what it met may be the context's end in another guise
		}
		return o.value, o.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
