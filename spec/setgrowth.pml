/*
 * A set of words that grows while it is in use, for SPIN: "Growth" of set/DESIGN.md. One step of a
 * rank is one access to one word of shared memory, with the local work that follows from it;
 * nothing longer is atomic. README.md says what stands for what. spec/run sets the parameters:
 *
 *   PROCS ranks. Rank 0 does OPS calls, rank 1 OPS1 and rank 2 OPS2; up to DEATHS of them die.
 *   MENU0 to MENU2: their calls, a mask of PUTS, FINDS and MOVES. WORDS words, 3 at most; TABLES
 *   tables, 2 or 3, of SIZE0, SIZE1 and SIZE2 buckets; LIMIT buckets are examined in one. PIECE
 *   buckets are a piece. MUTANT: a wrong version. REACH: a MARK.
 */
#define EMPTY  0                /* a bucket: empty, closed, or one of the words 2, 3 and 4 */
#define CLOSED 1
#define FIRST  2
#define LAST   (TABLES - 1)
#define WIDTH  4                /* buckets that a table has at most */
#define NPIECES(g) ((SIZE(g) + PIECE - 1) / PIECE)

#define PUTS   1
#define FINDS  2
#define MOVES  4

/* In table 0 the words 2 and 3 have their home in the last bucket and 4 in the first one, so that
 * the runs of all words overlap around its end. In table 1 2 and 4 have the same home. */
#define SIZE(g)     ((g) == 0 -> SIZE0 : ((g) == 1 -> SIZE1 : SIZE2))
#define HOME(g, w)  ((g) == 0 -> ((w) == 4 -> 0 : SIZE0 - 1) : ((g) == 1 -> ((w) == 3) : 0))
#define REACHED(g, d) ((d) >= LIMIT || (d) >= SIZE(g))
#define PLACE(g, w, d) ((g) * WIDTH + (HOME(g, w) + (d)) % SIZE(g))

byte bucket[TABLES * WIDTH];
byte moved[WIDTH];              /* mark of a piece: it has moved in all tables before this one */
byte oldestCell;                /* all tables before this one have moved */

/* What no rank reads: it serves the assertions. Sets of words are masks. */
byte inSet;                     /* words whose compare-and-swap has won */
byte acked;                     /* words with an answer Inserted */
byte deaths, ended;
hidden byte b, n, x, y, z;      /* used within one step only */
hidden byte ok;                 /* true or false */

#define HAS(mask, i) (((mask) >> (i)) & 1)

/* MARK is what must be able to happen; spec/run checks that each of them does. */
#define MARK(name, condition) assert(!(REACH == name && (condition)))
#define LOST_CLOSE   1          /* a bucket is occupied before it is closed */
#define LOST_CLAIM   2          /* a bucket is closed before it is claimed */
#define LOST_COPY    3          /* two copy the same word, and one is late */
#define FORWARD      4          /* a word is put into a table while the one before it moves */
#define FOUND_LATER  5          /* a word is found that only a later table has */
#define STALE_START  6          /* a search ends that began at a table that has moved */
#define AGAIN        7          /* a piece is marked twice */
#define RESCUED      8          /* a piece is moved that a dead rank had begun */
#define PASSED_LIMIT 9          /* a search comes to its limit, and continues */
#define THIRD       10          /* a word is put into the third table */
#define FULL_ANSWER 11
#define STUCK       12          /* what is to be moved does not fit */
#define DIED_IN     13          /* dead, the word in the set, and no answer */
#define WON_BY_COPY 14          /* a word is copied whose insertion has no answer yet */

