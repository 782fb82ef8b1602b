// What the engine needs of UCX, with nothing of UCX's types in it. Functions that return int
// return 0, a code of UCX for fu_text, or one of the codes of remote.h.

#include "../internal/remote/remote.h"

const char *fu_version(void);
const char *fu_text(int code);

// A job: a worker of UCX, the endpoints of all ranks, and the thread that makes progress.
typedef struct fu_job fu_job;

int fu_open(int rank, int size, int oversubscribed, const char *transports, const char *devices,
	fu_job **job);
int fu_address(fu_job *job, void *to, int most);
void fu_peer(fu_job *job, int rank, const void *address, int bytes);
int fu_serve(fu_job *job);
void fu_lose(fu_job *job, int rank);
int fu_lost(fu_job *job, int rank);
int fu_settled(fu_job *job);
void fu_filter_log(int yes);
void fu_strand(fu_job *job);
void fu_close(fu_job *job); // its windows too

// A window: one segment per rank.
typedef struct fu_window fu_window;

int fu_map(fu_job *job, uint32_t number, uint64_t *base, int64_t words, fu_window **window);
int fu_key(fu_window *window, void *to, int most);
void fu_segment(fu_window *window, int rank, uint64_t base, const void *key, int bytes);
void fu_direct(fu_window *window, int rank, uint64_t *base, int atomics);
int fu_unmap(fu_window *window, fu_job *job);

typedef struct fu_queue fu_queue;

// A note goes with every request and its answer.
typedef struct {
	uint64_t serial; // of the request
	uint32_t window; // its number
	int32_t rank;    // who sends this
	uint8_t ticket;
	uint8_t turn;  // FH_WHOLE, FH_ASKS or FH_GRANTED
	int16_t words; // of the request
	int32_t room;  // for the answer, in words; in an answer: a code
} fu_note;

typedef struct fu_op {
	FR_OP(fu_window)
	fu_queue *queue;
	fr_ticket *ticket;  // of what is shipped and on its way
	fu_note note, again; // with it: here, as UCX may read it when the ticket is another's
	struct fu_op *next; // put that the same flush completes, or what waits for the same rank
	uint8_t waits;      // answers of UCX that are to come
} fu_op;

fu_queue *fu_new_queue(fu_job *job, int depth);
fu_op **fu_ops(fu_queue *q);
int32_t *fu_ring(fu_queue *q);
int fu_submit(fu_queue *q, int posts);
int fu_wait(fu_queue *q, int slot, int spins);
void fu_renew(fu_queue *q, int slot); // gives a slot another operation in place of an orphan
int fu_drained(fu_queue *q);
int fu_free_queue(fu_queue *q);

fr_inbox *fu_inbox(fu_job *job);
void fu_limit(fu_job *job, int64_t bytes); // for requests of others
int fu_stored(fu_job *job, fr_store *now); // whether it is sound
void fu_answer(fu_job *job, void *request, int code, int words);
