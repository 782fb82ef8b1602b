//go:build !cgo || !linux

package main

// beforeGo: the runtime of Go begins before limits are examined.
const beforeGo = false
