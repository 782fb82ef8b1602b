/*
 * The table of package kv, for SPIN: the protocol of kv/DESIGN.md. One step of a client
 * is one access to one word of shared memory, with the local work that follows from it; a
 * slot or an item is read and written word by word. README.md maps the model to the code;
 * nessie.sh sets the parameters:
 *
 *   PROCS clients, up to DEATHS of which die. Client c makes OPS_c calls out of MENU_c. START
 *   is which keys are there in the beginning. COPIES: slots have copies of small pairs.
 *   DIRECT: calls work directly on memory. MUTANT: a wrong version. REACH: a MARK. CONTENTS: the
 *   end prints how many contents of the memory and of the history there are.
 *
 * There are two keys, which have the same home and the same fingerprint. Only the history of A
 * is checked.
 * Table 0 is the one in use; when it moves, table 1 takes over. Both have SLOTS slots.
 */
#include "nessie-history.pml"

#define A 1
#define B 2
#define SLOTS 2

/* Parts of a menu. */
#define READ_A   1
#define WRITE_A  2
#define REMOVE_A 4
#define IFNONE_A 8
#define IFSAME_A 16             /* if the value is the one that is there in the beginning */
#define WRITE_B  32
#define REMOVE_B 64
#define MOVE     128            /* the whole table */
#define MENU     (id == 0 -> MENU0 : (id == 1 -> MENU1 : MENU2))
#define OPS      (id == 0 -> OPS0 : (id == 1 -> OPS1 : OPS2))
#define READS    (op == READ_A)
#define REMOVES  (op == REMOVE_A || op == REMOVE_B)

/* A slot: | moved | frozen | removed | how often the item was used (4) | item + 1 (4) |. */
#define REMOVED   256
#define FROZEN    512
#define MOVED     1024
#define EACH      4             /* items of a client; the first ones of 0 and 1 are there at first */
#define LIVE(w)   ((w) & 511)
#define INDEX(w)  (((w) & 15) - 1)
#define ITEM(w)   item[INDEX(w)]
#define USE(w)    ((w) >> 4 & 15)
#define USED(x)   (MUTANT == NO_VERSION -> 0 : (MUTANT == RECURS -> item[x].use & 1 : item[x].use))
#define WORD(x)   ((x) + 1 + 16 * USED(x))
#define SEAL(w, pair) ((w) * 64 + (pair))       /* stands for a hash of both */
#define PAIR(k, v)    ((k) * 8 + (v))

/* Each MUTANT is a wrong version; nessie.sh checks that SPIN finds the error. */
#define NO_VERSION 1            /* an item has the same word whenever it is used */
#define NO_SEAL    2            /* an item is taken as it is read */
#define NO_KEY     3            /* equal fingerprints make equal keys */
#define NO_COPYSEAL 4           /* a copy is taken as it is read */
#define EARLY      5            /* the item is published, then written */
#define BLIND      6            /* the slot is written, not swapped */
#define EMPTIED    7            /* a removed key leaves an empty slot */
#define FREED      8            /* the item of a removed key is free */
#define NO_FREEZE  9            /* a slot is copied without being frozen */
#define NO_CLOSE  10            /* what is put into the new table leaves the old one open */
#define COPY_OVER 11            /* a mover copies over what the new table has */
#define MARK_FIRST 12           /* a slot is moved, then copied */
#define UNMARKED  13            /* a call that helps a mover leaves the old slot frozen */
#define SKIPS     14            /* a reader ends at an empty slot, though others have moved */
#define TAKES_TORN 15           /* a direct call takes an item as it is read */
#define RECURS    16            /* an item has the same word every second time it is used */

/* MARK is what must be able to happen. */
#define MARK(name, condition) assert(!(REACH == name && (condition)))
#define LOST       1            /* a compare-and-swap loses to the same key */
#define RECYCLED   2            /* an item has been used again by the time it is read */
#define HELPED     3            /* a write moves the slot */
#define CLOSED     4            /* a write closes the old table */
#define OLD_VALUE  5            /* a value is read in a frozen slot */
#define FROM_COPY  6
#define STALE_COPY 7
#define DIED_MOVING 8           /* dead, the slot frozen */
#define DIED_IN    9            /* dead, the write has taken effect, and no answer */
#define REVIVED    10           /* a removed key is put again */
#define TWICE      11           /* two movers copy the same slot */
#define CROSSED    12           /* a copy and its seal are from two writers */
#define REREAD     13           /* a direct call reads the slot again, and it has another word */

