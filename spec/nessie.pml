/*
 * Nessie, for SPIN: NE section 3 as it is written. One step of a client is one access to
 * shared memory, with the local work that follows from it. README.md says what stands for
 * what; nessie.sh sets the parameters:
 *
 *   PROCS clients, up to DEATHS of which die. Client c makes OPS_c calls out of MENU_c. START
 *   is where the keys are in the beginning. Where the paper leaves something open: ROLLBACK,
 *   CHECKED, CLEAN. What is tried as a repair: SOURCE. MUTANT: a mistake on purpose.
 *
 * There are two keys. A has its primary slot at 0 and its secondary slot at 1, B at 0 and 2.
 * Only the history of A is checked. Migrations of A are calls of their own: they come from writes of further
 * keys, which are not here.
 */
#include "nessie-history.pml"

#define A 1
#define B 2
#define PRIMARY(k)   0
#define SECONDARY(k) (k)
#define NEITHER      0

/* Parts of a menu. */
#define READ_A    1
#define WRITE_A   2
#define DELETE_A  4
#define TO_SECOND 8             /* migrate A from its primary slot */
#define TO_FIRST  16            /* and back */
#define WRITE_B   32
#define DELETE_B  64

#define MENU  (id == 0 -> MENU0 : (id == 1 -> MENU1 : MENU2))
#define OPS   (id == 0 -> OPS0 : (id == 1 -> OPS1 : OPS2))

/* MUTANT: parts of the protocol left out, to check that the search finds the error. */
#define NO_VERSION 1            /* an item has the same word whenever it is used */
#define NO_FLAG    2            /* items are valid from the beginning */
#define NO_FINAL   3            /* finish does not check */
#define NO_HASH    4            /* an item that is being written is taken as it is */

/* CLEAN: what the server does with the invalid items of a dead client. The paper says that
 * it cleans them up, not how. */
#define REMOVE_IT  1
#define PUBLISH_IT 2
#define PUBLISH_IF_ALONE 3      /* publish what the other slot has not got, remove the rest */

/* The word of an item in the index: number + 1, and how often it has been used. */
#define EACH       4            /* items of a client; the last of client 0 and 1 are there at first */
#define WORD(x)    ((x) + 1 + 16 * (MUTANT == NO_VERSION -> 0 : item[x].version))
#define ITEM(w)    item[((w) & 15) - 1]
#define EMPTY(w)   (((w) & 15) == 0)

typedef Item { byte key, val; bool valid, torn; byte version }

byte slot[3];
byte held[PROCS];               /* with ROLLBACK: the word that a client may put back */
byte cleared[3];                /* with VERSIONS: how often a slot has become empty */
Item item[EACH * PROCS];
bool dead[PROCS], cleaned[PROCS];
byte deaths, ended, writes = 1;
bool hides;                     /* an invalid item stays in a slot of A */
bool gaveUp;                    /* an attempt too many: no fault of the paper's */
byte x, y;                      /* used within one step only, 0 between */

/* cas is a compare-and-swap. To put something into an empty slot it is given 0, even where
 * empty slots have versions: how a client would know them the paper does not say. */
inline cas(at, old, new) {
	seen = slot[at];
	if
	:: seen == old || (old) == 0 && EMPTY(seen) ->
		if
		:: (new) == 0 && VERSIONS -> cleared[at]++; slot[at] = 16 * cleared[at]
		:: else -> slot[at] = new
		fi;
		seen = old
	:: else
	fi;
	printf("client %d: slot %d is %d.%d; if %d.%d, it becomes %d.%d\n", id, at,
		seen & 15, seen >> 4, old & 15, old >> 4, (new) & 15, (new) >> 4)
}

/* check is a compare-and-swap of a word with itself. */
inline check(at, word) {
	seen = slot[at];
	printf("client %d: slot %d is %d.%d, should be %d.%d\n", id, at, seen & 15, seen >> 4,
		(word) & 15, (word) >> 4)
}

/* readItem reads an item: its hash is right or not, its key and value, whether it is valid. */
inline readItem(w) {
	torn = ITEM(w).torn && MUTANT != NO_HASH;
	key = ITEM(w).key; val = ITEM(w).val; valid = ITEM(w).valid;
	printf("client %d: item %d has key %d, value %d, valid %d, torn %d\n", id, (w) & 15,
		key, val, valid, torn)
}

