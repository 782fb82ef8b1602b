/*
 * Find-or-put with elements, for SPIN: the protocol of set/DESIGN.md. One step of a
 * rank is one access to one word of shared memory, with the local work that follows
 * from it; nothing longer is atomic. README.md says what stands for what and what is
 * left out. spec/run sets the parameters:
 *
 *   PROCS ranks. Rank 0 does OPS searches, the others OTHERS (at most OPS); up to
 *   DEATHS of them die. BUCKETS are examined in chunks of CHUNK (1 or 2), LIMIT of
 *   them before Full. HOME3, DISTINCT: homes and fingerprints. MEMORY: the loops over
 *   memory, with CHUNK 1. MUTANT: a wrong version. REACH: a MARK.
 */
#define OCCUPIED 128            /* a bucket: | 1 | fingerprint (2) | reference (5) | */
#define KEYMASK  (128 + 64 + 32)
#define REFMASK  31
#define WORDS    2              /* of an element: enough to tear */
#define BOTH     3              /* their mask */
#define INFLIGHT 1              /* in a buffer: a word that has not arrived yet */
#define PAST     2              /* in a buffer: beyond the limit, not requested */
#define NOSLOT   255

/* The elements are 1, 2 and 3. All but DISTINCT have the same fingerprint; the home of all but
 * 3 is the last bucket. A slot of 1 that is overwritten by 2 holds 3 for a moment. */
#define WORD(e, i)     ((i) == 0 -> ((e) == 2 -> 2 : 1) : ((e) == 1 -> 1 : 2))
#define KEY(e)         (OCCUPIED + ((e) == DISTINCT -> 64 : 32))
#define HOME(e)        ((e) == 3 -> HOME3 : BUCKETS - 1)
#define DISTANCE(e, b) (((b) + BUCKETS - HOME(e)) % BUCKETS)

byte bucket[BUCKETS];           /* zero is empty */
byte arena[PROCS * OPS * WORDS];

#define REF(word)      ((word) & REFMASK)
#define SAME(word, e, i) (arena[REF(word) * WORDS + i] == WORD(e, i))
#define HOLDS(word, e) (SAME(word, e, 0) && SAME(word, e, 1))

/* What no rank reads: it serves the assertions. Sets of elements and of slots are masks. */
byte inSet;                     /* elements whose compare-and-swap has won */
byte acked;                     /* elements with an answer Inserted */
byte whole;                     /* slots written to the last word */
byte shown;                     /* slots that a bucket refers to */
byte deaths, ended;
hidden byte b, n, x;            /* used within one step only */

#define HAS(mask, i) (((mask) >> (i)) & 1)

/* MARK is what must be able to happen; spec/run checks that each of them does. */
#define MARK(name, condition) assert(!(REACH == name && (condition)))
#define WRAPPED      1          /* an element goes around the end of the table */
#define LOST_EQUAL   2          /* a compare-and-swap loses to the same element */
#define LOST_SIMILAR 3          /* to another one with the same fingerprint */
#define LOST_OTHER   4          /* to another fingerprint */
#define STALE        5          /* a bucket read as empty is taken when examined */
#define REUSED       6          /* a slot that was kept is overwritten */
#define FULL_ANSWER  7
#define FULL_EARLY   8          /* Full, and a bucket beyond the limit is empty */
#define ABSENT_FULL  9          /* NotFound, and no bucket in reach is empty */
#define DIED_IN     10          /* dead, the element in the set, and no answer */
#define DIED_TORN   11          /* dead with half an element written */
#define DIED_OUT    12          /* dead with the element written and not in the set */

/* Each MUTANT is a wrong version; spec/run checks that SPIN finds the error. */
#define SKIP         1          /* the word that won a compare-and-swap is not examined */
#define TRUST        2          /* a winner with this fingerprint is taken for equal */
#define PUT          3          /* the bucket is read and written, not swapped */
#define NO_AWAIT     4          /* buckets that have not arrived are skipped */
#define NO_WRAP      5          /* the search ends with the table */
#define RETRY        6          /* in place of Full: again, until there is room */
#define FINGERPRINT  7          /* equal fingerprints make equal elements */
#define HALF         8          /* one word is compared, whichever arrives first */
#define KEEP         9          /* the slot is kept though a bucket refers to it */
#define EARLY       10          /* the reference is published, then the element written */
#define WAIT        11          /* so it is, but readers wait for the element */
#define COUNT       12          /* occupied buckets of a line are counted, wherever they are */

mtype = { idle, examine, match, store, swap, done };    /* phases */
mtype = { None, Inserted, Found, NotFound, Full };      /* results */

/* The buffer holds the present chunk and after it the next one, which is requested
 * before the present one is waited for. PLACE is the bucket of word i of the buffer. */
