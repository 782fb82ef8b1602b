// Command bindgen writes what repeats farhash.h in other languages:
//
//	api.c                     the C half: handles and arguments are checked, then Go is called
//	fortran/farhash.f90       types and interfaces, in the places that farhash.f90.in names
//	../python/farhash/abi.py  structs and functions for ctypes
//
// make generate runs it. A test compares the files in the tree with what it would write.
//
// # What it reads in the header
//
// Constants, structs and functions, one function a declaration. T *name is one T and T name[] an
// array of n of them, or of n_name where the function has that argument. A comment after an
// argument may say "or NULL", "in and out" or both; without it the pointer is needed, and what is
// not const is written only. In a function with n, a void pointer is a batch of keys, values or
// elements. An argument called argument is passed on as it is. A path ends with a NUL.
//
// A function whose comment says "Collective", with a capital letter, and one that makes a handle,
// have their pointers checked in Go: what is wrong on one rank must be an error of all.
//
// # What stays written by hand
//
// A function that a file of C in this folder or farhash.f90.in defines is not generated there:
// bindgen leaves it out of api.c, and declares it in Fortran with _c at the end of its name, which
// the other calls. In Fortran a function that takes a path is declared so as well: the one that a
// program calls is generated beside it, and takes any string.
package main
