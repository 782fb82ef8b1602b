package page

// Phrases are the parts of the prose that have figures, by the file of their page. A figure in
// braces is printed, or made of what is printed: see [Names]. The others are of the papers and of
// how something was simulated, or a test of their own has them. Text in backquotes and targets of
// links are _ here.
var Phrases = map[string][]string{"papers.md": {
	"{op-agree} of 25 cells agree. For the other {op-differ} the formula",
	"(_ of _) has 2.05 and 1.96, on the border to OP's.",
	"There C=8 takes 2.051 and 5.785 at loads 0.8 and 0.9 (_), so that OP's 5.7 is met",
	"of the others: {cells-trips} round trips {error-trips}, {cells-times} latencies " +
		"{error-times}, {cells-rates} throughputs of 2 to 48 machines {error-rates}.",
	"16 processes do {op-peak} million operations a second, {op-speedup} times as many as two",
	"OP has {op-peak-paper} million, {op-speedup-paper} times as many.",
	"**4.2, three workloads**",
	"processes the speedups are {clusters-mixed}, {clusters-read} and {clusters-write}.",
	"OP's {op-one-paper} million operations a second of one process are 5 ns each",
	"*Full from load 0.92 on with C=8.* This needs an M of about 384. With OP's M=32 the formula " +
		"expects the first full at load 0.74.",

	"**2.2 and 4.3, other schemes**",
	"and up to load {schemes-fours} of cuckoo hashing with buckets of 4, as OP claims, but " +
		"behind buckets of 8 from load {schemes-eights} on.",
	"If these take one round trip, linear probing is ahead up to load {schemes-locks}.",
	"Walking-the-line is ahead of it from load {schemes-line} on.",
	"At load 0.75 OP has 1.04 probes for C=32, and 1.6 for Pilaf; here they are " +
		"{schemes-probes} and {schemes-pilaf}.",

	"have {lp-law-f90} and {lp-law-f95} (fixed), {lp-law-c90} and {lp-law-c95} (capped): a " +
		"table of 1 Mi records",
	"to the heap: {heap-cuckoo} with LP's keys, random numbers of 4 bytes of which some have " +
		"several records. LP has {heap-cuckoo-paper}. Signatures of a byte in twelve slots agree " +
		"by chance in 0.028 cases, and a random key has 1.015 records in the mean.",
	"Simulated million lookups a second at load 0.65, records of 8 and 128 bytes",
	"Hybrid has at least {hybrid-least} of the throughput of the better one, and up to " +
		"{hybrid-to-inline} times inline and {hybrid-to-heap} times the heap.",
	"a lookup takes {hybrid-inline-ns} ns inline and {hybrid-first-ns} to {hybrid-last-ns} ns " +
		"hybrid:",
	"for a request, 5 ns for each further line of 64 bytes",
	"With three places cuckoo hashing has {gather-linear-8} times the rate of linear probing at " +
		"load 0.8, and {gather-ordered-8} times that of the ordered table; at 0.9 " +
		"{gather-linear-9} and {gather-ordered-9} times.",
	"With 500 ns, two-sided has {two-sided} times the throughput of cuckoo hashing at " +
		"load 0.9, and {two-sided-95} times at 0.95.",
	"![cost of a lookup at load 0.8",
	"*Table 2* has a mean error of {header-mean} % and a largest one of {header-largest} %.",
	"Without LP's header of 30 bytes the errors are {bare-mean} % and {bare-largest} %.",
	"reads without payload have 72 million a second here, and 87 in LP.",
	"is {uncapped-80} and {uncapped-90} at loads 0.8 and 0.9, as in LP, and {uncapped-85} at " +
		"0.85: there reads of {lp-r174} slots wait for the bandwidth ({lp-r174-gbs} GB/s of " +
		"12.5).",
	"LP measures 2.9 µs for a read, and its own c is 1.29 µs.",
	"to LP's medians of 2.9 and 4.7 µs: {fit-lookup} µs for a lookup and {fit-read} µs for each " +
		"posted read.",
	"reads of all places take {fit-once} times as long as parallel if the time of a lookup " +
		"passes once, and {fit-rounds} times if it passes in each round.",
	"as if it read all places, and 1.7 times its latency",
	"counts 2.0 requests, as LP does; the table here needs {sequential-first} to " +
		"{sequential-last}.",
	"its sum ends at C >= 0.99,",

	"give are fitted to the cells in italics: 6.3 µs for each message, and 29.6 µs more if a rank",
	"about 3 times as fast as fine ones and 2 times as fast as coarse ones;",
	"here {md-uniform-fine} and {md-uniform-coarse} times with uniform keys, {md-zipf-fine} and " +
		"{md-zipf-coarse} with Zipf keys.",
	"keeps the card busy for 400 ns (_), fine and coarse writes fall to 0.065 and 0.064.",
	"fine locks do 0.62 with 128 ranks and 0.63 with 256, coarse ones 0.58 and 0.60.",
	"needs {md-gets-ours} gets for an operation, and MD's table {md-gets} with uniform keys",
	"So the cache is {md-ahead} % ahead.",
	"Here none of {md-reads-zipf-mixed} mixed operations of 640 ranks with Zipf keys fails. So " +
		"the rate is below {md-below} % (MD: {md-failed} %) with 95 % confidence.",
	"With uniform keys none of {md-reads-mixed} fails; if ranks only read none of " +
		"{md-reads-uniform} and {md-reads-zipf}, as in MD.",
	"takes 4 ns at the memory here. If it takes 400 ns (_), 0.15 % of the mixed operations",
	"a put examines {md-examined} at quarter load instead of {md-examined-spread}.",
	"With coarse locks over RoCE, MD (3.4, 3.5) does at most 4.12 million reads and 1.45 million " +
		"writes a second, with 48 clients. _ gives 4.15 and 1.97 million;",
	"it does 2.8 times the writes and 8.0 times the reads. MD does 10.1 to 15.3 and 8.2 to 12.5 " +
		"times those of DAOS.",
	"MD has 375 million lookups, one for each cell and step; 91.8 % find an answer.",
	"{poet-us} µs for computing any cell, and what neither a table nor more workers shorten, " +
		"{poet-128} s with 128 ranks and {poet-640} s with 640,",
	"which differ by up to {poet-spread} points, and the error in points:",
	"The largest error is {poet-error} points.",
	"hottest key: 3.2 % with 128 ranks and -4.5 % with 640 after 4,000 cells (_).",
	"if one key has 60 % of the cells, such as those that the reaction has not reached, and an " +
		"atomic keeps the card busy for 400 ns (last two columns; _).",
	"the same, one key for 60 % of the cells",
	"_ saves 46 to 63 % of the time with 1 to 4 ranks on two cores, at hit rates of 63 to 78 %.",

	"the table has 65,536 slots:",
	"meets all five figures within 0.1: 2 round trips",
	"in _ {get-copy} if the pair has a copy in the slot, else {get-none}.",
	"takes 5 or more in NE; in _ {present-copy} or {present-none}.",
	"at a load of {server-64} with 65,536 slots and {server-256} with 262,144 (medians of 41 " +
		"tables; {server-64-min} to {server-64-max} and {server-256-min} to {server-256-max}).",
	"{one-move} at load 0.75 (NE: 70 %), and {one-move-ours} in the table above.",
	"Its abstract has less than 25 µs for a write",
	"is 0.5 or 0.25. NE has {ne-us-75} µs at load 0.75, where Table 1 has {ne-trips-75} round " +
		"trips. At 10 µs each a write takes {ne-us-50} µs at 0.5 and {ne-us-25} µs at 0.25.",
}, "nessie.md": {
	"Of {faults-least} to {faults-most} deaths one loses a write.",
}}