#define PLACE(i)   ((HOME(e) + begin + (i)) % BUCKETS)
#define REQUEST(i) buf[i] = (begin + (i) < LIMIT -> INFLIGHT : PAST)
#define ARRIVED    (buf[0] != INFLIGHT && buf[CHUNK - !staged] != INFLIGHT || MUTANT == NO_AWAIT)
#define REACHED    (begin + next >= LIMIT || MUTANT == NO_WRAP && HOME(e) + begin + next >= BUCKETS)
#define COMPARED   (fetched == BOTH || MUTANT == HALF && fetched != 0)
#define MATCHES(word) (((word) & KEYMASK) == KEY(e))
#define READABLE   (MUTANT != WAIT || HAS(whole, REF(buf[next])))
#define EAGER      (MUTANT == EARLY || MUTANT == WAIT)

inline finish(answer) { result = answer; phase = done }

/* searchFrom requests two chunks; a chunk of 1 bucket is requested twice. */
inline searchFrom(distance) {
	begin = distance; next = 0; phase = examine;
	REQUEST(0); REQUEST(CHUNK - 1); REQUEST(CHUNK); REQUEST(2 * CHUNK - 1)
}

inline nextChunk() {
	begin = begin + CHUNK; next = 0; buf[0] = buf[CHUNK]; buf[CHUNK - 1] = buf[2 * CHUNK - 1];
	REQUEST(CHUNK); REQUEST(2 * CHUNK - 1)
}

/* finishLine: a batch over memory has read a line, here of two buckets, some time ago.
 * If none has the fingerprint, those before the first empty one are not read again. */
inline finishLine() {
	if
	:: MATCHES(buf[0]) -> phase = match
	:: !MATCHES(buf[0]) && MATCHES(buf[1]) -> next = 1; phase = match
	:: else -> n = (buf[0] != 0) + (buf[1] != 0 && (buf[0] != 0 || MUTANT == COUNT));
		staged = false; searchFrom(n)
	fi
}

/* advance continues until it needs memory, or has an answer. */
inline advance() {
	do
	:: phase != examine -> break
	:: else -> if
		:: REACHED && insert && MUTANT == RETRY -> searchFrom(0)
		:: REACHED && !(insert && MUTANT == RETRY) -> finish((insert -> Full : NotFound))
		:: !REACHED && next == CHUNK -> nextChunk()
		:: !REACHED && next < CHUNK && !ARRIVED -> break
		:: !REACHED && next < CHUNK && ARRIVED && !staged -> consider()
		:: !REACHED && next < CHUNK && ARRIVED && staged -> finishLine()
		fi
	od;
	skip                            /* a d_step must not end with a loop */
}

/* consider decides on a bucket, as read or as a lost compare-and-swap returned it. */
inline consider() {
	if
	:: buf[next] == 0 && !insert -> finish(NotFound)
	:: buf[next] == 0 && insert ->
		MARK(STALE, bucket[PLACE(next)] != 0);
		takeSlot();
		phase = (stored == BOTH || EAGER -> swap : store)
	:: buf[next] != 0 && !MATCHES(buf[next]) -> next++
	:: buf[next] != 0 && MATCHES(buf[next]) ->
		if :: MUTANT == FINGERPRINT -> finish(Found) :: else -> phase = match fi
	fi
}

/* takeSlot takes a slot, the one that was kept if there is one. */
inline takeSlot() {
	if
	:: mine == NOSLOT -> mine = id * OPS + taken; taken++
	:: else -> MARK(REUSED, stored == 0)
	fi
}

/* get is the arrival of a word of a chunk: any one, at any time, whatever the phase. */
inline get(i) { d_step { buf[i] == INFLIGHT -> buf[i] = bucket[PLACE(i)]; advance() } }

/* put writes a word of the own element into the slot. */
inline put(i) {
	d_step {
		phase == store && !HAS(stored, i) ->
		assert(!HAS(shown, mine) || EAGER);        /* a slot referred to does not change */
		arena[mine * WORDS + i] = WORD(e, i);
		stored = stored | 1 << i;
		whole = whole & ~(1 << mine) | (stored == BOTH) << mine;
		if
		:: stored != BOTH
		:: stored == BOTH && EAGER -> finish(Inserted)
		:: stored == BOTH && !EAGER -> phase = swap
		fi
	}
}

/* fetch is the arrival of a word of the element that the bucket refers to. */
inline fetch(i) {
	d_step {
		phase == match && !HAS(fetched, i) && READABLE ->
		assert(HAS(whole, REF(buf[next])));     /* no read of an unwritten element */
		fetched = fetched | 1 << i;
		same = same && SAME(buf[next], e, i);
		if
		:: !COMPARED
		:: COMPARED && same -> finish(Found)
		:: COMPARED && !same && !staged -> next++; phase = examine
		:: COMPARED && !same && staged -> staged = false; searchFrom(0)
		fi;
		if :: COMPARED -> fetched = 0; same = true :: else fi;
		advance()
	}
}

