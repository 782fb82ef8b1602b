/*
 * Nessie, repaired, for SPIN: the table of NE with the changes of eval/docs/nessie.md. One step of
 * a client is one access to shared memory, with the local work that follows from it. nessie.sh sets
 * the parameters:
 *
 *   PROCS clients, up to DEATHS of which die, and nobody cleans up. Client c makes OPS_c calls out
 *   of MENU_c. START is where the keys are in the beginning; B0 and B1 are the slots of key B.
 *   MUTANT: a change left out, or done carelessly.
 *
 * Key A has its primary slot at 0 and its secondary slot at 1. Only the history of A is checked.
 */
#include "nessie-history.pml"

#define A 1
#define B 2
#define C 3                     /* stays at 0, where it may be */
#define SLOTS        3
#define PRIMARY(k)   ((k) == A -> 0 : B0)
#define SECONDARY(k) ((k) == A -> 1 : B1)
#define OTHER(k, at) (PRIMARY(k) == (at) -> SECONDARY(k) : PRIMARY(k))

/* Parts of a menu. */
#define READ_A    1
#define WRITE_A   2
#define DELETE_A  4
#define MOVE_A    8             /* migrate A from one of its slots to the other */
#define WRITE_B   16
#define DELETE_B  32
#define MOVE_B    64

#define MENU    (id == 0 -> MENU0 : (id == 1 -> MENU1 : MENU2))
#define OPS     (id == 0 -> OPS0 : (id == 1 -> OPS1 : OPS2))
#define DELETES (op == DELETE_A || op == DELETE_B)
#define MOVES   (op == MOVE_A || op == MOVE_B)

/* MUTANT: the changes left out one by one, or done carelessly. */
#define UNMARKED   1            /* a copy is like any other item at once */
#define NO_SOURCE  2            /* a copy does not say which word it is a copy of */
#define EMPTIES    3            /* a delete makes the slot empty */
#define NO_VERSION 4            /* empty slots have no version */
#define NO_CHECK   5            /* a read that finds nothing does not read the primary slot again */
#define NO_USE     6            /* the hash does not cover how often the item has been used */
#define CLEARS     7            /* what a write clears of the secondary slot may be newer */
#define NO_AGAIN   8            /* a new key goes to its secondary slot without reading the other again */
#define SECOND_WINS 9           /* of two items that are no copies the one in the secondary slot counts */

/* A word of the index: number + 1, whether it is a copy, how often the item has been used. An
 * empty slot has no number, and how often it has become empty. */
#define EACH       4            /* items of a client; the last of client 0 and 1 are there at first */
#define COPY       16
#define INDEX(w)   (((w) & 15) - 1)
#define USE(w)     ((w) >> 5)
#define WORD(x)    ((x) + 1 + 32 * item[x].use)
#define ITEM(w)    item[INDEX(w)]
#define EMPTY(w)   (((w) & 15) == 0)

typedef Item { byte key, val, use; short source; bool torn, taken }

short slot[SLOTS];
byte emptied[SLOTS];            /* how often a slot has become empty */
Item item[EACH * PROCS + 1];    /* the last is that of C */
bool dead[PROCS];
byte deaths, ended, writes = 1;
byte x, y;                      /* used within one step only, 0 between */

#define EMPTIED    (-1)         /* given to cas: the slot becomes empty */

inline cas(at, old, new) {
	seen = slot[at];
	if
	:: seen == (old) && (new) == EMPTIED ->
		if :: MUTANT != NO_VERSION -> emptied[at]++ :: else fi;
		slot[at] = 32 * emptied[at]; seen = old
	:: seen == (old) && (new) != EMPTIED -> slot[at] = new
	:: else
	fi;
	printf("client %d: slot %d is %d.%d, should be %d.%d; now it is %d.%d\n", id, at, seen & 31,
		USE(seen), (old) & 31, USE(old), slot[at] & 31, USE(slot[at]))
}

inline look(at, word) {
	word = slot[at];
	printf("client %d: slot %d is %d.%d\n", id, at, word & 31, USE(word))
}

/* readItem reads the item of word w. If the hash does not fit w, the item has been used again. */
inline readItem(w) {
	bad = ITEM(w).torn || USE(w) != ITEM(w).use && MUTANT != NO_USE;
	key = ITEM(w).key; val = ITEM(w).val; source = ITEM(w).source;
	printf("client %d: item %d has key %d, value %d, bad %d\n", id, (w) & 15, key, val, bad)
}

