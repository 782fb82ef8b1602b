// Package check model checks programs in Go: it finds all states that a model can reach, on many
// cores and hosts, and says whether properties hold in them.
//
// A [Model] has initial states, a function that emits the states after a state, and
// properties. A state is a value of any type of fixed size: structs, arrays, integers, bools. It
// is packed into as few bits as its type allows, without padding:
//
//	type State struct {
//		Critical [2]bool
//		Turn     uint8 `bits:"1"` // fewer bits than the type has
//	}
//
// A type of another kind has AppendBinary, and UnmarshalBinary for its pointer; Model.MaxBytes
// bounds what they write. A state takes memory for the bytes that it has, and time for those that
// it may have: messages of 8 bytes in states of up to 92 take 81 bytes a state, where MaxBytes is
// 4000 as well, and twice the time (BenchmarkBinaryStates).
//
// [Main] makes models a program, [Test] a test, and [Run] is for everything else. docs/check.md
// goes from an empty folder to a bug that a test finds.
//
// The length of an array can be a parameter of the model, as a type parameter:
//
//	type State[P interface{ [2]Process | [3]Process }] struct{ Processes P }
//
// Programs in examples/check do so.
//
// # Search
//
// Package explore searches: breadth first, with the states in a set in the
// memory of all ranks. States of up to 63 bits are words of that set, longer ones are trees of
// parts that are stored once.
// Each state is checked when it is expanded. The search ends at the first violation:
// of a property that holds always, or a deadlock, unless Model.Deadlocks allows it. A
// model that only asks for states that are to be found ends when all are. With Options.Continue,
// the flag --continue, a violation does not end the search, and all are found. MaxDepth and
// MaxStates (--max-depth, --max-states) end it at a limit; then the answers that rest on all states
// are Unknown, and the exit code is 3.
//
// # Traces
//
// Each property has a trace of its own, in Result.Traces: to a violation, to a deadlock, and to a
// state that was to be found. So a puzzle needs no negation: with
// check.Sometimes("four gallons", four) the trace is the solution. It is a shortest one. The states
// of a level are expanded again, back to an initial one, which takes at most as long as the search
// for each trace. Reports have the first and the last state in full, and between them the actions
// and what they change; JSON has all states and what changes. The name of an action may have its
// parameters, as in fmt.Sprintf("fill %d", jug).
//
// --html FILE writes a page beside: answers, counts, charts of the search, and the traces step by
// step. It needs no server and no other file. --itf FILE writes the traces for Apalache, Quint and
// viewers, also of --simulate. --export FILE writes all states and transitions for
// other tools, as .dot (Graphviz) or .aut (CADP, mCRL2), up to --max-export states. That is done by
// one goroutine before the search, in the Go heap.
//
// In any order (--order any), and after a checkpoint was resumed, the way to a state is not known,
// and the trace is that state alone.
//
// # Coverage
//
// An action that a model never takes is often an error of the model, and makes properties true that
// are wrong. Model.Actions names all actions:
//
//	Actions: []string{"fill", "empty", "pour"}
//
// An action that no state takes is a warning after a complete search. A name that Next emits
// without being of one of them ends the search with an error. Parameters follow a space or a
// parenthesis: "fill 3" and "fill(3)" are of "fill".
//
// Options.Coverage, the flag --coverage, counts for each action its transitions, and the states
// that it was the first to lead to: in a report, JSON and a page, seldom taken ones first. Without
// Model.Actions each name is counted by itself, up to 65,536 names a rank. After a limit or a
// violation the counts are of what was searched until then, and the report says so. Transitions of
// a complete search are the same on any number of ranks; which action is the first to lead to a
// state depends on ranks and order. Two models of protocols, of 6 and 8 actions, take 8 and 14
// percent more time with it on one core. A search that is resumed cannot count.
//
// # Paths
//
// Three kinds of properties are about paths, which end in deadlocks alone:
//
//	check.Eventually("done", done)              // each path comes to a state that is done
//	check.AlwaysEventually("served", served)    // again and again
//	check.LeadsTo("answered", asked, answered)  // each state that asks is answered, then or later
//
// Most programs have such properties only if actions that can be taken are taken. Model.Fair names
// the actions that are weakly fair: one that can be taken at any time from some moment on is taken
// again and again. Model.StronglyFair names those that are strongly fair: one that can be taken
// again and again is, even if now and then it cannot. TLA+ calls this WF and SF. Properties along
// paths count no other paths. In models of mutual exclusion the steps of a process that has asked
// are fair, and asking itself is not. A name is one of an action, or of several with parameters, as
// in Model.Actions: "enter" is of "enter 0" and "enter 1", and is taken if one of them is. To be
// fair to each process, name each. An action that leaves the state as it is counts: it can be
// taken, and it is taken. In TLA+ it does not count, because WF and SF speak of steps that change
// something. If you want that, leave such an action out of Fair. A name that no state takes has no
// effect, and the report warns of it.
//
// Where processes take a lock from each other, weak fairness is not enough. Another process may
// take the lock again and again, so a process that waits can enter only now and then. The example
// has such a lock: with weak fairness a process may wait for ever, with strong fairness of entering
// it does not. A lock that is to be just by itself needs weak fairness alone.
//
// During the search each rank takes walks in a tenth of its time, which avoid what the property
// asks for and take fair actions in turn. Where one repeats, the property is violated, and the
// search ends; what else is asked may stay unknown. Otherwise properties along paths are answered
// after a search that finds no other violation, or with Continue, by sweeps over all states
// (packages temporal and explore). The first one expands the states again, and remembers arcs as
// far as memory suffices, up to 12 bytes each and 31 a state. Without that memory each sweep
// expands states. What violates a property is a path that repeats from a step on, Trace.Back, or
// ends in a deadlock. Each property has its own. It is not always a shortest one. Each rank finds
// it in its own memory, which it takes for the states that it passes. Canonical is refused, since
// states that are equal by symmetry are on different paths.
//
// # Fingerprints
//
// With [explore.EncodingFingerprint], the flag --fingerprint, 63 bits of a hash are kept of each
// state that is longer. A state may be missed then. The probability is Result.Missed; package
// explore says how it is calculated. An answer that rests on all states having been seen is wrong
// with that probability: true of what holds always, false of what is to be found (Answer.Missed).
// Reports and JSON mark these answers. The others are as certain as ever.
//
// It pays where states are long and differ in most of their parts, as if these were random: that
// makes trees large and slow. Otherwise a state takes as much memory or more, as waiting states and
// the log for paths come to more than the parts of trees. The first three models are of
// protocols, two of them without their tags for bits. Million states a second on one core, and most
// bytes a state at any time, with the log:
//
//	                                                     trees         fingerprints
//	two-phase commit: 1,745,408 states of 88 bits        1.0   33 B    1.05   33 B
//	bakery, 4 processes: 728,228 states of 132 bits      1.6   37 B    2.0    37 B
//	find-or-put, 2 ranks: 414,003 states of 221 bits     0.74  43 B    1.0    38 B
//	random numbers: 524,288 states of 128 bits           1.3   93 B    5.9    39 B
//	random numbers: 524,288 states of 512 bits           0.25 554 B    3.6    63 B
//
// A third choice that misses no state is [explore.EncodingElement]: 3.2 million states a second and
// 65 bytes for random numbers of 128 bits, 2.1 million and 139 bytes for numbers of 512.
//
// # Simulation
//
// [Simulate], the flag --simulate, walks at random and stores no states. It finds violations in
// models that are too large to search, and proves nothing. A walk is determined by the seed and its
// number, so a violation is found again, on any number of ranks:
//
//	go run ./examples/check/paxos wrong --simulate --depth 100 --seed 1 --walks 10000
//
// The path that it shows has no state twice, and may be longer than a shortest one. With --simulate
// the exit code is 0 if nothing was violated on as many walks as were asked for.
//
// # What a model must do
//
// Next, given a state, always emits the same states in the same order, with the same names of
// actions. It must not keep emit. It runs on many goroutines at once, and changes nothing that
// others read, nor the state that it is given: if that has slices, maps or pointers, it changes
// copies of them. The same holds for Canonical, which returns the same for what it has returned,
// and for properties. AppendBinary and UnmarshalBinary keep all that Next or a property depends on.
//
// A rank calls Next twice for the first 65,536 states that it expands, then for every 256th, and
// compares; for the same states it asks Canonical again. A state with AppendBinary is packed again
// after every Next, to find out whether it was changed in place. The states after the first 4,096
// of these, and after every 256th, are compared with what UnmarshalBinary makes of them: if they
// differ, they must have the same properties and lead to the same states. A model that fails there,
// panics, or emits a state that its type's bits do not hold, ends the search with an [Error] that
// has the state and the action; other ranks get an error that names the rank.
//
// # Guarantees
//
//   - True and False are certain for a model that does what it must, as states are stored whole.
//     With fingerprints a violation is certain. A report says what its answers are based on: all
//     states or a part, whole or as fingerprints, and how many states Canonical was compared on.
//   - A model of up to 65,536 states whose Next, called again, emits other states is refused. In a
//     larger one that may be missed where it happens in few states. So may a field that
//     AppendBinary leaves out, in a model of more than 4,096 states.
//   - What memory did not suffice for, or was interrupted, is Unknown.
//   - Each trace is replayed on the model before it is returned.
//
// # Limits
//
// A state has at most 32768 bits. At most 32 actions are fair. There are no formulas along paths
// other than these three. Properties along paths need states that are stored whole, and
// to be true a search that was not resumed. An action of a trace is the first that leads from a
// state to the next.
package check
