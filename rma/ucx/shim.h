// What the engine needs of UCX, with nothing of UCX's types in it. Functions that return int
// return 0, a code of UCX for fh_text, or one of the codes below.

#include <stdint.h>

enum { FH_PENDING = 1, FH_LOST = 2, FH_GONE = 3 };

const char *fh_version(void);
const char *fh_text(int code);

// A job: a worker of UCX, the endpoints of all ranks, and the thread that makes progress.
typedef struct fh_job fh_job;

int fh_open(int rank, int size, const char *transports, fh_job **job);
int fh_address(fh_job *job, void *to, int most);
void fh_peer(fh_job *job, int rank, const void *address, int bytes);
int fh_serve(fh_job *job);
void fh_lose(fh_job *job, int rank);
int fh_lost(fh_job *job, int rank);
void fh_close(fh_job *job); // its windows too

// A window: one segment per rank.
typedef struct fh_window fh_window;

int fh_map(fh_job *job, uint64_t *base, int64_t words, fh_window **window);
int fh_key(fh_window *window, void *to, int most);
void fh_segment(fh_window *window, int rank, uint64_t base, const void *key, int bytes);
void fh_direct(fh_window *window, int rank, uint64_t *base, int atomics);
int fh_unmap(fh_window *window, fh_job *job);

// A queue: operations lie in slots. Go writes the slots that it posts to the ring, in order,
// and fh_submit says how many.
enum { FH_GET, FH_PUT, FH_SWAP, FH_ADD };
enum { FH_FREE, FH_POSTED, FH_WAITING, FH_FLYING, FH_DONE };

typedef struct fh_queue fh_queue;

typedef struct {
	fh_queue *queue;
	fh_window *window;
	uint64_t *buf; // get and put
	int64_t off, words;
	uint64_t old, word; // compare-and-swap: expected and new; fetch-and-add: delta
	uint64_t seen;      // what was there
	int32_t rank;
	int32_t next;  // slot of the next put that the same flush completes, or -1
	int32_t state; // written last, and read by Go without a lock
	int32_t error; // of one that is done
	uint8_t kind;
	uint8_t waits;  // answers of UCX that are to come
	uint8_t orphan; // given up; UCX may still write there
} fh_op;

fh_queue *fh_new_queue(fh_job *job, int depth);
fh_op *fh_ops(fh_queue *q);
int32_t *fh_ring(fh_queue *q);
int fh_submit(fh_queue *q, int posts);
int fh_wait(fh_queue *q, int slot, int spins);
int fh_drained(fh_queue *q);
int fh_free_queue(fh_queue *q);