/* store writes an item. Its words come one by one: for a while its hash is wrong. */
inline store(word, k, v, from) {
	atomic {
		x = id * EACH;
		do :: item[x].taken -> x++ :: else -> break od;
		assert(x < (id + 1) * EACH);
		item[x].taken = true; item[x].use++; item[x].torn = true; item[x].val = v;
		word = WORD(x); x = 0;
		printf("client %d: begins item %d.%d: key %d, value %d\n", id, word & 15, USE(word), k, v) }
	atomic {
		ITEM(word).torn = false; ITEM(word).key = k; ITEM(word).source = from;
		printf("client %d: ends item %d\n", id, word & 15) }
}

/* free gives the item of a word that is in no slot any more back to its owner. */
inline free(w) { if :: !EMPTY(w) -> ITEM(w).taken = false; ITEM(w).source = 0 :: else fi }

inline tell(what) {
	printf("client %d: gets the answer %d\n", id, what);
	if :: k == A && op <= DELETE_A -> answerIs(id, what) :: else fi
}

inline answered(what) {
	atomic {
		free(n); n = 0;         /* if it was not needed */
		tell(what);
		goto next }
}

inline forget() {
	op = 0; k = 0; v = 0; p = 0; s = 0; n = 0; i = 0; j = 0; c = 0; e = 0; seen = 0; source = 0;
	key = 0; val = 0; bad = false; inP = false; inS = false; value = 0; at = 0; away = 0; m = 0
}