/* Each MUTANT is a wrong version; spec/run checks that SPIN finds the error. */
#define BEGINS_EARLY  1         /* searches begin at the next table when one piece has moved */
#define MARK_FIRST    2         /* a piece is marked before what it holds is copied */
#define CLOSED_EMPTY  3         /* a closed bucket is taken as empty */
#define CLOSED_OTHER  4         /* a closed bucket is taken as one with another word */
#define NO_CLOSE      5         /* empty buckets are not closed */
#define COPY_TELLS    6         /* a word that is copied counts as Inserted */
#define STORE_CLOSED  7         /* a bucket is closed by a store */
#define LOSER_LEAVES  8         /* what wins a bucket that was to be closed is not copied */
#define COPY_BLIND    9         /* a copy takes the first empty bucket without comparing words */
#define LIMIT_FULL   10         /* the limit is Full though there is a next table */
#define NO_RETURN    11         /* an insertion that loses its bucket continues after it */
#define MOVES_NEXT   12         /* a rank moves a table while the one before it moves */
#define WAIT         13         /* a call waits for the move to end */

mtype = { idle, examine, claim, done, scan, close, shut, mark, tell };  /* phases */
mtype = { None, Inserted, Found, NotFound, Full };                      /* results */

/* lookup sets ok: a search for word z that begins at table x finds it. */
inline lookup() {
	y = 0; ok = false;
	do
	:: x >= TABLES -> break
	:: else ->
		b = bucket[PLACE(x, z, y)];
		if
		:: b == z -> ok = true; break
		:: b == EMPTY -> break
		:: b == CLOSED -> x++; y = 0
		:: b > CLOSED && b != z -> y++; if :: REACHED(x, y) -> x++; y = 0 :: else fi
		fi
	od
}

inline finish(answer) { result = answer; phase = done }

/* limited ends a search that has examined all buckets within the limit of a table. */
inline limited() {
	if
	:: !REACHED(g, d)
	:: REACHED(g, d) && g < LAST && (MUTANT != LIMIT_FULL || moving) ->
		MARK(PASSED_LIMIT, true);
		g++; d = 0
	:: REACHED(g, d) && (g == LAST || MUTANT == LIMIT_FULL && !moving) ->
		finish((insert -> Full : NotFound))
	fi
}

#define READABLE (MUTANT != WAIT || moving || oldestCell > g || bucket[PLACE(g, w, d)] != CLOSED)

/* read examines a bucket. */
inline read() {
	d_step {
		phase == examine && READABLE ->
		b = bucket[PLACE(g, w, d)];
		if
		:: b == w && !(MUTANT == COPY_BLIND && moving) -> finish(Found)
		:: b == EMPTY || b == CLOSED && MUTANT == CLOSED_EMPTY ->
			expected = b;
			if :: insert -> phase = claim :: else -> finish(NotFound) fi
		:: b == CLOSED && MUTANT != CLOSED_EMPTY && MUTANT != CLOSED_OTHER ->
			assert(g < LAST);               /* the last table does not move */
			g++; d = 0
		:: b == w && MUTANT == COPY_BLIND && moving || b > CLOSED && b != w ||
		   b == CLOSED && MUTANT == CLOSED_OTHER -> d++; limited()
		fi
	}
}

/* compareAndSwap claims a bucket. When it loses the bucket is read again. */
inline compareAndSwap() {
	d_step {
		phase == claim ->
		b = bucket[PLACE(g, w, d)];
		if
		:: b == expected ->
			assert(b == EMPTY);             /* a bucket changes once */
			for (x : 0 .. SIZE(g) - 1) {
				assert(bucket[g * WIDTH + x] != w)      /* no word twice in a table */
			}
			MARK(FORWARD, !moving && g > 0 && oldestCell < g);
			MARK(THIRD, !moving && g == 2);
			MARK(WON_BY_COPY, moving && !HAS(acked, w));
			bucket[PLACE(g, w, d)] = w;
			inSet = inSet | 1 << w;
			if
			:: moving && MUTANT == COPY_TELLS ->
				assert(!HAS(acked, w));         /* one answer alone is Inserted */
				acked = acked | 1 << w
			:: else
			fi;
			finish(Inserted)
		:: else ->
			MARK(LOST_CLAIM, b == CLOSED && !moving);
			MARK(LOST_COPY, b == w && moving);
			phase = examine;
			if :: MUTANT == NO_RETURN && !moving -> d++; limited() :: else fi
		fi;
		if :: phase == done && moving -> copied() :: else fi
	}
}

