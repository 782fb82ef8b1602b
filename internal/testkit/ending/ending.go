// Package ending has a context that ends when a call looks at it for the nth time. So a test ends a
// call at every place where the call looks, without a clock.
package ending

import "context"

// Context ends when it has been asked so many times whether it has. One goroutine asks it.
type Context struct {
	context.Context
	Asked, End int
}

// Err counts a look.
func (c *Context) Err() error {
	if c.Asked++; c.Asked > c.End {
		return context.Canceled
	}
	return nil
}