typedef Item { byte key, val, use; bool torn, taken }

short slot[2 * SLOTS];
byte pair[2 * SLOTS];           /* the copies, and their seals */
short seal[2 * SLOTS];
Item item[EACH * PROCS];
bool dead[PROCS];
byte deaths, ended, writes = 1;
byte x, y;                      /* used within one step only, 0 between */

/* CONTENT counts what the memory and the history contain, before each step that changes it. Another
 * model with the same steps on the memory has as many contents, whatever its local steps. */
#if CONTENTS
c_decl {
	static unsigned long content, contents, room, *known;

	static void begin_content(void) { content = 0x9e3779b97f4a7c15ul; }
	static void add_content(void *from, int bytes) {
		unsigned char *at = from;
		while (bytes-- > 0) {
			content = (content ^ *at++) * 0xd6e8feb86659fd93ul;
			content ^= content >> 32;
		}
	}
	static void keep(unsigned long c) {
		unsigned long at = c % room;
		while (known[at] && known[at] != c) at = (at + 1) % room;
		if (!known[at]) known[at] = c, contents++;
	}
	static void print_contents(void) { printf("contents: %lu\n", contents); }
	static void end_content(void) {
		if (!room) atexit(print_contents);
		if (2 * contents >= room) {
			unsigned long i, before = room, *old = known;
			room = 2 * room + 1024;
			known = calloc(room, sizeof *known);
			for (contents = i = 0; i < before; i++) if (old[i]) keep(old[i]);
			free(old);
		}
		keep(content);
	}
}
#define ADD(x) add_content(&now.x, sizeof now.x)
#define CONTENT c_code { begin_content(); ADD(slot); ADD(item); ADD(pair); ADD(seal); \
	ADD(possible); ADD(calls); ADD(puts); ADD(expects); ADD(writes); end_content(); };
#else
#define CONTENT
#endif

inline cas(at, old, new) {
	CONTENT
	seen = slot[at];
	if :: seen == (old) || MUTANT == BLIND -> slot[at] = new; seen = old :: else fi;
	printf("client %d: slot %d is %d.%d+%d; if %d.%d+%d, it becomes %d.%d+%d\n", id, at,
		seen & 15, USE(seen), seen >> 8, (old) & 15, USE(old), (old) >> 8, (new) & 15, USE(new),
		(new) >> 8)
}

/* take gives a free item of this client. */
inline take() {
	CONTENT
	x = id * EACH;
	do :: item[x].taken -> x++ :: else -> break od;
	assert(x < (id + 1) * EACH);
	item[x].taken = true; item[x].use++; item[x].torn = true; item[x].val = v;
	n = WORD(x); x = 0;
	printf("client %d: begins item %d.%d: key %d, value %d\n", id, n & 15, USE(n), k, v)
}

/* free gives the item of a word that is in no slot any more back to its owner. */
inline free(w) { if :: (w) & 15 -> ITEM(w).taken = false :: else fi }

/* readItem reads the item of word w. If the seal does not fit w, it has been used again. */
inline readItem(w) {
	bad = (ITEM(w).torn || USE(w) != USED(INDEX(w))) && MUTANT != NO_SEAL;
	key = ITEM(w).key; val = ITEM(w).val;
	printf("client %d: item %d has key %d, value %d, bad %d\n", id, (w) & 15, key, val, bad)
}

inline answered(what) {
	d_step {
		CONTENT
		printf("client %d: gets the answer %d\n", id, what);
		if :: k == A && op < WRITE_B -> answerIs(id, what) :: else fi };
	goto next
}

inline fetch(i) {
	atomic {
		!(got >> i & 1) -> got = got | 1 << i; buf[i] = slot[table * SLOTS + i];
		printf("client %d: slot %d is %d.%d+%d\n", id, table * SLOTS + i, buf[i] & 15, USE(buf[i]),
			buf[i] >> 8) }
}

#if DIRECT
#define DIRECTLY(is) direct = is;
#else
#define DIRECTLY(is)
#endif

