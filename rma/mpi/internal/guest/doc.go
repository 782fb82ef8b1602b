// Package guest is a program in C that uses MPI itself, for tests of the engine: it
// initialises MPI, computes without a call of MPI, and measures the plain loop that the
// engine is compared with.
package guest
