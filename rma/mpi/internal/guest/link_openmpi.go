//go:build mpi && openmpi

package guest

// #cgo pkg-config: ompi-c
import "C"
