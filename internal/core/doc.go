// Package core is what the tables set, cache, index and kv have in common: which memory a process
// can address, and how a batch of operations reaches the rest. A table adds its memory layout, its
// protocol and its hot loops.
//
// # How a batch reaches memory
//
// Each operation of a batch has an owner, the rank whose memory it touches first. [Batches.Run]
// asks for all owners once and divides the batch by them:
//
//	direct      the owner's segment is in a [Region]: the table's own loops work on it
//	            (Ops.Direct)
//	shipped     the engine carries requests, and the operations of one owner are enough to be
//	            worth one: the owner runs them (function shipping; Ops.Pack, Ops.Unpack)
//	one-sided   the rest, by step machines over a queue (Ops.Queued, [Slots.Drive])
//
// Requests are sent first. Direct and one-sided operations run while these are in flight. What a
// direct loop or an owner cannot end is run one-sided. Where all memory is addressable, nothing is
// divided and Direct gets the whole batch.
//
// A request is a header of one word and the operations one after the other, as Pack has written
// them. An answer is a status and the answers in the same order:
//
//	request   | kind (32) | operations (32) | operation | operation | ...
//	answer    | status | answer | answer | ...
//
// # Guarantees
//
//   - Each operation of a batch runs once, unless an error is returned.
//   - Where a rank is lost, or answers with an error, the other operations of the batch run
//     all the same. The error returned is the first one.
//   - Operations run in no particular order. The ones for which [Slots] has turns on the same hash
//     run one after the other.
//
// # The rest of a table
//
// [Counters] are a table's statistics. [Reader] reads memory in order, for scans and checks.
// [Faults] collects what a check finds, and [CheckAll] is the collective form of every Check.
// [Gather] gives all ranks the words of all ranks, [Await] takes the results of what was posted.
// [Pool] keeps what calls need from one call to the next. [BytesOf], [WordsOf] and [Fold] are for
// layouts and hashes.
package core
