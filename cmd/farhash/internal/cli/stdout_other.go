//go:build !unix

package cli

// stdoutClosed reports false: only Unix opens the null device in place of a closed output.
func stdoutClosed() bool { return false }
