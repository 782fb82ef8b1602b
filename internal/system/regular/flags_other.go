//go:build !unix

package regular

const noFollow, noWait = 0, 0
