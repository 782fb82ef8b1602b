//go:build mpi && cgo

package guest

// #include "guest.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Init initialises MPI at a thread level: 0 is SINGLE, 3 is MULTIPLE. The caller stays in
// its thread until Finalize.
func Init(level int) error { return fault("MPI_Init_thread", C.guest_init(C.int(level))) }

// Finalize finalises MPI.
func Finalize() error { return fault("MPI_Finalize", C.guest_finalize()) }

// Compute works in C, without a call of MPI, until a word reaches a value.
func Compute(word *uint64, until uint64) {
	C.guest_compute((*C.uint64_t)(unsafe.Pointer(word)), C.uint64_t(until))
}

// Micros are microseconds of one operation.
type Micros struct{ Get, Put, Swap float64 }

// Loop has rank 0 get and put some words in the memory of the last rank and swap one there,
// each followed by a flush, for so many seconds each. own: the window is made over memory
// of the program. Collective; the answer is rank 0's.
func Loop(words int, own bool, seconds float64) (Micros, error) {
	var us [3]C.double
	created := C.int(0)
	if own {
		created = 1
	}
	err := fault("the loop", C.guest_loop(C.int(words), created, C.double(seconds), &us[0]))
	return Micros{float64(us[0]), float64(us[1]), float64(us[2])}, err
}

func fault(what string, code C.int) error {
	if code != 0 {
		return fmt.Errorf("%s: error %d of MPI", what, int(code))
	}
	return nil
}

// Split makes communicators of the processes of one colour, by rising keys, and returns the
// Fortran handle of this process's. Below 0 a process is in none. Collective.
func Split(color, key int) (comm int32, err error) {
	var made C.int
	err = fault("MPI_Comm_split", C.guest_split(C.int(color), C.int(key), &made))
	return int32(made), err
}

// Forget frees a communicator that Split has made. Collective.
func Forget(comm int32) error { return fault("MPI_Comm_free", C.guest_forget(C.int(comm))) }

// Send sends a number to a process, and Receive waits for one.
func Send(number, to int) error {
	return fault("MPI_Send", C.guest_send(C.int(number), C.int(to)))
}

func Receive(from int) (int, error) {
	var number C.int
	err := fault("MPI_Recv", C.guest_receive(&number, C.int(from)))
	return int(number), err
}

// Move calls a function of mpi.Singles.
func Move(function, window unsafe.Pointer, rank, off int, words []uint64) error {
	return fault("a single operation", C.guest_move(function, window, C.int(rank), C.int64_t(off),
		(*C.uint64_t)(unsafe.SliceData(words)), C.int64_t(len(words))))
}
