// Package set is an insert-only set in the memory of all ranks: the visited set of a model checker,
// and the core of deduplication. Its one operation is find-or-put, which reports whether something
// was in the set before, and inserts it if it was not.
//
// [Set] holds words of 63 bits, [Elements] byte strings of one length, 1 byte to 4 KiB, and
// [Strings] byte strings of any length to 64 KiB. All are exact: no two elements are ever taken for
// the same.
//
//	s, err := set.New(ctx, job, set.Config{}) // every rank does so
//	...
//	r, err := s.FindOrPut(42) // set.Inserted on one rank, set.Found on all others
//
//	results := make([]set.Result, len(words))
//	err = s.FindOrPutBatch(words, results) // many at once, many times faster
//
// A set of strings needs no size either:
//
//	s, err := set.NewStrings(ctx, job, set.Config{})
//	...
//	r, err := s.FindOrPut([]byte("a line"))
//	err = s.FindOrPutBatch(lines, results) // lines is a [][]byte
//
// Elements of one length take less memory and less time than strings.
//
// [Typed] is a set of a Go type, which chooses among them. [Pairs] find and insert elements of 16
// bytes one at a time. These can name each other by reference: the nodes of a graph.
//
// [Open], [OpenElements] and [OpenStrings] open a set by name, which any number of processes of a
// host share as they come and go.
//
// A set without a size, or with [Config].MaxBytes, grows while it is in use; see Growth. Garbage
// collection, saving and loading are collective: all ranks call them, and nothing else runs at the
// same time.
//
// # Guarantees
//
//   - Of all calls that insert the same element, by any goroutine of any rank, exactly one returns
//     Inserted. Each operation takes effect at one moment between its call and its return.
//   - A set that is full says so: the result is Full, with a [FullError], and nothing stored is
//     lost.
//   - A rank that is killed while it inserts leaves its element either in the set or not.
//     Everything acknowledged stays in the set, and no lock stays locked: there is none.
//   - After an error of the engine (a dead rank whose memory is gone) the element may or may not
//     have been inserted; another call finds out. Nothing that was in the set is answered NotFound
//     or Inserted afterwards: a call that needs memory that is lost returns the error.
//   - A call on a closed set returns an error that wraps rma.ErrClosed.
//
// # Limits
//
// A search examines 8192 buckets of a table at most, or what [Config] says; then, if no larger
// table fits, the answer is Full. By default this does not happen before 0.9 of the buckets are
// occupied. There are at most 2^44 buckets and 2^36 elements. Nothing is deleted, except by
// Collect.
//
// A string takes 8 bytes beside its own, which are rounded up to 8, and a bucket. MaxBytes is
// divided between buckets and strings as if each string took 32 bytes: of a set of shorter or
// longer ones 0.6 of it or more is used before the answer is Full. What Collect removes from a set
// of strings is used again by the rank that removes it, in part.
//
// # Layout
//
// The set is the distributed hash table of Oortwijn, van Dijk and van de Pol (A Distributed Hash
// Table for Shared Memory, PPAM 2015; "OP" below).
//
// A bucket is a 64-bit word; zero is empty (OP 3.1). With n = k * ranks buckets,
// rank r owns buckets [r*k, (r+1)*k), the words of its segment:
//
//	Set       | 1 | data (63)                            |
//	Elements  | 1 | fingerprint (27) | reference (36)    |    and Strings
//	           63  62              36  35               0
//
// The reference ([Ref]) is the number of a slot in an arena. A slot has whole words; zeros fill the
// last one up. The arenas have windows of their own. Elements are always in arenas, never in the
// table itself, for three reasons. One compare-and-swap claims a bucket of one word, whatever the
// length. A line holds 8 buckets, so that most searches touch one line and one slot. References
// stay valid when the table grows. Elements in wide buckets would save the line of the slot, but
// measured faster only for up to 24 bytes in a table that is less than 0.6 full.
//
// A string is stored as a head and its bytes. The head has 47 bits of the hash, and the length:
//
//	head      | hash (47)                    | length (17) |
//
// The slot of a string is as many grains as it needs, a word each, or two or more where 2^36 words
// are too few. A rank takes runs of grains and cuts slots off them. Different strings nearly always
// have different heads, so one word decides that they differ. Homes and fingerprints come from the
// head alone, so a table moves without reading long strings.
//
// # Protocol
//
// The hash gives a home, which is the start of a cache line of 8 buckets. A search examines the
// buckets from the home on, around the end of the table (linear probing). What a bucket means for
// it is decided in one place, decide (protocol.go).
//
// Where only one-sided operations reach the buckets, they come in chunks of C (OP Fig. 1).
// The next chunk is requested before the present one is awaited. A chunk that crosses into
// another rank's segment takes several gets. By default C follows the load, and no chunk is
// requested before it is needed.
//
// A search claims an empty bucket with one compare-and-swap. When the compare-and-swap
// loses, the search examines the word that won and continues. After C*M buckets the
// answer is Full (OP 3.3).
//
// An element is first stored in an arena slot, by default of the inserting rank. Only
// then a compare-and-swap publishes the reference. A search that loses this
// compare-and-swap keeps the slot for the next element. Where the fingerprint of a bucket
// is the element's, the whole element is compared.
//
// Through a queue strings are compared and stored in pieces of 1 KiB, so that a machine needs a
// buffer for one. A get expects the length of the string that is sought. If another string is there
// it reads the words after it, and finds in the first word that they do not matter.
//
// A process may address all memory directly, only a part of it, for example the memory of the ranks
// of its host, or none. A span is such a part. Searches that begin in a span are loops over it.
// A search that comes to the end of the span, or to an element outside it, continues by a queue.
//
// # Forms
//
// Four loops make the same decisions for the same buckets in the same order:
//
//	probe            step machine over a queue, words and elements      machine.go
//	span.search      a word over memory, with decide written out        direct.go
//	elementSearch    an element over memory                             direct.go
//	Pairs.FindOrPut  a pair over memory, with decide written out        pairs.go
//
// Batches over memory have loops that overlap the waits for memory. What these do not
// decide in the first line of a search they leave to the loops above, except for the assembly,
// which does all for words:
//
//	searchBlock      words, portable; findInLine compares the line      direct.go
//	search           words, the whole search in assembly                kernel_amd64.s
//	searchShort      elements of up to 64 bytes, in assembly            kernel_amd64.s
//	elementPipeline  elements; compareLine, also in assembly            direct.go
//
// searchShort leaves to elementSearch what is rare. How many searches the assembly has in flight,
// and by which instruction insertions prefetch, depends on the processor (thisProcessor); [Stats]
// and farhash doctor say it.
//
// A single FindOrPut first tries the line of its home in assembly (firstLine).
//
// TestKernelsAgree compares the loops for words, TestShortElements searchShort with elementSearch,
// TestPairs Pairs with batches,
// TestSameAnswersOnEveryEngine all of them with a plain map, FuzzSet and FuzzElements streams of
// operations. Scripts (scripts_test.go) and the lab check what concurrent calls may answer.
//
// # Access
//
// A batch may be shipped (package ship, [Config].Access). A request holds the words of the
// items. The answer holds a word for each item: the result and, for elements, the
// reference. The rank that owns the home searches its own memory by the loops above, and
// stores what it inserts in its own arena. Where the search leaves its memory, or its arena has no
// free slot, it hands the item back, and the requesting rank continues one-sided: owners wait for
// nobody. A rank that cannot address its own memory directly answers by its queues: slow, but
// correct.
//
// A word is taken to need 1.5 messages one-sided, an element 2.5. The requesting rank counts the
// results, so Len stays exact; [Stats] lists what the owner counts. [Elements.GetBatch] is shipped
// as well. A string that is too long for a request is not shipped, and single operations are not.
// Nor is Collect: it keeps items on their rank, except where a search leaves its memory.
//
// # Growth
//
// A set has a sequence of tables, whose sizes follow from the configuration: each is twice as large
// as the one before it, or four times while it takes little of MaxBytes, and the last one takes
// what MaxBytes leaves. Their windows are made at the start. An insertion whose search is long
// counts a sample of buckets; where 0.8 of them are occupied, or a search comes to its limit, the
// table moves to the next one. All calls go on. A batch looks after each part of it, of 16 items or
// a 64th of the buckets of a rank, and the next part begins at the oldest table that there is then.
// So does a rank that answers a request. A batch may have more items than the table has buckets.
// Of its insertions half as many are shipped at a time as a rank has buckets, so that all ranks
// come to the next table at about the same time.
//
// Where a set shares memory with others it asks before a table takes memory ([Config].MayGrow). The
// garbage collector runs when a table has moved, so that its memory is soon given back.
//
// A table moves in pieces of 4096 buckets or more. Any rank may move any piece, several may move
// the same one, and one that dies leaves a piece that another moves again:
//
//	close  each empty bucket is swapped for closed, the word 1
//	copy   what each occupied bucket holds is put into the next table, unless it is there
//	mark   a word for the piece tells that it has moved
//
// An insertion that comes to a closed bucket moves a piece, and a batch 32 buckets for each of
// its items. Finds move nothing. No call waits for another. When a rank finds all pieces marked,
// its searches begin at the next table, and only then does it move pieces of that. Where batches
// are shipped each rank moves its own pieces. If the next table is full before others have moved
// theirs, a batch sends them a request to do so, and a rank that answers one moves a piece of
// theirs.
//
// A search begins at the oldest table that its rank does not know to have moved. Where it comes to
// a closed bucket, or to its limit, it continues in the next table, from the home there. Why is it
// correct? Occupied and closed buckets do not change. So all searches for an element in a table
// examine the same buckets, up to the first that did not have another element. If that has the
// element, all find it. If it is closed, or there is none within the limit, the element is not in
// this table and never will be. So one compare-and-swap, in one table, decides who has inserted it.
// What a move puts into the next table nobody has Inserted: searches that begin before it find it
// in the old table. A search begins at the next table only when all of the old one is there too.
//
// The owner of a hash is the same in all tables. So shipped batches find it whatever table the
// ranks are at, and a piece moves to adjacent buckets, nearly all of the same rank. Elements stay
// in their slots. A rank gives the memory of a table back when none of its calls uses it any more.
//
// Memory may be lost with a rank, for all others or for ranks of other hosts. What was there cannot
// move, nor can what would move there: such pieces are not marked by who finds that out. As
// searches begin at the next table only when all pieces are marked, they still begin at this one,
// and a search that comes to lost memory ends with an error. The tables after it move all the same.
//
// # By name
//
// All processes that have opened a set by name are its one rank (rma.Shared). Each takes runs of 64
// slots, or 4096 words for strings, or shorter ones in a small arena: twice as many as last time,
// up to so many slots. A window has the owner of each run. When a process has ended
// others take its runs over and examine them, each run once: slots that no bucket refers to are
// free (inherit.go). No string is in two runs that were taken one after the other.
//
// # Invariants
//
//   - A bucket changes once, from empty to occupied or to closed.
//   - Between the home of an element and its bucket all buckets are occupied by other
//     elements, and they are fewer than C*M.
//   - What a marked piece holds is in a later table as well.
//   - A slot that a bucket refers to does not change any more.
//
// Check verifies them. They are why equal elements cannot both be inserted:
// two searches for the same element examine the same buckets in the same order, and each tries the
// first bucket that it reads as empty. Buckets never become empty again. So the search that comes
// later to the bucket where the first succeeded finds the element there, in what it read or in what
// its lost compare-and-swap returns. An operation takes effect at the compare-and-swap that
// succeeded, or where the bucket was read that ended the search.
package set