/* answer checks the result of a call, as if it were done at one moment of its time. */
inline answer() {
	d_step {
		phase == done && !moving ->
		assert(result != Found || HAS(inSet, w));       /* what is found is in the set */
		assert(result == Found || !was);        /* what was in the set is found */
		MARK(STALE_START, oldest < oldestCell);
		if
		:: result == Inserted ->
			assert(insert && !HAS(acked, w));       /* one answer alone is Inserted */
			acked = acked | 1 << w
		:: result == Full ->
			assert(insert && !HAS(inSet, w));       /* Full only of what is not in the set */
			assert(g == LAST);              /* Full only of the last table */
			MARK(FULL_ANSWER, true)
		:: result == NotFound -> assert(!insert)        /* what is not found is put */
		:: result == Found ->
			ok = true;
			for (x : 0 .. SIZE0 - 1) { ok = ok && bucket[x] != w }
			MARK(FOUND_LATER, ok)
		fi;
		forget()
	}
}

/* Rank 1 takes the pieces from the last one on. */
#define NUMBER (piece + (id == 1) * (NPIECES(from) - 1 - 2 * piece))

/* copyNext has the next word of a piece copied, or the piece marked. */
inline copyNext() {
	do
	:: at < PIECE && !HAS(taken, at) -> at++
	:: else -> break
	od;
	if
	:: at == PIECE && MUTANT == MARK_FIRST -> phase = scan; taken = 0; at = 0
	:: at == PIECE && MUTANT != MARK_FIRST -> phase = mark
	:: at < PIECE -> w = bucket[from * WIDTH + NUMBER * PIECE + at];
		insert = true; g = from + 1; d = 0; phase = examine
	fi
}

/* copied ends the copy of a word. */
inline copied() {
	if
	:: result == Full -> MARK(STUCK, true); forget()
	:: else -> result = None; w = 0; insert = false; g = 0; d = 0; at++; copyNext()
	fi
}

inline endCopy() { d_step { phase == done && moving -> copied() } }

/* scanMarks looks for a piece that has not moved. */
inline scanMarks() {
	d_step {
		phase == scan ->
		if
		:: piece == NPIECES(from) || MUTANT == BEGINS_EARLY && piece > 0 -> phase = tell
		:: piece < NPIECES(from) && moved[NUMBER] > from -> piece++
		:: piece < NPIECES(from) && moved[NUMBER] <= from -> phase = close; at = 0; taken = 0
		fi
	}
}

#define CLOSING bucket[from * WIDTH + NUMBER * PIECE + at]

/* closed ends what is done to a bucket before it is copied. */
inline closed(hasWord) {
	taken = taken | (hasWord) << at;
	at++;
	if
	:: at == PIECE || NUMBER * PIECE + at >= SIZE(from) ->
		at = 0;
		if :: MUTANT == MARK_FIRST -> phase = mark :: else -> copyNext() fi
	:: else -> phase = close
	fi
}

inline readToClose() {
	d_step {
		phase == close ->
		MARK(RESCUED, CLOSING == CLOSED && deaths > 0);
		if
		:: CLOSING == EMPTY && MUTANT != NO_CLOSE -> phase = shut
		:: else -> closed((CLOSING > CLOSED))
		fi
	}
}

/* swapClosed closes a bucket by a compare-and-swap. If that loses, the bucket is closed or has a
 * word, and the word that it returns is taken in place of what was read. */
inline swapClosed() {
	d_step {
		phase == shut ->
		if
		:: CLOSING == EMPTY || MUTANT == STORE_CLOSED -> CLOSING = CLOSED; closed(0)
		:: CLOSING > CLOSED && MUTANT != STORE_CLOSED ->
			MARK(LOST_CLOSE, true);
			closed((MUTANT != LOSER_LEAVES))
		:: CLOSING == CLOSED && MUTANT != STORE_CLOSED -> closed(0)
		fi
	}
}

