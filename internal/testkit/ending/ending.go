// Package ending has a context that ends at a look at it, so that tests end a call at every place
// where it looks, and without a clock.
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
