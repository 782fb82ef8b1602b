//go:build !race

package index

const slow = false
