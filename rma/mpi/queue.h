// What the files of a queue share.

enum {
	OPEN = 64,         // calls that are being put together
	WIDE = 512,        // words from which an operation has the queue to itself
	MARKS = 1 << 14,   // bits for lines in flight
	TOUCHED = 256,     // of their words that are kept in mind, to clear just these
};

enum { GETS, PUTS, ATOMICS, CLASSES };

typedef struct {
	fh_window *window;
	int rank, kind, head, n;
} call;

typedef struct {
	fh_window *window;
	int rank;
} target;

struct fh_queue {
	fh_job *job;
	int depth, useRequests, addBySwap;
	uint64_t guess; // what a word holds that is added to again
	fh_op *ops;
	int32_t *ring; // slots in the order in which they were posted
	int64_t submitted;
	call open[OPEN];
	int opened; // how many of them have operations
	target *targets; // to be flushed
	int flushes, flushed; // how many; first slot that a flush completes, or -1
	MPI_Request *requests;
	int *heads, *ended, flights; // by request: first slot that it completes
	int wide;
	int asks; // operations on memory whose answer has not come
	uint64_t calls;
	uint64_t marks[CLASSES][MARKS / 64];
	uint64_t *touched[TOUCHED];
	int touches;
};

// The following are called under the lock.
void fh_settle(fh_queue *q);
int fh_clashes(fh_queue *q, const fh_op *op, int enter);
int fh_issue_all(fh_queue *q);
int fh_join_call(fh_queue *q, int slot);
int fh_atomic(fh_queue *q, int slot);
