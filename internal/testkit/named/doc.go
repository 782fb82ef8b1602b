// Package named tests tables by name with processes that are started, stopped and killed at random.
// It has tests only. With -soak 10m, as in `make soak`, the random ones continue for so long.
//
//	worker   a process that opens a table and works on it until its input ends
//	journal  its file, with the number of its last operation that was acknowledged
//
// What a worker does is decided by its name and the number of the operation. So a journal says what
// the table must have: everything up to that number, and perhaps the next.
package named
