// What the C files share.

#include <pthread.h>
#include <ucp/api/ucp.h>

typedef struct fu_parcel fu_parcel;

// Who has a ticket of a rank may have a request on its way there.
struct fu_ticket {
	fu_op *op; // waits for the answer; NULL when it has come, or nobody waits any more
	int taken; // by an operation that is not done
};

typedef struct {
	fu_job *job;
	int rank;
	void *address;      // of its worker
	ucp_ep_h ep;        // made when it is first needed
	int connecting;       // the first operation on it is in flight
	int connected;            // and was answered
	ucs_status_t fault; // or failed
	fu_op *parked;      // operations that wait for that
	int lost;
	void *closing;   // the request that ends a lost endpoint
	int64_t closeMs; // when that was made
	fu_ticket tickets[FH_TICKETS];
	fu_op *waiting, *last; // what is shipped there and has no ticket
	int asks;              // requests from there that are not answered
} fu_peer_t;

struct fu_job {
	int rank, size;
	ucp_context_h context;
	ucp_worker_h worker;
	pthread_mutex_t lock; // around all calls of UCX
	pthread_t thread;
	int served, finish, stop[2]; // of the thread: it runs, is to end, and is woken by a byte
	int waiters; // that make progress for all
	unsigned waits; // that have begun
	int unclosed;    // a peer is lost and its endpoint not closed
	int changed;    // a first get has ended
	int stuck;   // an endpoint cannot be closed
	int gone;    // UCX is no more
	fu_peer_t *peers;
	fu_queue *queues;
	fu_window *windows;
	uint64_t serial; // of the last request
	fu_parcel *spare;
	pthread_mutex_t inboxLock; // around the following
	pthread_cond_t inboxNews;
	fu_parcel *inbox, *inboxLast;
	int dismissed;
};

struct fu_window {
	fu_job *job;
	fu_window *next;
	uint32_t number; // the same on all ranks
	uint64_t *base;  // memory of this rank, and its length
	int64_t words;
	ucp_mem_h memory;
	uint64_t *bases;   // by rank: its address there
	void **keys;       // by rank: packed
	ucp_rkey_h *rkeys; // by rank: unpacked when it is first needed
	uint64_t **direct; // by rank: its address here, or NULL
	int atomics;       // processor atomics on direct segments are allowed
};

// fu_calloc is zeroed memory of C. Where there is none the process ends, as one of Go does: a callback
// of UCX can return no error.
void *fu_calloc(size_t count, size_t bytes);

void fu_lock(fu_job *job);
void fu_unlock(fu_job *job);
unsigned fu_progress(fu_job *job); // under the lock, as are the following
void fu_fail(fu_peer_t *peer);
int fu_reach(fu_job *job, int rank, ucp_ep_h *ep);
int fu_connect(fu_window *w, int rank);
void fu_unpark(fu_peer_t *peer);
int fu_unlock_key(fu_window *w, int rank, ucp_rkey_h *rkey);
int fu_release(fu_window *w);
void fu_orphan(fu_queue *q, int rank);
void fu_advance(fu_queue *q);
fu_queue *fu_next(fu_queue *q);
fu_peer_t *fu_target(const fu_op *op);
int fu_is_loss(ucs_status_t status);
void fu_land(fu_op *op, ucs_status_t status);
void fu_end(fu_op *op, int error);
int fu_open_ships(fu_job *job);
void fu_close_ships(fu_job *job);
void fu_ship(fu_op *op);
void fu_ship_on(fu_peer_t *peer);
void fu_unship(fu_op *op);
void fu_return(fu_op *op);
