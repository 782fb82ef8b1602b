//go:build ucx

// Progress: what UCX has in hand, then the ranks that are lost or connected since.

#include <time.h>

#include "shim.h"
#include "internal.h"

enum { CLOSE_MS = 100 }; // how long UCX may take to close an endpoint

static int64_t nowMs(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// closeEndpoint begins to close an endpoint without the other side.
static void closeEndpoint(fu_peer_t *p) {
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
		.flags = UCP_EP_CLOSE_FLAG_FORCE,
	};
	void *request = ucp_ep_close_nbx(p->ep, &params);
	p->closing = UCS_PTR_IS_PTR(request) ? request : NULL;
	p->closeMs = nowMs();
	p->ep = NULL;
}

// abandon gives up an endpoint that has never worked. UCX 1.13 aborts the process where one
// is closed while an answer to the other side's request to connect waits to be sent (its pull
// request 8175). So that one stays, and the worker with it.
static void abandon(fu_peer_t *p) {
	p->job->stuck = 1;
	p->open = p->ep;
	p->ep = NULL;
}

// endpointClosed reports whether an endpoint has been closed. Where bytes wait for a host that was cut
// off, UCX would wait until it takes them: that endpoint stays as well.
static int endpointClosed(fu_peer_t *p) {
	if (!p->closing)
		return 1;
	if (ucp_request_check_status(p->closing) != UCS_INPROGRESS)
		ucp_request_free(p->closing);
	else if (nowMs() - p->closeMs < CLOSE_MS)
		return 0;
	else
		p->job->stuck = 1;
	p->closing = NULL;
	return 1;
}

// closeLost closes the endpoints of lost ranks, and then gives up what they have not answered.
static void closeLost(fu_job *job) {
	job->unclosed = 0;
	for (int r = 0; r < job->size; r++) {
		fu_peer_t *p = &job->peers[r];
		if (!p->lost || (!p->ep && !p->closing))
			continue;
		if (p->ep && p->connected)
			closeEndpoint(p);
		else if (p->ep)
			abandon(p);
		if (!endpointClosed(p)) {
			job->unclosed = 1;
			continue;
		}
		fu_unpark(p);
		fu_ship_on(p);
		fu_unclaim(p);
		for (fu_queue *q = job->queues; q; q = q->next)
			fu_orphan(q, r);
	}
}

// resumeAll continues the operations that wait for a rank to be connected.
static void resumeAll(fu_job *job) {
	job->changed = 0;
	for (int r = 0; r < job->size; r++) {
		if (!job->peers[r].connecting)
			fu_unpark(&job->peers[r]);
		fu_ship_on(&job->peers[r]);
	}
	for (fu_queue *q = job->queues; q; q = q->next)
		fu_advance(q);
}

unsigned fu_progress(fu_job *job) {
	unsigned n = ucp_worker_progress(job->worker);
	if (job->unclosed)
		closeLost(job);
	if (job->changed && !job->gone)
		resumeAll(job);
	return n;
}

void fu_lose(fu_job *job, int rank) {
	fr_lock(&job->lock);
	if (!job->gone && !job->peers[rank].lost) {
		fu_fail(&job->peers[rank]);
		fu_progress(job);
	}
	pthread_mutex_unlock(&job->lock);
}
