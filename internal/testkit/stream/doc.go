// Package stream has ranks work on tables at random and compares what they are told with plain
// maps, on any engine, also while ranks are killed.
//
//	s, err := stream.Open(ctx, job, stream.Options{Seed: 7}) // tables of every kind
//	for range rounds { err = s.Step() } // a call, and what is wrong with its answer
//	err = s.Finish(ctx)                 // what all ranks know together
//
// # Items
//
// Items are numbers. Some belong to all ranks, the others to one each, and only that one writes
// them: so it knows what the tables have. What is put for an item says for which, and has a
// number of its own, so that a value which is torn, old or another item's is found out.
//
//	item     1 to 100          everybody's
//	         101 + n*ranks + r   of rank r
//	value    | number (44) item (20) | the same, mixed | ... |
//
// # What is right
//
// An item of this rank is there as it was put last; where a call has failed it may be there as
// before or as that call wanted it. Of everybody's items a value that was put is right. In
// a set each is inserted once: [Stream.Inserted] tells of those that this rank has, to be
// compared between ranks, also when some were lost.
//
// # When ranks are lost
//
// A call may fail with an [rma.RankError] then, and with no other error. Step takes note and goes
// on. The other ranks' memory stays in use: Step fails where a table answers no call any
// more.
package stream