/* setMark marks a piece. */
inline setMark() {
	d_step {
		phase == mark ->
		MARK(AGAIN, moved[NUMBER] > from);
		moved[NUMBER] = (moved[NUMBER] > from -> moved[NUMBER] : from + 1);
		for (n : 0 .. PIECE - 1) {
			z = (NUMBER * PIECE + n < SIZE(from) -> bucket[from * WIDTH + NUMBER * PIECE + n] : 0);
			x = from + 1; ok = true;
			if :: z > CLOSED -> lookup() :: else fi;
			assert(ok)              /* what a marked piece holds is in a later table */
		}
		if :: MUTANT == MARK_FIRST -> at = 0; copyNext() :: else -> phase = scan; taken = 0; at = 0 fi
	}
}

/* tellOthers: all pieces have moved. */
inline tellOthers() {
	d_step {
		phase == tell ->
		oldestCell = (oldestCell > from -> oldestCell : from + 1);
		oldest = (oldest > from -> oldest : from + 1);
		forget()
	}
}

/* forget clears what belongs to a call, so that equal states are equal. */
inline forget() {
	phase = idle; result = None; w = 0; insert = false; was = false; g = 0; d = 0; expected = 0;
	moving = false; from = 0; piece = 0; at = 0; taken = 0
}

#define MENU (id == 0 -> MENU0 : (id == 1 -> MENU1 : MENU2))

proctype Rank(byte id) {
	mtype phase = idle, result = None;
	byte oldest;                    /* table at which searches of this rank begin */
	byte w;                         /* the word searched */
	bool insert, was;               /* find-or-put, or find; w was in the set at the call */
	byte g, d;                      /* table, distance from the home there */
	byte expected;                  /* by the compare-and-swap: empty */
	bool moving;
	byte from, piece, at;           /* what moves: table, piece in order, bucket of it */
	byte taken;                     /* buckets of the piece that have words: a mask */
	byte left = (id == 0 -> OPS : (id == 1 -> OPS1 : OPS2));

	do
	:: phase == idle && left > 0 -> atomic {
		left--;
		if                              /* it finds out from others, or does not */
		:: oldest < oldestCell -> oldest = oldestCell
		:: true
		fi;
		if
		:: MENU & (PUTS | FINDS) ->
			if :: w = FIRST :: WORDS > 1 -> w = FIRST + 1 :: WORDS > 2 -> w = FIRST + 2 fi;
			if :: MENU & PUTS -> insert = true :: MENU & FINDS -> insert = false fi;
			d_step { was = HAS(inSet, w); g = oldest; d = 0; phase = examine }
		:: MENU & MOVES && oldest < LAST ->
			d_step {
				moving = true; phase = scan;
				from = oldest + (MUTANT == MOVES_NEXT && oldest + 1 < LAST -> 1 : 0)
			}
		:: MENU == MOVES && oldest == LAST -> skip
		fi }
	:: read()
	:: compareAndSwap()
	:: answer()
	:: endCopy()
	:: scanMarks()
	:: readToClose()
	:: swapClosed()
	:: setMark()
	:: tellOthers()
	:: atomic { deaths < DEATHS ->
		MARK(DIED_IN, result == Inserted && !moving);
		deaths++; d_step { forget() }; break }
	:: phase == idle && left == 0 -> break
	od;
	atomic { oldest = 0; left = 0; ended++ }
}

init {
	atomic { n = 0; do :: n < PROCS -> run Rank(n); n++ :: else -> break od };
	ended == PROCS;                 /* the dead are counted: no other may hang */
	d_step {
		for (z : FIRST .. FIRST + WORDS - 1) {
			for (n : 0 .. oldestCell) {
				x = n; lookup();
				assert(ok == HAS(inSet, z))     /* nothing lost, nothing else */
			}
		}
		assert(acked == inSet || deaths > 0 && (acked & inSet) == acked) /* one Inserted of each */
	}
}