inline forget() {
	op = 0; k = 0; v = 0; n = 0; table = 0; sought = 0; d = 0; got = 0; buf[0] = 0; buf[1] = 0;
	seen = 0; w = 0; key = 0; val = 0; bad = false; sawMoved = false; moving = false;
	mover = 0; from = 0; written = false; copied = 0;
	DIRECTLY(false)
}

proctype Client(byte id) {
	byte left = OPS;
	byte op, k, v;                  /* the call */
	short n;                        /* the word of the new item */
	bool written;
	byte table, sought, d, got;     /* a search: where, for which key, at which slot */
	short buf[SLOTS], seen, w;
	bool sawMoved;
	byte key, val, copied;
	bool bad;
#if DIRECT
	bool direct;                    /* the call works directly on memory */
#endif
	bool moving;                    /* the search is a mover's */
	byte from;                      /* the slot that is moved, */
	short mover;                    /* its word */
	{
	skip;
next:
	atomic {
		CONTENT
		forget();
		if :: left == 0 || MENU == WRITE_A && writes == VALUES - 1 -> goto stop :: else -> left-- fi;
		if
		:: MENU & READ_A -> op = READ_A
		:: MENU & WRITE_A && writes < VALUES - 1 -> op = WRITE_A
		:: MENU & REMOVE_A -> op = REMOVE_A
		:: MENU & IFNONE_A && writes < VALUES - 1 -> op = IFNONE_A
		:: MENU & IFSAME_A && writes < VALUES - 1 -> op = IFSAME_A
		:: MENU & WRITE_B -> op = WRITE_B
		:: MENU & REMOVE_B -> op = REMOVE_B
		:: MENU & MOVE -> op = MOVE
		fi;
		k = (op < WRITE_B -> A : B); sought = k;
		v = 1;
		if :: op == WRITE_A || op == IFNONE_A || op == IFSAME_A -> writes++; v = writes :: else fi;
		if
		:: op == READ_A -> call(id, READ, 0, 0)
		:: op == WRITE_A -> call(id, WRITE, v, 0)
		:: op == REMOVE_A -> call(id, REMOVE, 0, 0)
		:: op == IFNONE_A -> call(id, IFNONE, v, 0)
		:: op == IFSAME_A -> call(id, IFSAME, v, 1)
		:: else
		fi;
		DIRECTLY(op != MOVE)
		printf("client %d: calls %d, value %d\n", id, op, v);
		if :: op == MOVE -> goto move :: READS || REMOVES -> goto search :: else fi }

	/* The item is written before anything refers to it. */
	atomic { take(); if :: MUTANT == EARLY -> goto search :: else fi }
store:
	atomic {
		CONTENT
		ITEM(n).torn = false; ITEM(n).key = k; written = true;
		printf("client %d: ends item %d\n", id, n & 15);
		if :: MUTANT == EARLY -> answered(0) :: else fi }

	/* The words of the slots come in any order. */
search:
#if DIRECT
	if :: direct -> goto directSlot :: else fi;
#endif
	atomic { got = 0; sawMoved = false; d = 0; buf[0] = 0; buf[1] = 0 };
	do
	:: fetch(0)
	:: fetch(1)
	:: got == 3 -> break
	od;
examine:
	if
	:: d == SLOTS -> goto absent
	:: d < SLOTS && buf[d] == 0 -> goto absent
	:: d < SLOTS && buf[d] == MOVED -> atomic { sawMoved = true; d++; goto examine }
	:: else -> w = buf[d]
	fi;
	if
	:: COPIES && READS && !moving ->
		atomic { copied = pair[table * SLOTS + d] }
		atomic {
			if
			:: seal[table * SLOTS + d] == SEAL(LIVE(w), copied) || MUTANT == NO_COPYSEAL ->
				key = copied / 8; val = copied & 7; bad = false;
				MARK(FROM_COPY, true);
				goto examined
			:: else -> MARK(STALE_COPY, copied != 0);
				MARK(CROSSED, seal[table * SLOTS + d] != 0 && (seal[table * SLOTS + d] & 63) != copied)
			fi }
	:: else
	fi;
	atomic {
		readItem(w);
		MARK(RECYCLED, bad);
		if
		:: bad ->
			assert(slot[table * SLOTS + d] != w);   /* an item in use is whole */
			goto search
		:: else
		fi }
examined:
	if
	:: key != sought && MUTANT != NO_KEY -> atomic { d++; goto examine }
	:: else
	fi;

	/* The key is at d. */
	if
	:: moving -> goto copied2
	:: else
	fi;
	if
	:: w & FROZEN && !READS -> atomic { from = d; MARK(HELPED, true); goto move }
	:: else
	fi;
	if
	:: READS -> atomic { MARK(OLD_VALUE, w & FROZEN) } answered((w & REMOVED -> 0 : val))
	:: REMOVES && w & REMOVED || op == IFSAME_A && (w & REMOVED || val != 1) ->
		CONTENT free(n); answered(0)
	:: op == IFNONE_A && !(w & REMOVED) -> CONTENT free(n); answered(1)
	:: REMOVES && !(w & REMOVED) -> atomic {
		cas(table * SLOTS + d, w, (MUTANT == EMPTIED -> 0 : w | REMOVED));
		if
		:: seen == w ->
			if :: MUTANT == FREED || MUTANT == EMPTIED -> free(w) :: else fi
		:: else -> MARK(LOST, true); goto search
		fi };
		answered(1)
	:: else
	fi;
	if
	:: COPIES -> goto copyFirst
	:: COPIES -> goto swap
	:: !COPIES -> goto swap
	fi;
copyFirst:                      /* the copy is in flight together with the compare-and-swap */
	atomic { CONTENT pair[table * SLOTS + d] = PAIR(k, v) }
	atomic { CONTENT seal[table * SLOTS + d] = SEAL(n, PAIR(k, v)) }
swap:
	atomic {
		cas(table * SLOTS + d, w, n);
		if
		:: seen == w -> MARK(REVIVED, w & REMOVED && k == A); free(w);
			if :: MUTANT == EARLY -> goto store :: else fi
		:: else -> MARK(LOST, w != 0); goto search
		fi }
	if
	:: COPIES ->
		atomic { CONTENT seal[table * SLOTS + d] = SEAL(n, PAIR(k, v)) }
		atomic { CONTENT pair[table * SLOTS + d] = PAIR(k, v) }
	:: else
	fi;
	answered((op == IFSAME_A -> 1 : 0));

absent:                         /* the key is not in this table; d is empty, or the end */
	if :: moving -> goto copy :: else fi;
	if
	:: table == 0 && sawMoved && (READS || d == SLOTS) && !(MUTANT == SKIPS && d < SLOTS) ->
		atomic { table = 1; goto search }
	:: table == 0 && sawMoved && !READS && d < SLOTS && MUTANT != NO_CLOSE &&
	   !(MUTANT == SKIPS && REMOVES) -> atomic {
		cas(d, 0, MOVED);
		if :: seen == 0 -> MARK(CLOSED, true); table = 1 :: else fi;
		goto search }
	:: table == 0 && sawMoved && !READS && d < SLOTS && MUTANT == NO_CLOSE ->
		atomic { table = 1; goto search }
	:: READS && (table == 1 || !sawMoved || MUTANT == SKIPS) ->
		answered(0)
	:: (REMOVES || op == IFSAME_A) && (table == 1 || !sawMoved || MUTANT == SKIPS) ->
		CONTENT free(n); answered(0)
	:: else -> atomic {
		assert(d < SLOTS);              /* there is room */
		w = 0;
		if :: COPIES -> goto copyFirst :: goto swap fi }
	fi;

#if DIRECT
	/* A direct call reads a slot, the words of its item, and the slot again. */
directSlot:
	atomic {
		w = slot[d];
directWord:
		printf("client %d: reads slot %d, %d.%d+%d\n", id, d, w & 15, USE(w), w >> 8);
		if
		:: w & (MOVED | FROZEN) -> DIRECTLY(false) goto search
		:: w == 0 -> buf[d] = 0; goto absent
		:: else
		fi }
	atomic { key = ITEM(w).key; printf("client %d: reads key %d\n", id, key) }
	if
	:: key == k && (READS || op == IFSAME_A) ->
		atomic { val = ITEM(w).val; printf("client %d: reads value %d\n", id, val) }
	:: else
	fi;
	atomic {
		seen = slot[d];
		if
		:: seen != w && MUTANT != TAKES_TORN -> MARK(REREAD, true); w = seen; goto directWord
		:: (seen == w || MUTANT == TAKES_TORN) && key == k -> goto examined
		:: else -> d++
		fi;
		if :: d == SLOTS -> DIRECTLY(false) :: else fi;
		goto search }
#endif

	/* Slot `from` of table 0 moves, so that its key has its place in table 1. */
move:
	atomic {
		mover = slot[from];
		printf("client %d: moves slot %d, %d.%d+%d\n", id, from, mover & 15, USE(mover), mover >> 8);
		if
		:: mover == MOVED -> goto moved
		:: mover == 0 || mover & FROZEN && mover & REMOVED -> goto mark
		:: mover & FROZEN && !(mover & REMOVED) -> goto place
		:: else -> if :: MUTANT == NO_FREEZE -> goto place :: else fi
		fi };
	atomic { cas(from, mover, mover | FROZEN); goto move }
place:
	if :: MUTANT == MARK_FIRST -> atomic { cas(from, mover, MOVED) } :: else fi;
	atomic {
		readItem(mover);
		if
		:: bad ->
			assert(slot[from] != mover);    /* an item in use is whole */
			goto mark
		:: else -> sought = key; table = 1; moving = true; goto search
		fi };
copy:
	atomic {
		assert(d < SLOTS);
		cas(SLOTS + d, 0, mover & ~FROZEN);
		if :: seen != 0 -> MARK(TWICE, LIVE(seen) == LIVE(mover)); goto search :: else -> goto mark fi };
copied2:
	atomic {
		if :: MUTANT == COPY_OVER -> cas(SLOTS + d, buf[d], mover & ~FROZEN) :: else fi };
mark:
	atomic {
		if :: MUTANT == UNMARKED && op != MOVE && mover & FROZEN -> goto moved :: else fi;
		cas(from, mover, MOVED);
		if
		:: seen == mover && mover & REMOVED -> free(mover)
		:: else
		fi;
		if :: mover == 0 && seen != 0 -> goto move :: else fi }
moved:
	atomic {
		moving = false; mover = 0; sought = k; table = 1;
		if
		:: op == MOVE -> from++; if :: from == SLOTS -> goto next :: else -> goto move fi
		:: else -> from = 0; goto search
		fi };
stop:
	skip
	} unless { dead[id] -> atomic {
		printf("client %d: dies\n", id);
		MARK(DIED_MOVING, mover & FROZEN && slot[from] == mover);
		MARK(DIED_IN, n != 0 && (slot[0] == n || slot[1] == n)) } };
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

#define IS(i, k) ((slot[i] & 15) && ITEM(slot[i]).key == (k))

init {
	atomic {
		/* A (1), removed (2); B (4), removed (8) */
		y = 0;
		if
		:: START & 12 -> item[y].key = B; item[y].val = 1; item[y].use = 1; item[y].taken = true;
			slot[0] = WORD(y) | (START & 8 -> REMOVED : 0)
		:: else
		fi;
		y = EACH;
		if
		:: START & 3 -> item[y].key = A; item[y].val = 1; item[y].use = 1; item[y].taken = true;
			slot[(START & 12 -> 1 : 0)] = WORD(y) | (START & 2 -> REMOVED : 0)
		:: else
		fi;
		y = 0;
		begin((START & 1 -> 1 : 0));
		if :: DEATHS -> run Death() :: else fi;
		run Client(0); run Client(1);
		if :: PROCS > 2 -> run Client(2) :: else fi }
	atomic {
		ended == PROCS;
		CONTENT
		printf("all have ended\n");
		/* What a reader would find, and no key twice. */
		x = 0;
		y = IS(0, A) + IS(1, A);
		assert(y <= 1);                 /* no key twice in a table */
		y = IS(2, A) + IS(3, A);
		assert(y <= 1);                 /* no key twice in a table */
		do
		:: x < 2 * SLOTS && !IS(2 * SLOTS - 1 - x, A) -> x++
		:: else -> break
		od;
		y = 0;
		if
		:: x < 2 * SLOTS ->
			x = 2 * SLOTS - 1 - x;
			assert(!ITEM(slot[x]).torn);    /* an item in use is whole */
			y = (slot[x] & REMOVED -> 0 : ITEM(slot[x]).val)
		:: else
		fi;
		x = 0;
		answerIs(AUDIT, y); y = 0 }
}
