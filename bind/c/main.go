//go:build cgo

// Command clib is the library libfarhash for C, C++, Fortran and whatever can call C: sets,
// caches and the jobs in whose memory they are. farhash.h is its interface and farhash(3) its
// manual; this page is about the implementation.
//
//	scripts/install PREFIX       builds and installs it; see there
//	scripts/install -u PREFIX    removes it again
//
// # Two halves
//
// What a program calls is C: api.c and special.c check handles and arguments, and then call a
// function of the same name in Go. bindgen writes api.c, the module for Fortran and the structs of
// Python, all from farhash.h (clib/internal/bindgen). The C half also has
// what must not cross into Go: the message of the last error, which belongs to a thread; the
// flag that says that a process is the child of a fork; signals. Words and bytes of batches
// are used where the program has them.
//
// A handle is a small struct of C that names its kind, says whether it was closed, and has
// the number of a Go value (handle.go). It outlives its table for a while, so that a call with
// a closed table is an error and not a crash. It counts the calls in flight, and a close waits for
// those of other threads (library.c).
//
// Arguments of collective calls are checked in Go, where a rank reports to the others that its own
// make no sense before anything collective begins (job.together, handle.go's open). Messages of Go
// become the messages of C in one place (names.go).
//
// No panic crosses: every function of Go recovers, and says FARHASH_ERROR_INTERNAL.
//
// # The fast path
//
// A call of Go from C takes longer than a lookup in a cache. So fastpath.c does in C what most
// single gets and puts of a lock-free cache need, in plain memory or where MPI moves words
// (mpi.SinglesOf): it reads the first group of a key, which suffices if it has an empty bucket. All
// other cases go to Go. The arithmetic is the same as in package cache; TestFastPath has both make
// the same calls, and compares answers and places. make bench-clib has the calls with and without
// the fast path (get-by-Go, put-by-Go).
//
// # Which MPI
//
// The library names no MPI in its interface: a communicator comes as its Fortran handle, an
// integer. Yet it must call MPI for ranks to meet. So there is one library for each MPI, built
// with its tag, as in package rma/mpi, and one without; their names differ, so that all can be
// installed beside each other:
//
//	libfarhash            no MPI
//	libfarhash-openmpi    tags mpi openmpi
//	libfarhash-mpich      tags mpi mpich
//
// Ranks of a communicator that are on one host exchange a name and meet in shared memory
// (rma/shm); MPI is called in that one call only, in the caller's thread. So the thread
// level does not matter, nor when MPI is finalised. Else rma/mpi carries the job, and MPI_Finalize
// closes it: this library's, in front of MPI's, or else an attribute of MPI_COMM_SELF.
//
// # Forks
//
// The runtime of Go has threads, which the child of a fork(2) has not. So C refuses all calls there
// before they enter Go, by a flag that pthread_atfork sets. The child inherits the descriptors of
// the locks of tables by name, which would keep its parent a member of these: it closes them
// (library.c; file.OnLocks says which they are). A program that loads a second copy of the library
// in the child, from another file, has a runtime of its own there and opens its tables again; the
// package for Python does so (bind/python/farhash/library.py). The loader knows libraries by path
// and inode. The second runtime replaces the handlers of signals that the first one has left. A
// copy takes 16 bytes of thread-local memory at a fixed place: 60 forks of forks have worked.
//
// # Signals
//
// Go runs on small stacks. A handler that does not ask for a stack of its own (SA_ONSTACK)
// would run on one of them if a signal came while a call is in Go, and overwrite what is
// below. Go sees to handlers that were there before it; signals.c sees to those that come
// later, by its own sigaction and signal in front of the C library's. Other than that
// handlers stay as they are. Go itself has SIGSEGV, SIGBUS, SIGFPE and SIGURG.
package main

//go:generate go run ./internal/bindgen

func main() {}
