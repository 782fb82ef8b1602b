// Package readsize is how much to read at once from a hash table in remote memory: the
// model of Wang et al., Efficient Usage of One-Sided RDMA for Linear Probing, ADMS 2020
// ("LP" below), and what is better than it. Pure functions; nothing is measured here.
//
// # The question
//
// A search in linear probing reads slots from the home of its key on. A read of R slots of
// w bytes costs T(R) = c + alpha*R*w (LP Eq. 3); one that was not enough is followed by
// another. With short reads there are many, and long reads bring slots that are not needed.
//
//	home             empty
//	 v                 v
//	 |#|#|#|#|#|#|#|#|#| |#|#| | |
//	 `--- R ---'`--- R ---'          two requests, 2R slots
//
// # Laws
//
// A [Law] is how far a search goes: C_k, the probability that it ends within k slots (LP Eq. 6),
// and U_k = 1 - C_k ([Law.Unfinished]). All costs follow from it: a search with reads that begin
// k_0 = 0, k_1, k_2, ... slots after the home needs the sum of U at these places ([Law.Reads]).
//
//	Absent          the key is not there: up to the first empty slot (LP 3.3)
//	Present         the key is there, all matches are wanted: up to the first empty slot
//	OrderedAbsent   the records are in the order of their homes: up to the first record
//	                whose home is past the key's
//	OrderedPresent  the same for a key that is there
//
// They are limits for large tables, which nothing overflows in. In tables of LP's size Absent
// differs by less than 1e-6 from the law of a table of so many slots (LP Eq. 7 to 9;
// TestLimitIsExact). Loads go up to [MaxLoad].
//
// What LP measures (its Table 1) is Present; what its model minimises is Absent.
//
// # Policies
//
//	Uncapped  one size: R* = argmin E[X(R)]*T(R) (LP Eq. 1)
//	Capped    the same among sizes that do not saturate the link (LP Eq. 2)
//	Adaptive  the programme, a list of sizes: decided again after each read that was not enough
//	Ordered   the programme where records are in the order of their homes
//	Cuckoo    reads of k places, in parallel or one after the other (LP 4.5)
//
// [NewSizes] finds all but the last for a load: in microseconds up to load 0.8, in 4 ms at 0.95,
// in 90 ms at 0.99 (one core of 2 GHz).
//
// Expected requests, bytes and ns of a lookup for a key that is there, on LP's machine
// ([EDR]) with 8-byte slots:
//
//	load                  0.5           0.8           0.9            0.95
//	fixed, 32 slots   1.00 256 1311 1.22 313 1602 2.46  630 3224  7.42 1899  9719
//	capped            1.03 107 1332 1.39 256 1816 3.17  583 4136 10.09 1857 13171
//	uncapped          1.03 107 1332 1.02 780 1372 1.08 1737 1533  1.16 5084  1906
//	programme         1.00 184 1307 1.01 792 1372 1.05 2065 1517  1.14 5210  1885
//	ordered + prog.   1.00  64 1296 1.00 136 1303 1.00  249 1313  1.00  434  1331
//	cuckoo, parallel  3.00  96 1321                at every load
//
// # Where the paper is ambiguous
//
//   - The sum E[X(R)] ends with the first read that has C >= 0.99, and sizes above the
//     first such k are not considered. Only so all seven sizes of LP Table 1 come out
//     ([Law.ModelReads]).
//   - The bound of Eq. 2 is rounded to the nearest, and takes the rate of messages with one
//     slot. The model's size is the best one below it, which is not the lesser of both.
//   - LP Table 1 has 7.41 and 10.05 requests at load 0.95; by the law these are 7.417 and
//     10.095.
//   - LP Table 4 has 1.04 reads of the heap for each lookup by linear probing. Signatures of a
//     byte that agree by chance give 1.02. With the paper's random keys of 4 bytes, some of which
//     stand in the table twice, it is 1.04 if lookups draw keys evenly, and 1.05 if they draw
//     records. The model is of the table alone.
//   - Sequential cuckoo stops at the key (LP 2.2) or does not (LP Algorithm 3); see
//     [Cuckoo.Sequential].
//
// # Chunks of a set
//
// Find-or-put with chunks of C buckets (Oortwijn et al., "OP", Table 1) takes the reads of Absent
// by C buckets at a time. [Plan] has the C for which they are cheapest, which OP leaves as
// future work. The law assumes homes at any word. With homes at the starts of cache
// lines, as a set mostly has them, the same C costs at most 0.2 % more than the best one.
//
// # Use
//
//	sizes, err := readsize.NewSizes(readsize.Config{Machine: readsize.EDR(), SlotBytes: 8}, 0.8)
//	sizes.Ordered // [17 16]: read 17 slots, then 16 at a time
//
// The command farhash-eval model prints all this.
package readsize
