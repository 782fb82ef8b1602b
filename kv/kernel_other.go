//go:build !amd64

package kv

const hasKernel = false

func kernelOthersIn(*[lineSlots]uint64, uint64) int { panic("kv: there is no assembly") }