/* take gives a free item of this client: none that a slot refers to or that it will put back. */
inline take(word) {
	x = id * EACH;
	do
	:: (slot[0] & 15) == x + 1 || (slot[1] & 15) == x + 1 || (slot[2] & 15) == x + 1 ||
		(held[0] & 15) == x + 1 || (held[1] & 15) == x + 1 || (held[PROCS - 1] & 15) == x + 1 -> x++
	:: else -> break
	od;
	assert(x < (id + 1) * EACH);
	item[x].version++;
	word = WORD(x); x = 0
}

/* store writes an item. Its words come one by one: for a while what is read is of two items,
 * and the hash is wrong. */
inline store(k, v) {
	atomic {
		take(n);
		ITEM(n).torn = true; ITEM(n).val = v;
		printf("client %d: begins item %d.%d: key %d, value %d\n", id, n & 15, n >> 4, k, v) }
	atomic {
		ITEM(n).torn = false; ITEM(n).key = k; ITEM(n).valid = (MUTANT == NO_FLAG);
		printf("client %d: ends item %d, not valid\n", id, n & 15) }
}

inline publish(w) {
	atomic { ITEM(w).valid = true; printf("client %d: makes item %d valid\n", id, (w) & 15) }
}

inline answered(what) {
	atomic {
		printf("client %d: gets the answer %d\n", id, what);
		if :: k == A && op <= DELETE_A -> answerIs(id, what) :: else fi;
		goto next }
}

