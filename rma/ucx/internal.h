// What the C files share.

#include <pthread.h>
#include <ucp/api/ucp.h>

typedef struct {
	fh_job *job;
	int rank;
	void *address; // of its worker
	ucp_ep_h ep;   // made when it is first needed
	int lost;
	void *closing; // the request that ends a lost endpoint
} fh_peer_t;

struct fh_job {
	int rank, size;
	ucp_context_h context;
	ucp_worker_h worker;
	pthread_mutex_t lock; // around all calls of UCX
	pthread_t thread;
	int served, finish, stop[2]; // of the thread: it runs, is to end, and is woken by a byte
	int waiters; // that make progress for all
	int sick;    // a peer is lost and its endpoint not closed
	int gone;    // UCX is no more
	fh_peer_t *peers;
	fh_queue *queues;
	fh_window *windows;
};

struct fh_window {
	fh_job *job;
	fh_window *next;
	ucp_mem_h memory;
	uint64_t *bases;   // by rank: its address there
	void **keys;       // by rank: packed
	ucp_rkey_h *rkeys; // by rank: unpacked when it is first needed
	uint64_t **direct; // by rank: its address here, or NULL
	int atomics;       // processor atomics on direct segments are allowed
};

void fh_lock(fh_job *job);
void fh_unlock(fh_job *job);
unsigned fh_progress(fh_job *job); // under the lock, as are the following
void fh_fail(fh_peer_t *peer);
int fh_reach(fh_job *job, int rank, ucp_ep_h *ep);
int fh_unlock_key(fh_window *w, int rank, ucp_rkey_h *rkey);
int fh_release(fh_window *w);
void fh_orphan(fh_queue *q, int rank);
fh_queue *fh_next(fh_queue *q);
int fh_is_loss(ucs_status_t status);
