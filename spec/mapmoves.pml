/* How tables of the map, package kv, follow each other in the same memory, while clients sleep for
 * as long as they like, and die: areas.go and grow.go. A table has one slot, whose key nobody
 * writes. A frozen word has one bit of its generation, in place of ten. spec/README.md has the names.
 */
mtype = { noMutant, NO_HOLD, NO_CHECK, HOLDS_FROM, READS_EARLY, DEAD_HOLD, THAWS_LATE }
mtype = { noMark, LATE, RELEASED, IN_THE_WAY, DIED_HOLDS, THIRD_AREA }
#define WRONG(m) (MUTANT == m)
#define MARK(m, happens) assert(!(REACH == m && (happens)))

/* A slot: empty, as it has moved from that generation, the word of the key, or frozen. */
#define WORD 16
#define FROZEN 32
#define isEmpty(slot) ((slot) < WORD)

byte slot[AREAS];
byte gen = 1, from, into;
bool moving;
byte holds[CLIENTS]; /* a bit for each area */
bool dead[CLIENTS];
byte deaths;

#define isThere (!isEmpty(slot[from]) || moving && slot[from] == gen && !isEmpty(slot[into]))
#define isFrozen (!moving || isEmpty(slot[from]) || slot[into] != WORD)

inline claims() {
	assert(isThere); /* the key is there */
	assert(isFrozen || WRONG(NO_HOLD)); /* a key stays frozen until its old slot has moved */
}

/* What a client does not know any more is 0. */
inline forget() { myGen = 0; myFrom = 0; myInto = 0; seen = 0; mine = false; moved = false; free = 0; next = 0 }

#define held(id) ((dead[id] && !WRONG(DEAD_HOLD)) -> 0 : holds[id])
#if CLIENTS == 2
#define heldByAll (held(0) | held(1))
#else
#define heldByAll (held(0) | held(1) | held(2))
#endif
#define freeAreas (((1 << AREAS) - 1) & ~(1 << from) & ~heldByAll)

#define DIE :: atomic { deaths < DEATHS -> MARK(DIED_HOLDS, holds[_pid - 1] != 0); deaths++; \
	dead[_pid - 1] = true; forget(); rounds = 0; goto over }

proctype Client() {
	byte rounds = ROUNDS, myGen, myFrom, myInto, seen, next, free;
	bool mine, moved;

idle:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { myGen = gen; myFrom = from; myInto = into;
		if
		:: moving -> skip
		:: !moving && gen == TABLES -> forget(); rounds = 0; goto over
		:: else -> myInto = 0; free = ((1 << AREAS) - 1) & ~(1 << from); next = 0; goto readHolds
		fi }
	fi;

	/* hold */
	if
	DIE
	:: atomic { skip; if
		:: WRONG(NO_HOLD) -> skip
		:: WRONG(HOLDS_FROM) -> holds[_pid - 1] = 1 << myFrom
		:: else -> holds[_pid - 1] = (1 << myFrom) | (1 << myInto)
		fi }
	fi;
	if
	DIE
	:: atomic { skip; if
		:: !WRONG(NO_HOLD) && !WRONG(NO_CHECK) && (!moving || gen != myGen) ->
			MARK(RELEASED, true); goto release
		:: else
		fi }
	fi;

readSlot:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { mine = false; seen = slot[myFrom];
		if
		:: isEmpty(seen) && seen >= myGen -> MARK(LATE, gen != myGen); seen = 0; moved = true; goto release
		:: isEmpty(seen) && seen < myGen -> seen = 0; goto release
		:: seen == (FROZEN | (myGen & 1)) -> seen = 0; goto readTarget
		:: else
		fi }
	fi;
	/* freeze */
	if
	DIE
	:: atomic { skip; if
		:: slot[myFrom] == seen -> slot[myFrom] = FROZEN | (myGen & 1); claims()
		:: else
		fi; seen = 0; goto readSlot }
	fi;

readTarget:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { seen = slot[myInto];
		if
		:: isEmpty(seen) && seen <= myGen
		:: seen == WORD -> seen = 0; goto swap
		:: seen == (FROZEN | (myGen & 1)) -> mine = true; seen = 0; goto swap
		:: else -> MARK(LATE, true); moved = true; seen = 0; goto release
		fi }
	fi;
	/* place */
	if
	DIE
	:: atomic { skip; if
		:: slot[myInto] == seen -> slot[myInto] = FROZEN | (myGen & 1); mine = true; seen = 0; claims()
		:: else -> seen = 0; goto readTarget
		fi }
	fi;

swap:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { skip; if
		:: slot[myFrom] == (FROZEN | (myGen & 1)) -> slot[myFrom] = myGen
		:: else -> mine = false
		fi;
		if
		:: WRONG(THAWS_LATE) -> holds[_pid - 1] = 0
		:: else
		fi;
		claims();
		if
		:: !mine -> goto readSlot
		:: else
		fi }
	fi;
	/* thaw */
	if
	DIE
	:: atomic { skip; if
		:: slot[myInto] == (FROZEN | (myGen & 1)) -> slot[myInto] = WORD; claims()
		:: else
		fi; goto readSlot }
	fi;

release:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { holds[_pid - 1] = 0 }
	fi;
	/* end */
	if
	DIE
	:: atomic { skip; if
		:: moved && moving && gen == myGen -> gen++; from = into; into = 0; moving = false; claims()
		:: else
		fi; forget(); rounds--;
		if
		:: rounds > 0 -> goto idle
		:: else -> goto over
		fi }
	fi;

readHolds:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { free = free & ~held(next); next++;
		if
		:: next < CLIENTS -> goto readHolds
		:: else
		fi; next = 0;
		if
		:: free == 0 -> MARK(IN_THE_WAY, true)
		:: else -> myInto = 0;
			do
			:: (free >> myInto) & 1 -> break
			:: else -> myInto++
			od; free = 0; goto begin
		fi }
	fi;
	/* wait: until an area is free, or the state another one */
	if
	DIE
	:: atomic { freeAreas != 0 || moving || gen != myGen -> forget(); goto idle }
	fi;

begin:	true; /* ends the atomic sequence that has come here */
	if
	DIE
	:: atomic { skip; if
		:: !moving && (gen == myGen || WRONG(READS_EARLY) && from != myInto && gen < TABLES) ->
			MARK(THIRD_AREA, myInto == 2); moving = true; into = myInto; claims()
		:: else
		fi; forget(); goto idle }
	fi;

over:
	skip
}

init {
	atomic {
		slot[0] = WORD; byte i = 0;
		do
		:: i < CLIENTS -> run Client(); i++
		:: else -> break
		od; i = 0
	}
}