proctype Client(byte id) {
	byte left = OPS, op, k, v, p, s, n, i, j, c, e, seen, key, val, tries, back;
	bool valid, torn;
	{
	skip;
next:	atomic {
		op = 0; k = 0; v = 0; p = 0; s = 0; n = 0; i = 0; j = 0; c = 0; e = 0; seen = 0;
		key = 0; val = 0; tries = 0; valid = 0; torn = 0; back = 0;
		if :: left == 0 || MENU == WRITE_A && writes == VALUES - 1 -> goto stop :: else -> left-- fi;
		if
		:: MENU & READ_A -> op = READ_A; k = A
		:: MENU & WRITE_A && writes < VALUES - 1 -> op = WRITE_A; k = A
		:: MENU & DELETE_A -> op = DELETE_A; k = A
		:: MENU & TO_SECOND -> op = TO_SECOND; k = A
		:: MENU & TO_FIRST -> op = TO_FIRST; k = A
		:: MENU & WRITE_B -> op = WRITE_B; k = B
		:: MENU & DELETE_B -> op = DELETE_B; k = B
		fi;
		p = PRIMARY(k); s = SECONDARY(k);
		printf("client %d: calls %d of key %d\n", id, op, k);
		if
		:: op == READ_A -> call(id, READ, 0, 0); goto read
		:: op == WRITE_A -> writes++; v = writes; call(id, WRITE, v, 0); goto write
		:: op == DELETE_A -> call(id, DELETE, 0, 0); goto delete
		:: op == TO_SECOND -> goto migrate
		:: op == TO_FIRST -> p = SECONDARY(k); s = PRIMARY(k); goto migrate
		:: op == WRITE_B -> v = 1; goto write
		:: op == DELETE_B -> goto delete
		fi }

	/* NE 3.1 */
read:
	atomic { i = slot[p]; j = 0; printf("client %d: slot %d is %d.%d\n", id, p, i & 15, i >> 4) }
	if
	:: EMPTY(i) -> goto readSecond
	:: !EMPTY(i) -> atomic {
		readItem(i);
		if
		:: torn || key == k && !valid -> goto read
		:: !torn && key == k && valid -> goto readFound
		:: !torn && key != k -> goto readSecond
		fi }
	fi;
readSecond:
	atomic { j = slot[s]; printf("client %d: slot %d is %d.%d\n", id, s, j & 15, j >> 4) }
	if
	:: EMPTY(j) -> goto readNone
	:: !EMPTY(j) -> atomic {
		readItem(j);
		if
		:: torn || key == k && !valid -> goto read
		:: !torn && key == k && valid -> goto readFound
		:: !torn && key != k -> goto readNone
		fi }
	fi;
readNone:
	if
	:: CHECKED -> atomic {
		if :: slot[p] != i -> goto read :: else fi }
	:: else
	fi;
	if
	:: CHECKED -> atomic {
		if :: slot[s] != j -> goto read :: else fi }
	:: else
	fi;
	answered(0);
readFound:
	answered(val);

	/* NE 3.2. finish cannot expect 0 of a secondary slot that belongs to another key, as it
	 * is written: such a key could never be deleted. It expects what was seen there. */
delete:
	tries++; if :: tries > TRIES -> goto giveUp :: else fi;
	atomic { e = slot[s]; printf("client %d: slot %d is %d.%d\n", id, s, e & 15, e >> 4) }
	if
	:: EMPTY(e)
	:: !EMPTY(e) -> atomic {
		readItem(e);
		if
		:: torn -> goto delete
		:: !torn && key != k -> goto deletePrimary
		:: !torn && key == k
		fi };
		atomic { cas(s, e, 0); if :: seen != e -> goto delete :: else -> e = slot[s] fi }
	fi;
deletePrimary:
	atomic { j = slot[p]; printf("client %d: slot %d is %d.%d\n", id, p, j & 15, j >> 4) }
	if
	:: EMPTY(j) -> goto deleteFinish
	:: !EMPTY(j) -> atomic {
		readItem(j);
		if
		:: torn -> goto delete
		:: !torn && key != k -> goto deleteFinish
		:: !torn && key == k
		fi };
		atomic { cas(p, j, 0); if :: seen != j -> goto delete :: else fi }
	fi;
deleteFinish:
	atomic {
		check(s, e);
		if :: seen != e && MUTANT != NO_FINAL -> goto delete :: else fi }
	answered(0);

	/* NE 3.3, Algorithm 1. n is the new item, i and j what the slots are. Each attempt has
	 * an item of its own. */
write:
	tries++; if :: tries > TRIES -> goto giveUp :: else fi;
	store(k, v);
	atomic { cas(p, 0, n); i = seen }
	atomic { j = slot[s]; printf("client %d: slot %d is %d.%d\n", id, s, j & 15, j >> 4) }
	if
	:: EMPTY(i) -> goto primary
	:: !EMPTY(i) -> atomic {
		readItem(i);
		if
		:: torn -> goto write
		:: !torn && key != k -> goto secondary
		:: !torn && key == k
		fi };
		atomic {
			cas(p, i, n);
			if :: seen == i -> held[id] = (ROLLBACK -> i : 0); goto primary :: else -> goto write fi }
	fi;
primary:                        /* the slot p was i and is n now */
	c = s; e = j;
	if
	:: EMPTY(j) -> goto finish
	:: !EMPTY(j) -> atomic {
		readItem(j);
		if
		:: torn -> goto undoPrimary
		:: !torn && key != k -> goto finish
		:: !torn && key == k -> c = p; e = n
		fi };
		atomic { cas(s, j, 0); if :: seen != j -> goto undoPrimary :: else -> goto finish fi }
	fi;
secondary:                      /* slot p is taken by another key, i */
	if
	:: EMPTY(j)
	:: !EMPTY(j) -> atomic {
		readItem(j);
		if
		:: torn -> goto write
		:: !torn && key != k -> goto giveUp     /* it would have to migrate */
		:: !torn && key == k
		fi }
	fi;
	atomic {
		cas(s, j, n);
		if :: seen != j -> goto write :: else -> held[id] = (ROLLBACK -> j : 0) fi }
	c = p; e = i; back = 1;
finish:
	atomic {
		check(c, e);
		if
		:: seen == e || MUTANT == NO_FINAL
		:: seen != e && MUTANT != NO_FINAL && back == 1 -> goto undoSecondary
		:: seen != e && MUTANT != NO_FINAL && back == 0 -> goto undoPrimary
		fi }
	publish(n);
	held[id] = 0;
	answered(0);
undoPrimary:                    /* "the modification is rolled back" (NE 1), or not */
	if :: ROLLBACK -> atomic { cas(p, n, i) } :: else fi;
	held[id] = 0;
	goto write;
undoSecondary:
	if :: ROLLBACK -> atomic { cas(s, n, j) } :: else fi;
	back = 0; held[id] = 0;
	goto write;

	/* NE 3.4, Algorithm 2: from slot p to slot s. */
migrate:
	atomic { i = slot[p]; printf("client %d: slot %d is %d.%d\n", id, p, i & 15, i >> 4) }
	if :: EMPTY(i) -> goto next :: else fi;
	atomic {
		readItem(i);
		if :: torn || key != k || SOURCE && !valid -> goto next :: else v = val fi };
	store(k, v);
	atomic { cas(s, 0, n); if :: !EMPTY(seen) -> goto next :: else fi }
	atomic { cas(p, i, 0); if :: seen != i -> goto undoMigration :: else fi }
	publish(n);
	goto next;
undoMigration:
	if :: ROLLBACK -> atomic { cas(s, n, 0) } :: else fi;
	goto next;
	goto stop;
giveUp:                         /* the operation stays open */
	gaveUp = true;
stop:
	skip
	} unless { dead[id] -> printf("client %d: dies\n", id) };
	d_step {
		left = 0; op = 0; k = 0; v = 0; p = 0; s = 0; n = 0; i = 0; j = 0; c = 0; e = 0; seen = 0;
		key = 0; val = 0; tries = 0; valid = 0; torn = 0; back = 0;
		ended++ }
}

