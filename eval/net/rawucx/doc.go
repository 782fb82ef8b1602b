// Package rawucx is a loop of gets by UCX in C, as one would write it to see what the library
// can do: without a lock, an order of operations, or anything else that the engine rma/ucx
// promises. It is what that engine is measured beside. Connections have the same mode as
// the settings of the engine, since UCX chooses transports by it.
//
// It has a worker and a connection of its own. Gets go to places of a side's memory at random
// that are multiples of 64 bytes. The side that is got from has a thread that makes progress: it
// sleeps while there is nothing to do, as a program's must that has other work, or never
// does.
package rawucx
