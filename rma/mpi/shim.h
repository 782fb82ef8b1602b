// What the engine needs of MPI, with nothing of MPI's types in it. Each function takes
// the lock that serialises all calls of MPI. Functions that return int return 0, a code
// of MPI for fh_error_text, or one of the codes of remote.h.

#include "../internal/remote/remote.h"

// The thread that owns MPI.
enum { FH_STARTING, FH_RUNNING, FH_FAILED, FH_FINISHED };

typedef struct {
	int code;  // of MPI_Init_thread
	int level; // thread level: 0 single, 1 funneled, 2 serialized, 3 multiple
	int ours;  // this engine has initialised MPI, and not the program
	int world; // the Fortran handle of MPI_COMM_WORLD, and what this process is there
	int rank, size;
} fh_facts;

void fh_library(char *text, int size);
void fh_error_text(int code, char *text, int size);
int fh_start(long napNs);
void fh_attach(void); // in place of fh_start: no thread owns MPI
int fh_phase(fh_facts *facts);
void fh_finish(void);
void fh_lock(void);
void fh_unlock(void);
void fh_crowd(int ranks, int cores); // how many ranks this host has, before fh_start and later
void fh_guard(const char *lastWords);

// A job: a communicator, one collective call under way, and who has left.
typedef struct fh_job fh_job;

int fh_join(int comm, int ranks, fh_job **job);
int fh_call_roll(int comm);
int fh_hear_roll(int comm, uint8_t *present);
int fh_rank(const fh_job *job);
int fh_size(const fh_job *job);
int fh_barrier(fh_job *job);
int fh_gather(fh_job *job, const uint64_t *mine, uint64_t *all, int words);
int fh_least(fh_job *job, const uint64_t *mine, uint64_t *least, int words);
int fh_meet(fh_job *job, int spins, int *goneRank);
int fh_leave(fh_job *job);
int fh_all_left(fh_job *job);
int fh_free_job(fh_job *job);

// A window: one segment per rank; direct[rank] is where this process sees it, or NULL.
typedef struct fh_window fh_window;

int fh_open(fh_job *job, uint64_t *base, int64_t words, uint32_t number, int carried,
	fh_window **window, uint64_t **mine);
int fh_unified(fh_window *window);
void fh_direct(fh_window *window, int rank, uint64_t *base);
int fh_close(fh_window *window);
void fh_coherent(fh_window *window); // swaps are instructions of the owner's processor

typedef struct fh_queue fh_queue;

typedef struct fh_op {
	FR_OP(fh_window)
	fh_queue *queue;    // of what goes by a message
	struct fh_op *link; // the operation after it in a message
	int64_t packed, taken; // of one that is too long for a message: words that were sent, answered
	int32_t next;       // slot that is completed together with this one, or -1
	uint8_t byRequest;  // completed by a request, not by a flush
	uint8_t byMessage;  // completed by the answer to a message
} fh_op;

fh_queue *fh_new_queue(fh_job *job, int depth, int useRequests, int addBySwap);
fh_op *fh_ops(fh_queue *q);
uint64_t fh_calls(fh_queue *q); // gets and puts of MPI so far
int32_t *fh_ring(fh_queue *q);
int fh_submit(fh_queue *q, int posts);
int fh_wait(fh_queue *q, int slot, int spins);
int fh_drain(fh_queue *q);
void fh_free_queue(fh_queue *q);

// Single operations of callers in C: fh_move of bind/c/library.h. After an error MPI may still access
// the words.
int fh_get_one(void *window, int rank, int64_t off, uint64_t *words, int64_t n);
int fh_get_by_request(void *window, int rank, int64_t off, uint64_t *words, int64_t n);
int fh_put_one(void *window, int rank, int64_t off, uint64_t *words, int64_t n);
uint64_t **fh_near(fh_window *window); // NULL where MPI makes no windows

void fh_serve(fh_job *job); // from now on all ranks send messages
fr_inbox *fh_inbox(fh_job *job);
void fh_limit(fh_job *job, int64_t bytes); // for requests of others
int fh_stored(fh_job *job, fr_store *now); // whether it is sound
void fh_answer(fh_job *job, void *request, int code, int words);
