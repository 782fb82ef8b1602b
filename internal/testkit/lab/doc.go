// Package lab tests tables on the simulated engine (rma/sim): thousands of random
// schedules with torn gets, messages that overtake each other, ranks that stall and
// ranks that are killed. The calls and answers of every rank are a history in virtual
// time, and porcupine decides whether it is linearizable.
//
// A [Table] says how to make the table, what a rank may call, and what the answers
// may be. [Table.Run] runs the schedule of one seed: the same seed gives the same
// run. [Table.Search] runs many seeds and stops at the first that fails.
//
//	seed --> cluster, faults, calls --> history --> linearizable? Check passes?
//
// # A schedule
//
// The ranks open the table together, then each makes its calls, one after the other,
// with pauses in between. When all that are alive have done so, and all messages have arrived,
// one of them audits: it makes calls that read the whole table, and these are part of the
// history. It then walks the table with Check, unless the memory of a rank is lost.
//
// # A history
//
// A [Call] is one or more [Operation]s, each on one key, which all begin when it is made
// and end when it returns: a batch may work in any order. Histories are checked key
// by key. An operation without an answer, because its rank was killed or the engine
// failed, stays open: it may have taken effect at any later time, or never. Its answer
// is nil, which [Table].Model must allow in every state; the new state is then the one
// after the effect, and linearizing the operation last stands for no effect. A history
// with too many open operations stays undecided, and the summary counts it.
//
// # Errors
//
// An error of a call fails the schedule, unless a rank was killed or a link cut.
//
// # Scripts
//
// For what random schedules rarely find there is a [Script]: an interleaving that is written down,
// by marks, or a small case tried in every order. Scripts also test loops over memory, which the
// simulated engine does not run. The mutants of a package (internal/testkit/overlay) name the
// script or the test with random schedules that has to notice each.
//
// # Engines
//
// Tests that need no history run on every engine: [Engines] has the three that run on every
// platform. Their files are in the [Folder], which is removed also when a test is interrupted.
//
// # Flags
//
// Test binaries that import lab have the flags -seed, which has [Table.Search] run that
// one schedule and show the engine's trace and the history, and -soak, which says for
// how long a [Soak] takes.
package lab
