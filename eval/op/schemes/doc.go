// Package schemes has the hashing schemes that OP 2.2 compares (Oortwijn, van Dijk, van de Pol: A
// Distributed Hash Table for Shared Memory, PPAM 2015; "OP"), each as a client uses it that reaches
// the buckets by one-sided operations alone. It counts these operations. farhash-eval op schemes
// shows them by load.
//
// # What is counted
//
// A [Table] is memory of this process. Its code reads and changes buckets only by gets, puts and
// compare-and-swaps, and says when the client waits for them. A [Cost] has:
//
//   - Trips: how often the client waits. What is requested together is one round trip.
//   - Gets and Bytes: the requests to read, and what they bring. A bucket has 8 bytes.
//   - Swaps: compare-and-swaps. Moves: words that are moved to another bucket.
//
// There are two operations. Find looks for a word. FindOrPut inserts a word that is not there; it
// looks for the word first, as OP's operation does. Words are never deleted.
//
// # The schemes
//
// linear-C is OP's: gets of C buckets from the home on, until one of them has the word or an empty
// bucket. Gets follow each other as OP counts them, each needed chunk as one round trip. OP
// requests the next chunk early: then two chunks take one round trip, as one of twice C does. An
// insert is a compare-and-swap of the first empty bucket. This is all: two clients that insert the
// same word swap the same bucket.
//
// quadratic is a get of one bucket after the other; the steps grow by one. double is the same with
// steps of a second hash. quadratic-8 requests the next 8 buckets together. Inserts are as above.
//
// line-C is walking-the-line: a get of the line that has the home, C buckets from a multiple of C
// on, then of other lines, at steps of a second hash. A line is filled from its begin: the place in
// a line makes no difference to a client that reads the whole line. Inserts are as above.
//
// hopscotch-H has each word among the H buckets from its home on, so that a find is one get. An
// insert that finds no empty bucket there reads on, H buckets at a time, until there is one. Then
// it moves words towards the empty bucket, each within the H buckets from its own home, until a
// bucket within reach is free. The client knows what to move, as it has read all of these buckets.
// A move is a compare-and-swap into the free bucket; the next swap replaces the word that was
// moved, so that no word is missing in between. Each swap waits for the one before.
//
// cuckoo-KxB has each word in one of K buckets with B words each. A find requests all K together;
// cuckoo-KxB-in-turn requests the next only if the word was not in the last, as Pilaf does. An
// insert takes the bucket with most room. If all K are full, it looks for a bucket with room: it
// chooses a word of the last bucket at random, reads the other buckets of this word, and so on. At
// most [cuckooMoves] steps are tried. cuckoo-KxB-breadth requests the other buckets of all words
// together, and those of all words in these, until one of at most [cuckooBuckets] has room. It
// takes fewer round trips and many more bytes. The words on the way move from the last to the
// first, as in hopscotch.
//
// chained has a word for each bucket that refers to the first node of a list. A node has a word and
// the place of the next node. A get brings the bucket, and one get each node. An insert writes its
// node and swaps the bucket in one round trip, since networks keep a put and a later atomic of one
// client in order. Nodes take 16 bytes for each word besides the buckets.
//
// # What is not counted
//
// There is one client. linear, quadratic, double, line and chained never move a word, so that a
// compare-and-swap is enough. hopscotch and cuckoo need more, so that their counts are
// lower bounds for clients without locks:
//
//   - A reader can look at the new place of a word before the move and at the old one after it, and
//     miss the word. It has to read versions, and to read again if they have changed.
//   - Two clients that insert the same word can choose different buckets.
//   - If another client changes a word on the way to an empty bucket, a swap fails, and a word may
//     be at two places. The insert has to remove it from one of them and to start again.
//
// Locks prevent the last two. Then the moves of an insert can be requested together, and take as
// many round trips less as there are moves; taking locks and waiting for other clients take more.
package schemes