/* The death of a client, at any time or not at all. */
proctype Death() {
end:	atomic {
		deaths < DEATHS ->
		deaths++;
		if :: dead[0] = true :: PROCS > 1 -> dead[1] = true
		   :: PROCS > 2 -> dead[PROCS - 1] = true fi }
}

/* The server notices and cleans up at any time, all at one moment: clients have no access
 * during it. */
proctype Server() {
	byte w, at;
end:
	do
	:: atomic {
		CLEAN && deaths > 0 ->
		at = 0;
		do
		:: at == 3 -> break
		:: at < 3 ->
			w = slot[at];
			if
			:: !EMPTY(w) && dead[((w & 15) - 1) / EACH] && !ITEM(w).valid ->
				y = slot[ITEM(w).key + 0 - at];
				if
				:: CLEAN == PUBLISH_IT || CLEAN == PUBLISH_IF_ALONE &&
					!(!EMPTY(y) && ITEM(y).key == ITEM(w).key && ITEM(y).valid) ->
					ITEM(w).valid = true; printf("server: makes item %d valid\n", w & 15)
				:: else -> slot[at] = 0; printf("server: removes item %d.%d\n", w & 15, w >> 4)
				fi
			:: else
			fi;
			at++
		od;
		w = 0; at = 0; y = 0; cleaned[0] = true; break }
	od
}

#define HAS_A(at) (!EMPTY(slot[at]) && ITEM(slot[at]).key == A)

init {
	atomic {
		/* A in its primary slot (1), its secondary (2), B in its primary (4), its secondary (8) */
		x = 0;
		do
		:: x == 4 -> break
		:: x < 4 ->
			if
			:: START >> x & 1 ->
				y = EACH - 1 + (x >= 2 -> EACH : 0);
				item[y].key = 1 + x / 2; item[y].val = 1; item[y].valid = true;
				item[y].version = 1;
				slot[(x % 2 == 0 -> 0 : 1 + x / 2)] = WORD(y)
			:: else
			fi;
			x++
		od;
		x = 0; y = 0;
		begin((START & 3 -> 1 : 0));
		if :: DEATHS -> run Death(); run Server() :: else fi;
		run Client(0); run Client(1);
		if :: PROCS > 2 -> run Client(2) :: else fi }
	atomic {
		ended == PROCS && (deaths == 0 || !CLEAN || cleaned[0]);
		printf("all have ended: slots %d.%d %d.%d\n", slot[0] & 15, slot[0] >> 4,
			slot[1] & 15, slot[1] >> 4);
		x = 0;
		hides = HAS_A(0) && !ITEM(slot[0]).valid || !HAS_A(0) && HAS_A(1) && !ITEM(slot[1]).valid;
		assert(!hides || gaveUp || DEATHS && !CLEAN || !WATCH_HIDDEN); /* a key is hidden for ever */
		if
		:: HAS_A(0) && ITEM(slot[0]).valid -> x = ITEM(slot[0]).val
		:: !HAS_A(0) && HAS_A(1) && ITEM(slot[1]).valid -> x = ITEM(slot[1]).val
		:: else
		fi;
		if :: !hides && !gaveUp -> y = x; answerIs(AUDIT, y) :: else fi }
}
