// Package stream makes random calls on tables and compares the answers with plain maps, on any
// engine, also while ranks are killed.
//
//	s, err := stream.Open(ctx, job, stream.Options{Seed: 7}) // tables of every kind
//	for range rounds { err = s.Step() } // a call, and what is wrong with its answer
//	err = s.Finish(ctx)                 // compares the whole tables
//
// # Items
//
// Items are numbers. Some belong to all ranks, the others to one rank each, which alone writes
// them and so knows what the tables have. A value names its item and has a number of its own, so
// that a value which is torn, old or of another item is found.
//
//	item     1 to 100            of all ranks
//	         101 + n*ranks + r   of rank r
//	value    | number (44) item (20) | the same, mixed | ... |
//
// # What is right
//
// An item of this rank has the value that was put last; where a call has failed, it has the value
// of before or of that call. An item of all ranks has any value that was put. In a set each item is
// inserted once: [Stream.Inserted] lists those that this rank has inserted, to be compared between
// ranks, also when some were lost.
//
// # When ranks are lost
//
// A call may fail with an [rma.RankError] then, and with no other error. Step records that and goes
// on. The other ranks' memory stays in use: Step fails where a table answers no call any
// more.
package stream
