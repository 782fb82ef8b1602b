// Package local is the engine whose ranks are goroutines of one process. It works on every
// platform, needs no launcher, and is the default.
//
// [Run] starts the ranks and waits for them; [Single] is a job of one rank for
// programs that want a table and nothing else. Windows are anonymous memory with
// huge pages where the system has them; the segments of all ranks are next to
// each other, and a page takes memory when it is first touched. A window that the
// machine or its control group has no memory for is refused.
//
// A rank whose function returns an error or panics is dead for the others: their
// collective calls return an error and do not wait for it.
package local
