//go:build mpi && openmpi

package main

// #cgo pkg-config: ompi-c
import "C"
