// What the C of the engines shares. Go has the same in queue.go; inbox.go compares the two.

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

// Codes that neither UCX nor MPI uses.
enum { FH_PENDING = -1001, FH_GONE = -1002, FH_UNSERVED = -1003, FH_LOST = -1004,
	FH_GARBLED = -1005, FH_GRANT = -1006 };

// Operations are in slots of a queue. Go writes the slots that it posts to a ring, in order, and
// says how many they are.
enum { FH_GET, FH_PUT, FH_SWAP, FH_ADD, FH_SHIP };
enum { FH_FREE, FH_POSTED, FH_WAITING, FH_FLYING, FH_DONE };

// The beginning of a slot, which Go writes.
#define FR_OP(window_type) \
	window_type *window; \
	uint64_t *buf; /* get and put; what is shipped */ \
	int64_t off, words; \
	uint64_t *answer;   /* to what is shipped */ \
	int64_t room;       /* for it, in words */ \
	uint64_t old, word; /* compare-and-swap: expected and new; fetch-and-add: delta */ \
	uint64_t seen;      /* what was there; words of the answer */ \
	int32_t rank; \
	int32_t state; /* written last, and read by Go without a lock */ \
	int32_t error; /* of one that is done: 0, or a code */ \
	uint8_t kind; \
	uint8_t orphan; /* given up; the library may still write there */

typedef struct { FR_OP(void) } fr_op;

// A rank has so many requests of a kind on their way to another one. A request and its answer are
// limited.
enum { FH_TICKETS = 4, FH_SHIP_WORDS = 1 << 13 };

// Who has a ticket of a rank may have a message on its way there, or its answer on the way back.
typedef struct {
	void *op; // waits for the answer; NULL when it has come, or nobody waits any more
	int taken;
} fr_ticket;

fr_ticket *fr_free_ticket(fr_ticket *tickets); // one of FH_TICKETS; NULL: all are taken

// A rank sets aside memory for the requests of all others, and none is stored that has not claimed
// its part. A short request comes with its words. A longer one asks first, so that what has not
// claimed anything is limited as well. A request that there is no room for is dropped, and its claim
// waits, after all that came before. When its turn has come it has its room, and the rank that sent
// it is told (FH_GRANT) and sends it again. All that have room are answered without the help of
// other requests, so a claim waits for others only for a while.
enum { FH_STORE_BYTES = 32 << 20, FH_UNASKED_BYTES = FH_STORE_BYTES / 4 };

// What comes: a request with its words, the note of one that asks first, one that has room, or the
// end of one whose sender has given it up.
enum { FH_WHOLE, FH_ASKS, FH_GRANTED, FH_WITHDRAWN };

enum { FH_UNCLAIMED, FH_CLAIMED, FH_ROOM }; // no claim; it waits; room is set aside

// The claim of a request that is not stored yet: one for each ticket of each rank.
typedef struct fr_claim {
	struct fr_claim *next;
	uint64_t serial;
	int64_t bytes;
	uint32_t window; // of the request, as are its words
	int32_t from;
	int16_t words;
	uint8_t ticket, state;
} fr_claim;

typedef struct {
	int64_t limit, used;
	int64_t unaskedWords; // so long a request may be that does not ask
	fr_claim *first, *last; // that wait
	int waiting;
} fr_store;

void fr_limit(fr_store *s, int64_t bytes, int ranks); // all of them have the same
int fr_claim_now(fr_store *s, int64_t bytes); // whether there is room, and no claim waits for it
void fr_claim_later(fr_store *s, fr_claim *c);
fr_claim *fr_next_claim(fr_store *s); // gives room to one that waits; NULL: none has
void fr_end_claim(fr_store *s, fr_claim *c); // with its room, if it has some
void fr_give_back(fr_store *s, int64_t bytes);
int fr_is_sound(const fr_store *s); // it is within its limit, and knows how many claims wait

// A request that has come, the first member of a parcel of the engine.
typedef struct fr_request {
	uint64_t *request, *answer;
	int32_t words, room; // of the request, and for the answer
	uint32_t window;     // its number, which is the same on all ranks
	int32_t from;
	struct fr_request *next; // in a list of the inbox or the engine
} fr_request;

// The inbox of a rank. One request is answered at a time.
typedef struct {
	pthread_mutex_t lock; // around the following
	pthread_cond_t news;
	fr_request *first, *last;
	int handling; // a request is being answered
	int helpers;  // threads that wait for answers, and answer requests as well
	int dismissed;
} fr_inbox;

void fr_open(fr_inbox *in);
void fr_put(fr_inbox *in, fr_request *r);
fr_request *fr_take(fr_inbox *in, int wait);       // NULL: there is none, or the inbox has ended
void fr_answered(fr_inbox *in);                    // the one that was taken
void fr_help(fr_inbox *in, int more);              // enters threads that answer requests
int fr_is_asked(fr_inbox *in);                     // there is a request that nobody answers
void fr_dismiss(fr_inbox *in);                     // ends the threads that wait in fr_take
void fr_close(fr_inbox *in);

// Zeroed memory. Where there is none the process ends, as one of Go does: a callback of a library
// can return no error.
void *fr_calloc(size_t count, size_t bytes);
void *fr_alloc(size_t bytes); // not zeroed
// Takes a lock that others hold for a short time only.
void fr_lock(pthread_mutex_t *lock);
// Starts a thread that gets only the signals of a crash: Go handles the others on other threads.
int fr_start(pthread_t *thread, void *(*run)(void *), void *arg);
