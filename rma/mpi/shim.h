// What the engine needs of MPI, with nothing of MPI's types in it. Each function takes
// the lock that serialises all calls of MPI. Functions that return int return 0, a code
// of MPI for fh_error_text, or one of the codes below.

#include <stddef.h>
#include <stdint.h>

enum { FH_PENDING = -1, FH_GONE = -2, FH_UNSERVED = -3 };

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
// fh_calloc is zeroed memory of C. Where there is none the process ends, as one of Go does.
void *fh_calloc(size_t count, size_t bytes);
void fh_lock(void);
void fh_unlock(void);
void fh_crowded(int yes);
void fh_guard(const char *lastWords);

// A job: a communicator, one collective call under way, and who has left.
typedef struct fh_job fh_job;

int fh_join(int comm, int ranks, fh_job **job);
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

int fh_open(fh_job *job, uint64_t *base, int64_t words, fh_window **window, uint64_t **mine);
int fh_unified(fh_window *window);
void fh_direct(fh_window *window, int rank, uint64_t *base);
int fh_close(fh_window *window);
void fh_coherent(fh_window *window); // swaps are instructions of the owner's processor
uint32_t fh_number(fh_window *window);

// A queue: operations lie in slots; posted ones wait for fh_submit.
enum { FH_GET, FH_PUT, FH_SWAP, FH_ADD, FH_SHIP };
enum { FH_FREE, FH_POSTED, FH_FLYING, FH_DONE };

typedef struct fh_queue fh_queue;

typedef struct fh_op {
	fh_window *window;
	uint64_t *buf; // get and put; what is shipped
	int64_t off, words;
	uint64_t *answer;   // to what is shipped
	int64_t room;       // for it, in words
	fh_queue *queue;    // of what goes by a message
	struct fh_op *link; // the operation behind it in a message
	uint64_t old, word; // compare-and-swap: expected and new; fetch-and-add: delta
	uint64_t seen;      // what was there; words of the answer
	int32_t rank;
	int32_t error; // FH_UNSERVED, or 0
	int32_t next; // slot that is completed together with this one, or -1
	uint8_t kind, state;
	uint8_t byRequest; // completed by a request, not by a flush
	uint8_t byMessage; // completed by the answer to a message
} fh_op;

fh_queue *fh_new_queue(fh_job *job, int depth, int useRequests, int addBySwap);
fh_op *fh_ops(fh_queue *q);
uint64_t fh_calls(fh_queue *q); // gets and puts of MPI so far
void fh_post(fh_queue *q, int slot);
int fh_submit(fh_queue *q);
int fh_wait(fh_queue *q, int slot, int spins);
int fh_drain(fh_queue *q);
void fh_free_queue(fh_queue *q);

// Messages of the engines of two ranks: requests that programs ship to each other, and atomics. A
// rank has so many of each kind on their way to another one.
enum { FH_TICKETS = 4, FH_SHIP_WORDS = 1 << 13 };

typedef struct {
	uint64_t *request, *answer;
	int32_t words, room; // of the request, and for the answer
	uint32_t window;     // its number
	int32_t from;
} fh_request;

void fh_serve(fh_job *job);         // from now on all ranks send messages
fh_request *fh_take(fh_job *job); // waits for a request; NULL when the job ends
fh_request *fh_take_now(fh_job *job); // NULL where there is none for this thread
int fh_answer(fh_job *job, fh_request *r, int code, int words);
void fh_dismiss(fh_job *job); // has fh_take end
