// Package file is the engine of tables by name: processes of one Linux host share the windows of
// one mapped file. They start in any order, by hand, and are killed at any time. Programs do not
// use it directly, but through [github.com/farhash/farhash/kv.Open] and its like:
//
//	m, err := kv.Open("/dev/shm/sessions", kv.Config{}, file.Mode(0o660))
//	...
//	err = file.Remove("/dev/shm/sessions")
//
// The first process makes the file. It has no name before the table is complete, so nobody opens
// half of one. A name without a slash is of a file in /dev/shm.
//
// # Guarantees
//
//   - A process that is killed or suspended, at any moment, stops nobody. The others keep what it
//     had put.
//   - The file is sparse: its size is what the table may grow to, and it takes what the table has
//     taken ([Info].Bytes). A full file system is an error of the call that needs more.
//   - At most [rma.MaxMembers] processes have a table open at a time.
//   - Refused with a reason: symbolic links, files of other users unless [AnyOwner] is given,
//     files that are no tables, truncated, damaged or forged ones, and those of another layout.
//     [Stat] and [List] describe files of any user: they only read.
//   - A file that somebody cuts off while it is in use makes calls fail. They do not crash.
//   - A file in /dev/shm ends with the system. On a disk it survives restarts. If the power fails
//     while it is open, the last half a minute or so may be lost or torn: the first process that
//     opens it then has the table checked, and a damaged one is refused. Where a table's contents
//     have no checksums, such as the words of a set, not all damage is found.
//
// # Layout
//
//	page 0     header: magic, version, size, kind and layout of the table, its configuration,
//	           the names, places and lengths of the windows, and a checksum of all these;
//	           at its end the words that change: the boot of the system, the last opening, and
//	           the last opening when all had closed it
//	page 1, 2  a word for each member: 0, or 1 from its start until what it left is adopted
//	...        windows, at pages, longer ones at 2 MiB
//
// # Members
//
// A job has one rank, and each process is that rank. A process locks the byte of the file that has
// its number as a member (an open file description lock, which the system drops when the process
// has ended). It prefers a number whose word is 0. If there is none, it inherits what the last
// process with its number has left ([rma.Shared]). Another lock, after those of members, is held
// while a table is checked after the system has stopped.
//
// An opening has a random number. Who ends reads the last opening, drops its lock, and if there is
// no other one, has the file written to the disk and notes this opening as clean. Who opens locks
// its byte first. So it is seen, or has another opening than the clean one. Nobody waits for a
// process that comes or goes, which may be suspended.
//
// A fork has the descriptors of its parent, and so its locks. A member that leaves therefore drops
// them before it closes its descriptor, and a library for C closes the descriptor in the fork
// ([OnLocks]).
//
// Windows that the first process makes before the table is complete are in the file. A later
// process gets these when it makes windows of the same names. All other windows are memory of one
// process, so collective calls run in it alone.
package file