proctype Client(byte id) {
	byte left = OPS, op, k, v, p, s, key, val, value, at, away, m;
	short n, i, j, c, e, seen, source;
	bool bad, inP, inS;
	{
	skip;
next:	atomic {
		forget();
		if :: left == 0 || MENU == WRITE_A && writes == VALUES - 1 -> goto stop :: else -> left-- fi;
		if
		:: MENU & READ_A -> op = READ_A; k = A
		:: MENU & WRITE_A && writes < VALUES - 1 -> op = WRITE_A; k = A
		:: MENU & DELETE_A -> op = DELETE_A; k = A
		:: MENU & MOVE_A -> op = MOVE_A; k = A
		:: MENU & WRITE_B -> op = WRITE_B; k = B; v = 1
		:: MENU & DELETE_B -> op = DELETE_B; k = B
		:: MENU & MOVE_B -> op = MOVE_B; k = B
		fi;
		p = PRIMARY(k); s = SECONDARY(k);
		printf("client %d: calls %d of key %d\n", id, op, k);
		if
		:: op == READ_A -> call(id, READ, 0, 0); goto read
		:: op == WRITE_A -> writes++; v = writes; call(id, WRITE, v, 0)
		:: op == DELETE_A -> call(id, DELETE, 0, 0)
		:: MOVES -> goto migrate
		:: else
		fi }

	/* A write or a delete. Value 0 says that the key has been deleted. */
	store(n, k, v, 0);
change:
	atomic {
		p = PRIMARY(k); s = SECONDARY(k); inP = false; inS = false; look(p, i);
		if :: EMPTY(i) && !DELETES -> at = p; e = i; goto replace :: else fi }
	if
	:: EMPTY(i)
	:: !EMPTY(i) -> atomic {
		readItem(i);
		if
		:: bad -> goto change
		:: !bad && key == k && !(i & COPY) && MUTANT != SECOND_WINS -> at = p; e = i; goto replace
		:: else -> inP = (key == k); m = key; value = val; c = source
		fi }
	fi;
	atomic { look(s, j) }
	if
	:: EMPTY(j)
	:: !EMPTY(j) -> atomic {
		readItem(j);
		if :: bad -> goto change :: else -> inS = (key == k) fi }
	fi;
	if
	:: inS && !(j & COPY) -> atomic { at = s; e = j; goto replace }
	:: inS && j & COPY && !inP -> atomic { at = s; e = j; m = k; goto resolve }
	:: inS && j & COPY && inP -> goto change
	:: !inS && inP && i & COPY -> atomic { at = p; e = i; source = c; goto resolve }
	:: !inS && inP && !(i & COPY) -> atomic { at = p; e = i; goto replace }
	:: !inP && !inS && DELETES -> atomic {
		look(p, e);
		if :: e != i -> goto change :: else fi };
		answered(0)
	:: !inP && !inS && !DELETES && EMPTY(j) ->
		if
		:: MUTANT != NO_AGAIN -> atomic { look(p, e); if :: e != i -> goto change :: else fi }
		:: else
		fi;
		atomic { at = s; e = j; goto replace }
	:: !inP && !inS && !DELETES && !EMPTY(j) && i & COPY ->
		atomic { at = p; e = i; source = c; goto resolve }
	:: !inP && !inS && !DELETES && !EMPTY(j) && !(i & COPY) && m != C ->
		atomic { at = OTHER(m, p); goto move }
	:: !inP && !inS && !DELETES && !EMPTY(j) && m == C ->   /* the key in s has to move */
		atomic { look(p, e); if :: e != i -> goto change :: else fi }
		atomic {
			readItem(j);
			if :: bad -> goto change :: else -> m = key; value = val; p = s; i = j fi;
			if
			:: j & COPY -> at = s; e = j; goto resolve
			:: else -> at = OTHER(m, p); goto move
			fi }
	fi;
replace:
	atomic {
		if
		:: DELETES && MUTANT == EMPTIES -> cas(at, e, EMPTIED)
		:: else -> cas(at, e, n)
		fi;
		if
		:: seen == e ->
			free(e);
			if :: DELETES && MUTANT == EMPTIES -> answered(0) :: else -> tell(0) fi;
			if :: at == s -> goto next :: else fi
		:: else -> goto change
		fi };
	/* The call is done. An item of the key in the secondary slot counts no longer. */
	atomic { look(s, j); if :: EMPTY(j) || j & COPY -> goto next :: else fi }
	atomic { readItem(j); if :: bad || key != k -> goto next :: else fi }
	if
	:: MUTANT != CLEARS -> atomic { look(p, e); if :: e != n -> goto next :: else fi }
	:: else
	fi;
	atomic {
		cas(s, j, EMPTIED);
		if :: seen == j -> free(j) :: else fi;
		goto next }

	/* A reader. */
read:
	atomic { inP = false; inS = false; look(p, i) }
	if
	:: EMPTY(i)
	:: !EMPTY(i) -> atomic {
		readItem(i);
		if
		:: bad -> goto read
		:: !bad && key == k && !(i & COPY) && MUTANT != SECOND_WINS -> goto found
		:: else -> inP = (key == k); value = val
		fi }
	fi;
	atomic { look(s, j) }
	if
	:: EMPTY(j)
	:: !EMPTY(j) -> atomic {
		readItem(j);
		if
		:: bad -> goto read
		:: !bad && key == k && !(j & COPY) -> goto found
		:: else -> inS = (key == k)
		fi }
	fi;
	if
	:: MUTANT != NO_CHECK -> atomic { look(p, e); if :: e != i -> goto read :: else fi }
	:: else
	fi;
	atomic {
		if
		:: inP && inS -> goto read
		:: inP && !inS -> val = value
		:: !inP && !inS -> val = 0
		:: else
		fi };
found:
	answered(val);

	/* Key m, in slot p as word i, gets a copy in slot `at`. It has moved when word i is replaced:
	 * by the new item, or by nothing. */
migrate:
	atomic {
		if :: p = PRIMARY(k) :: p = SECONDARY(k) fi;
		look(p, i);
		if :: EMPTY(i) -> goto next :: else fi }
	atomic {
		readItem(i);
		if :: bad || key != k -> goto next :: else -> m = k; value = val; at = OTHER(m, p) fi;
		if :: i & COPY -> at = p; e = i; goto resolve :: else fi };
move:
	atomic { look(at, e) }
	if
	:: EMPTY(e)
	:: !EMPTY(e) -> atomic {
		readItem(e);
		if
		:: bad -> goto again
		:: !bad && e & COPY -> m = key; goto resolve
		:: !bad && !(e & COPY) && key == m -> goto clear
		:: else -> goto giveUp          /* further keys would have to move */
		fi }
	fi;
	store(c, m, value, i);
	atomic {
		if :: MUTANT != UNMARKED -> c = c | COPY :: else fi;
		cas(at, e, c);
		if :: seen != e -> free(c); goto again :: else -> e = c fi }
	atomic {
		if :: MOVES -> cas(p, i, EMPTIED) :: else -> cas(p, i, n) fi;
		source = i;
		if
		:: seen == i ->
			free(i);
			if :: !MOVES -> tell(0) :: else fi
		:: else -> goto resolve
		fi };
	atomic { cas(at, e, e & ~COPY); goto next };

	/* Key m is in both slots, p and `at`, and neither is a copy. That in the primary slot counts. */
clear:
	if
	:: at == PRIMARY(m) -> atomic { cas(p, i, EMPTIED); if :: seen == i -> free(i) :: else fi }
	:: else -> atomic { look(p, j); if :: j != i -> goto again :: else fi };
		atomic { cas(at, e, EMPTIED); if :: seen == e -> free(e) :: else fi }
	fi;
	goto again;

	/* Slot `at` has a copy e of key m, once word `source` of its other slot. */
resolve:
	atomic { away = OTHER(m, at); look(away, j) }
	if
	:: EMPTY(j) -> goto finish
	:: !EMPTY(j) && j == source && MUTANT != NO_SOURCE -> goto commit
	:: !EMPTY(j) && (j != source || MUTANT == NO_SOURCE) -> atomic {
		readItem(j);
		if
		:: bad -> goto again
		:: !bad && key != m -> goto finish
		:: !bad && key == m && MUTANT == NO_SOURCE -> goto commit
		:: !bad && key == m && MUTANT != NO_SOURCE ->
			cas(at, e, EMPTIED);
			if :: seen == e -> free(e) :: else fi;
			goto again
		fi }
	fi;
commit:
	atomic {
		cas(away, j, EMPTIED);
		if :: seen == j -> free(j) :: else -> goto again fi }
finish:
	atomic { cas(at, e, e & ~COPY) }
again:
	if :: MOVES -> goto next :: else -> goto change fi;

giveUp:                         /* the operation stays open */
stop:
	skip
	} unless { dead[id] -> printf("client %d: dies\n", id) };
	d_step { forget(); left = 0; ended++ }
}

