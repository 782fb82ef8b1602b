// What the C files share.

#include <pthread.h>
#include <ucp/api/ucp.h>

typedef struct {
	fu_job *job;
	int rank;
	void *address;      // of its worker
	ucp_ep_h ep;        // made when it is first needed
	ucp_ep_h open;      // one that was given up and stays open
	int connecting;       // the first operation on it is in flight
	int connected;            // and was answered
	ucs_status_t fault; // or failed
	fu_op *parked;      // operations that wait for that
	int lost;
	void *closing;   // the request that ends a lost endpoint
	int64_t closeMs; // when that was made
	fr_ticket tickets[FH_TICKETS];
	fu_op *waiting, *last; // what is shipped there and has no ticket
	int asks;              // requests from there that are not answered
	fr_claim claims[FH_TICKETS]; // of those that are not stored yet
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
	int oversubscribed;    // many ranks share a processor: threads that wait sleep
	int sleepers;   // threads that sleep until an operation is done
	pthread_cond_t landed;
	int unclosed;    // a peer is lost and its endpoint not closed
	int changed;    // a first get has ended
	int stuck;   // an endpoint cannot be closed
	int gone;    // UCX is no more
	fu_peer_t *peers;
	fu_queue *queues;
	fu_window *windows;
	uint64_t serial; // of the last request
	fr_inbox inbox;
	fr_store store; // for its requests
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

enum { FU_LINES = 1 << 12 }; // counters of lines in flight

struct fu_queue {
	fu_job *job;
	fu_queue *next;
	int depth;
	fu_op **ops;   // by slot
	fu_op *made;   // with the queue, in one piece
	fu_op **abandoned; // orphans, which have no slot any more
	int abandonedCount;
	int32_t *ring; // slots in the order in which they were posted
	int64_t submitted, started;
	fu_op **puts; // by rank: the first of those that are not flushed
	int32_t *touched, touches; // ranks with such slots
	int flying, orphans;
	int reads, writes, wideReads, wideWrites; // in flight
	uint16_t lineReads[FU_LINES], lineWrites[FU_LINES];
};

static inline fu_peer_t *fu_target(const fu_op *op) { return &op->queue->job->peers[op->rank]; }

// The functions that files have for others, all under the lock. A file calls only what is below it:
//
//	job.c       the worker, and the thread that makes progress when nobody waits
//	queue.c     queues: made, submitted, waited for, ended
//	progress.c  ranks that are lost, and ranks that are connected
unsigned fu_progress(fu_job *job);
//	start.c     operations begin
void fu_advance(fu_queue *q);
void fu_unpark(fu_peer_t *peer);
void fu_orphan(fu_queue *q, int rank);
//	ship.c      requests and answers
int fu_open_ships(fu_job *job);
void fu_ship(fu_op *op);
void fu_ship_on(fu_peer_t *peer);
void fu_unship(fu_op *op);
void fu_unclaim(fu_peer_t *peer);
//	order.c     what waits for what; operations end
int fu_clashes(const fu_queue *q, const fu_op *op);
void fu_count(fu_queue *q, const fu_op *op, int by);
void fu_done(fu_op *op, int error);
void fu_return(fu_op *op);
void fu_end(fu_op *op, int error);
void fu_land(fu_op *op, ucs_status_t status);
//	peer.c      connections to ranks
int fu_is_loss(ucs_status_t status);
void fu_fail(fu_peer_t *peer);
int fu_reach(fu_job *job, int rank, ucp_ep_h *ep);
int fu_connect(fu_window *w, int rank);
//	window.c    memory and keys
int fu_unlock_key(fu_window *w, int rank, ucp_rkey_h *rkey);
int fu_release(fu_window *w);
//	log.c       messages of UCX
