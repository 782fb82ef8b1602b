// Package shm is the engine whose ranks are processes of one Linux host that
// map the same memory. It links no MPI: `farhash run`, mpirun, srun or torchrun
// give each rank its number, and the ranks find each other in /dev/shm.
//
// # Start
//
// Rank 0 makes the control file farhash.UID.JOB.ctl, the others open it. Every rank locks the byte
// of its number (an open file description lock, which the system drops when the process ends,
// however it ends) and writes that it has joined. When all have, rank 0 removes the name; the ranks
// keep the memory. A rank that does not come within the timeout is an error that names it.
//
//	word 0..7       header: magic, version, kind, ranks, words per rank, job nonce
//	byte 4096...    control file: 16 words per rank (see direct.Group)
//	                window file: the segment of rank 0, of rank 1, ...
//
// # Windows
//
// A window is a file of its own, which has a name only while it is being made.
// Every rank reserves its own segment before any rank uses the window, so a full
// /dev/shm is an error on every rank that says how much is missing, and never a
// SIGBUS later. Windows have huge pages where the system allows them for shared
// memory. Files have mode 0600; a file of another user, another program, another
// version or another job is refused.
//
// # Death
//
// When a rank is killed, nothing is lost: its segments stay mapped by the others,
// and no lock is held in the data. Failed, Barrier and NewWindow report it: the
// system has dropped its file lock, which the others find. Files left by a job
// that was killed at its start are removed by the next job of the same user, or
// by [RemoveJob].
package shm
