// Package torture tests the command from outside, with the faults that users, other programs and
// machines cause: `make torture` builds farhash in every way that
// this machine can (plain, with UCX, with Open MPI, with MPICH) and continues with attacks until
// the time is over. It has tests only.
//
//	attack        one idea of what may go wrong, in a file of its own
//	  round       one try of it, decided by the seed, the attack and the number of the round
//	    command   a run of a program with a folder, a home and a TMPDIR of the round's own
//
// The attack that has had the least time has the next round. A round that fails prints what
// was run and one command that makes the same round again; the sweep continues. Where a round
// kills processes the moment is drawn as well, but what they do at that moment depends on the
// machine.
//
// # What is always wrong
//
// Whatever an attack does to it, a command may not
//
//   - print a traceback, or run on when it should end;
//   - say that an answer is complete, by its exit code or in words, that is not the answer of the
//     naive explorer; nor name more states than there are when it is not complete;
//   - end with an exit code that `farhash --help` does not have;
//   - fail without a message, or with one that is longer than a few lines;
//   - leave a process, a file in TMPDIR or memory in /dev/shm.
//
// # Where it works
//
// As root the test has a network and a /dev/shm of its own, which its children inherit:
// nothing reaches beyond loopback and the hosts of package netns, and what is in /dev/shm
// afterwards was left by them. Without root /dev/shm is not watched and attacks that need
// one of their own are skipped, as are attacks on an engine that is not installed.
//
// # Adding an attack
//
// An attack is a function that draws from its round, runs commands, and returns what is wrong.
// Put it into the list of attacks, and show in TestNotices that it can fail.
package torture