/* The death of a client, at any time or not at all. Its free items stay with it. */
proctype Death() {
end:	do
	:: d_step {
		deaths < DEATHS ->
		deaths++;
		if :: !dead[0] -> dead[0] = true :: !dead[1] -> dead[1] = true
		   :: PROCS > 2 && !dead[PROCS - 1] -> dead[PROCS - 1] = true fi }
	od
}

#define HAS(at, k) (!EMPTY(slot[at]) && ITEM(slot[at]).key == (k))

init {
	atomic {
		/* A in its primary slot (1), its secondary (2), B in its primary (4), its secondary (8),
		 * C (16) */
		x = 0;
		do
		:: x == 4 -> break
		:: x < 4 ->
			if
			:: START >> x & 1 ->
				y = EACH - 1 + (x >= 2 -> EACH : 0);
				item[y].key = 1 + x / 2; item[y].val = 1; item[y].use = 1; item[y].taken = true;
				slot[(x % 2 == 0 -> PRIMARY(1 + x / 2) : SECONDARY(1 + x / 2))] = WORD(y)
			:: else
			fi;
			x++
		od;
		if
		:: START & 16 ->
			x = EACH * PROCS;
			item[x].key = C; item[x].use = 1; item[x].taken = true; slot[0] = WORD(x)
		:: else
		fi;
		x = 0; y = 0;
		begin((START & 3 -> 1 : 0));
		if :: DEATHS -> run Death() :: else fi;
		run Client(0); run Client(1);
		if :: PROCS > 2 -> run Client(2) :: else fi }
	atomic {
		ended == PROCS;
		printf("all have ended: slots %d.%d %d.%d\n", slot[0] & 31, USE(slot[0]), slot[1] & 31,
			USE(slot[1]));
		/* What a reader would find. */
		x = HAS(0, A) + 2 * HAS(1, A);
		if
		:: x == 1 || x == 3 && !(slot[0] & COPY) && MUTANT != SECOND_WINS -> y = ITEM(slot[0]).val
		:: x == 2 || x == 3 && (slot[0] & COPY || MUTANT == SECOND_WINS) -> y = ITEM(slot[1]).val
		:: else
		fi;
		x = 0;
		answerIs(AUDIT, y); y = 0 }
}
