// Package lab tests tables on the simulated engine (rma/sim): thousands of random
// schedules with torn gets, messages that overtake each other, ranks that stall and
// ranks that are killed. What every rank calls and is told is a history in virtual
// time, and porcupine decides whether it is linearizable.
//
// A [Table] says how to make the table, what a rank may call, and what the answers
// may be. [Table.Run] runs the schedule of one seed: the same seed gives the same
// run. [Table.Search] runs many seeds and stops at the first that fails.
//
//	seed --> cluster, faults, calls --> history --> linearizable? clean?
//
// # A schedule
//
// The ranks open the table together, then each makes its calls, one after the other,
// with pauses now and then. When all that live have done so, and what is on its way has
// arrived, one of them audits: it calls everything that shows what is in the table, and
// these calls are part of the history. It then walks the table with Check, unless the
// memory of a rank is lost.
//
// # A history
//
// A [Call] is one or more [Operation]s, each on one key, which all begin when it is made
// and end when it returns: a batch may work in any order. Histories are checked key
// by key. An operation whose answer nobody got, because its rank was killed or the
// engine failed, stays open: it may have taken effect at any later time, or never.
// It has the answer nil, which [Table].Model must allow in every state; the state it
// gives then is the one after the effect, and linearizing it last is as good as never. Where
// a history has so many of them that no end is in sight it stays undecided, and the summary
// says so.
//
// # What must not happen without a fault
//
// Where nobody is killed and no link is cut an error of a call fails the schedule.
//
// # Scripts
//
// What chance hardly finds is a [Script]: an interleaving that is written down, by marks, or a
// small case tried in every order. So are loops over memory tested, which the simulated engine
// does not run. Each names the wrong versions (package mutant) that it has to notice, and
// [Scripts.Run] fails if it does not; those that no script names are for [Catch].
//
// # Engines
//
// Tests that need no history are to hold on every engine: [Engines] has the three that
// run anywhere.
//
// Their files lie in the [Folder], of which nothing stays when a test is interrupted.
//
// # Flags
//
// Test binaries that import lab have the flags -seed, which has [Table.Search] run that
// one schedule and show the engine's trace and the history, and -soak, which says for
// how long a [Soak] goes on.
package lab
