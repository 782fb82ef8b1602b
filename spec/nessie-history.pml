/*
 * Is the history of a key linearizable? Included by the models of NE. The answer is exact:
 * `possible` is the set of all states that the key may be in, given all answers so
 * far. A state is the value (0: absent) and for each client 0, or 1 + the answer of its open
 * operation, when that has taken effect. A client that dies never gets an answer: its
 * operation may take effect at any later time, or never.
 */
#define READ    1               /* answer: the value */
#define WRITE   2               /* answer: 0, it is done */
#define DELETE  3               /* answer: 0, it is done */
#define REMOVE  4               /* answer: whether the key was there */
#define IFNONE  5               /* PutIfAbsent; answer: whether the key was there */
#define IFSAME  6               /* CompareAndPut; answer: whether the value was the one given */

#define VALUES   5              /* 0 to 4 */
#define CODES    (VALUES + 1)
#if PROCS == 2
#define STATES   (VALUES * CODES * CODES)
#else
#define STATES   (VALUES * CODES * CODES * CODES)
#endif
#define SETWORDS ((STATES + 63) / 64)
#define AUDIT    PROCS          /* the client of the last read, when all have ended */

byte calls[PROCS];              /* the open operation of each client, 0 for none */
byte puts[PROCS], expects[PROCS]; /* the value that it puts, and that has to be there */
byte who, reply;                /* used within one step only */
bool linearizable = true;

c_decl {
	typedef struct { unsigned long word[SETWORDS]; } States;

	static int has(States *set, int s) { return set->word[s / 64] >> s % 64 & 1; }
	static void add(States *set, int s) { set->word[s / 64] |= 1ul << s % 64; }

	/* takeEffect is state s when the operation of the client with weight w has taken effect. */
	static int takeEffect(int s, int w, int call, int put, int expect) {
		int was = s % VALUES, is = was, reply = 0;
		switch (call) {
		case READ: reply = was; break;
		case WRITE: is = put; break;
		case DELETE: is = 0; break;
		case REMOVE: reply = was != 0; is = 0; break;
		case IFNONE: reply = was != 0; is = was ? was : put; break;
		case IFSAME: reply = was == expect; is = reply ? put : was; break;
		}
		return s - was + is + (1 + reply) * w;
	}

	/* answer keeps the states in which the client may get this reply; 0: there are none. */
	static int answer(States *set, unsigned char *call, unsigned char *put,
			unsigned char *expect, int client, int reply) {
		States next = { { 0 } };
		int s, c, w, t, more = 1, any = 0;
		while (more) {
			more = 0;
			for (s = 0; s < STATES; s++) {
				if (!has(set, s)) continue;
				for (c = 0, w = VALUES; c < PROCS; c++, w *= CODES) {
					if (!call[c] || s / w % CODES) continue;
					t = takeEffect(s, w, call[c], put[c], expect[c]);
					if (!has(set, t)) add(set, t), more = 1;
				}
			}
		}
		for (c = 0, w = VALUES; c < client; c++) w *= CODES;
		for (s = 0; s < STATES; s++) {
			if (!has(set, s)) continue;
			if (client == AUDIT ? s % VALUES == reply : s / w % CODES == 1 + reply) {
				add(&next, client == AUDIT ? s : s - (1 + reply) * w);
				any = 1;
			}
		}
		*set = next;
		return any;
	}
}

c_state "States possible" "Global"

inline begin(first) { who = first; c_code { add(&now.possible, now.who); }; who = 0 }

inline call(client, what, put, expect) {
	calls[client] = what; puts[client] = put; expects[client] = expect
}

inline answerIs(client, what) {
	who = client; reply = what;
	c_code { now.linearizable = answer(&now.possible, now.calls, now.puts, now.expects,
		now.who, now.reply); };
	if :: who < PROCS -> calls[who] = 0; puts[who] = 0; expects[who] = 0 :: else fi;
	who = 0; reply = 0;
	assert(linearizable)            /* the history is linearizable */
}
