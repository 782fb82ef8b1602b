// Package shm is the engine whose ranks are processes of one Linux host that
// map the same memory. It links no MPI: the ranks are told who they are by
// `farhash run`, mpirun, srun or torchrun, and meet in /dev/shm.
//
// # Meeting
//
// Rank 0 makes the control file farhash.UID.JOB.ctl, the others open it. Every
// rank locks the byte of its number (an open file description lock, which the
// system drops when the process ends, however it ends) and writes that it has
// joined. When all have, rank 0 removes the name; the memory lives on in the
// ranks. A rank that does not come within the timeout is an error that names it.
//
//	word 0..7       header: magic, version, kind, ranks, words per rank, job nonce
//	byte 4096...    control file: a line of words per rank (see direct.Group)
//	                window file: the segment of rank 0, of rank 1, ...
//
// # Windows
//
// A window is a file of its own, named while it is being made and not longer.
// Every rank reserves its own segment before anybody uses the window, so a full
// /dev/shm is an error on every rank that says how much is missing, never a
// SIGBUS later. Huge pages are asked for where the system gives them for shared
// memory. Files have mode 0600; a file of another user, another program, another
// version or another job is refused.
//
// # Death
//
// A rank that is killed takes nothing with it: its segments stay mapped by the
// others, no lock is held in the data, and Failed, Barrier and NewWindow tell
// of it. Its locks are gone with it, which is how the others know. Files left
// by a job that was killed while it was meeting are removed by the next job of
// the same user, or by [RemoveJob].
package shm