/* compareAndSwap: what it returns when it loses is examined in place of what was read. */
inline compareAndSwap() {
	d_step {
		phase == swap ->
		b = bucket[PLACE(next)];
		if
		:: b == 0 || MUTANT == PUT ->
			assert(!HAS(inSet, e));         /* no element twice */
			bucket[PLACE(next)] = KEY(e) + mine;
			inSet = inSet | 1 << e; shown = shown | 1 << mine;
			for (x : 1 .. begin + next) {
				assert(bucket[(HOME(e) + x - 1) % BUCKETS] != 0) /* no gap before an element */
			}
			MARK(WRAPPED, PLACE(next) < HOME(e));
			if :: EAGER -> phase = store :: else -> finish(Inserted) fi
		:: b != 0 && MUTANT != PUT ->
			MARK(LOST_EQUAL, HOLDS(b, e));
			MARK(LOST_SIMILAR, !HOLDS(b, e) && MATCHES(b));
			MARK(LOST_OTHER, !MATCHES(b));
			phase = examine;
			buf[next] = (MEMORY -> INFLIGHT : b);      /* the loop reads it again */
			if :: MUTANT == SKIP -> next++
			   :: MUTANT == TRUST && MATCHES(b) -> finish(Found)
			   :: else fi;
			advance()
		fi
	}
}

/* answer checks the result of a search, as if it were done at one moment of its time. */
inline answer() {
	d_step {
		phase == done ->
		assert(result != Found || HAS(inSet, e));       /* what is found is in the set */
		assert(result == Found || !was);        /* what was in the set is found */
		n = 0;                                  /* empty buckets in reach */
		for (b : 0 .. BUCKETS - 1) { n = n + (bucket[b] == 0 && DISTANCE(e, b) < LIMIT) }
		if
		:: result == Inserted ->
			assert(insert && !HAS(acked, e));       /* one answer alone is Inserted */
			acked = acked | 1 << e;
			mine = (MUTANT == KEEP -> mine : NOSLOT)
		:: result == Full ->
			assert(insert && n == 0);               /* Full only without room in reach */
			assert(!HAS(inSet, e));                 /* Full only of what is not in the set */
			MARK(FULL_ANSWER, true);
			for (b : 0 .. BUCKETS - 1) { MARK(FULL_EARLY, bucket[b] == 0) }
		:: result == NotFound ->
			assert(!insert);                        /* what is not found is put */
			MARK(ABSENT_FULL, n == 0)
		:: result == Found
		fi;
		forget()
	}
}

/* forget clears all but the slot that is kept, so that equal states are equal. */
inline forget() {
	for (b : 0 .. 2 * CHUNK - 1) { buf[b] = 0 }
	phase = idle; result = None; e = 0; insert = false; was = false;
	staged = false; begin = 0; next = 0; stored = 0; fetched = 0; same = true
}

proctype Rank(byte id) {
	mtype phase = idle, result = None;
	byte e;                         /* the element searched */
	bool insert, was;               /* find-or-put, or find; e was in the set at the call */
	bool staged;                    /* the buffer is the line of a batch over memory */
	byte begin, next;               /* distance of the chunk from home, bucket in it */
	byte buf[2 * CHUNK];
	byte fetched, stored;           /* words of the other and of the own element */
	bool same = true;               /* the words fetched so far are equal to e */
	byte mine = NOSLOT, taken;      /* slot that is kept, slots used up */
	byte left = (id == 0 -> OPS : OTHERS);  /* searches to do */

	do
	:: phase == idle && left > 0 -> atomic {
		left--;
		if :: e = 1 :: e = 2 :: e = 3 fi;
		if :: insert = true :: insert = false fi;
		if :: MEMORY -> staged = true :: staged = false fi;
		d_step { was = HAS(inSet, e); searchFrom(0) } }
	:: get(0) :: get(CHUNK)
#if CHUNK == 2
	:: get(1) :: get(3)
#endif
	:: put(0) :: put(1)
	:: fetch(0) :: fetch(1)
	:: compareAndSwap()
	:: answer()
	:: atomic { deaths < DEATHS ->
		MARK(DIED_IN, result == Inserted);
		MARK(DIED_TORN, stored != 0 && stored != BOTH);
		MARK(DIED_OUT, phase == swap);
		deaths++; forget(); break }
	:: phase == idle && left == 0 -> break
	od;
	atomic { mine = NOSLOT; taken = 0; left = 0; ended++ }
}

init {
	atomic { n = 0; do :: n < PROCS -> run Rank(n); n++ :: else -> break od };
	ended == PROCS;                 /* the dead are counted: no other may hang */
	d_step {
		for (x : 1 .. 3) {
			n = 0;
			for (b : 0 .. BUCKETS - 1) { n = n + (bucket[b] != 0 && HOLDS(bucket[b], x)) }
			assert(n == HAS(inSet, x))      /* nothing lost, nothing twice */
		}
		assert(acked == inSet || deaths > 0 && (acked & inSet) == acked) /* one Inserted of each */
	}
}
