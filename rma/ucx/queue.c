//go:build ucx

// Queues. UCX orders nothing; a queue promises order among operations on the same words. So
// it counts what is in flight by lines, and an operation that may touch words of one in
// flight waits, and with it those behind it.

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"
#include "internal.h"

enum {
	LINES = 1 << 12, // counters of lines in flight
	WIDE = 512,      // words from which an operation counts as one on all lines
	BURST = 16,      // calls of progress, as long as there is some, between two looks
};

struct fh_queue {
	fh_job *job;
	fh_queue *next;
	int depth;
	fh_op *ops;
	int32_t *ring; // slots in the order in which they were posted
	int64_t submitted, started;
	int32_t *puts; // by rank: first slot of those that are not flushed, or -1
	int32_t *touched, touches; // ranks with such slots
	int flying, orphans;
	int reads, writes, wideReads, wideWrites; // in flight
	uint16_t lineReads[LINES], lineWrites[LINES];
};

fh_queue *fh_next(fh_queue *q) { return q->next; }

fh_op *fh_ops(fh_queue *q) { return q->ops; }

int32_t *fh_ring(fh_queue *q) { return q->ring; }

fh_queue *fh_new_queue(fh_job *job, int depth) {
	fh_queue *q = calloc(1, sizeof *q);
	q->job = job;
	q->depth = depth;
	q->ops = calloc(depth, sizeof *q->ops);
	q->ring = calloc(depth, sizeof *q->ring);
	q->puts = malloc(job->size * sizeof *q->puts);
	q->touched = calloc(job->size, sizeof *q->touched);
	memset(q->puts, 0xff, job->size * sizeof *q->puts);
	fh_lock(job);
	q->next = job->queues;
	job->queues = q;
	fh_unlock(job);
	return q;
}

static uint32_t lineOf(const fh_op *op, int64_t line) {
	uint64_t place = ((uintptr_t)op->window >> 4) * 0x9e3779b97f4a7c15 + (uint64_t)op->rank;
	return (place ^ (uint64_t)line) * 0xff51afd7ed558ccd >> 40 & (LINES - 1);
}

// clashes tells whether an operation may touch words of one in flight, one of them writing.
static int clashes(const fh_queue *q, const fh_op *op) {
	int writes = op->kind != FH_GET;
	if (q->wideWrites || (writes && q->wideReads))
		return 1;
	if (op->words > WIDE)
		return q->writes || (writes && q->reads);
	for (int64_t l = op->off / 8; l <= (op->off + op->words - 1) / 8; l++) {
		uint32_t i = lineOf(op, l);
		if (q->lineWrites[i] || (writes && q->lineReads[i]))
			return 1;
	}
	return 0;
}

// count enters an operation in flight (1) or takes it out (-1).
static void count(fh_queue *q, const fh_op *op, int by) {
	int writes = op->kind != FH_GET, wide = op->words > WIDE;
	q->flying += by;
	*(writes ? &q->writes : &q->reads) += by;
	if (wide) {
		*(writes ? &q->wideWrites : &q->wideReads) += by;
		return;
	}
	uint16_t *lines = writes ? q->lineWrites : q->lineReads;
	for (int64_t l = op->off / 8; l <= (op->off + op->words - 1) / 8; l++)
		lines[lineOf(op, l)] += by;
}

static void done(fh_op *op, int error) {
	op->error = error;
	__atomic_store_n(&op->state, FH_DONE, __ATOMIC_RELEASE);
}

// land takes one of the answers that an operation waits for.
static void land(fh_op *op, ucs_status_t status) {
	fh_queue *q = op->queue;
	if (status != UCS_OK && !op->error) {
		op->error = status;
		if (fh_is_loss(status)) {
			op->error = FH_LOST;
			fh_fail(&q->job->peers[op->rank]);
		}
	}
	if (--op->waits > 0)
		return;
	if (op->orphan) {
		q->orphans--;
		return;
	}
	count(q, op, -1);
	done(op, op->error);
}

// landPuts takes the answer to a flush.
static void landPuts(fh_op *op, ucs_status_t status) {
	fh_op *ops = op->queue->ops;
	for (int slot = op - ops; slot >= 0;) {
		int next = ops[slot].next; // once it is done it may be used anew
		land(&ops[slot], status);
		slot = next;
	}
}

static void landed(void *request, ucs_status_t status, void *op) {
	ucp_request_free(request);
	land(op, status);
}

static void flushed(void *request, ucs_status_t status, void *op) {
	ucp_request_free(request);
	landPuts(op, status);
}

// fh_orphan gives up what a lost rank has not answered.
void fh_orphan(fh_queue *q, int rank) {
	for (int slot = 0; slot < q->depth; slot++) {
		fh_op *op = &q->ops[slot];
		if (op->state != FH_FLYING || op->rank != rank)
			continue;
		op->orphan = 1;
		q->orphans++;
		count(q, op, -1);
		done(op, FH_LOST);
	}
}

// copyDirect does an operation on memory that this process sees.
static void copyDirect(fh_op *op, uint64_t *there) {
	uint64_t *from = op->kind == FH_PUT ? op->buf : there;
	uint64_t *to = op->kind == FH_PUT ? there : op->buf;
	switch (op->kind) {
	case FH_SWAP:
		op->seen = op->old;
		__atomic_compare_exchange_n(there, &op->seen, op->word, 0, __ATOMIC_SEQ_CST,
			__ATOMIC_SEQ_CST);
		break;
	case FH_ADD:
		op->seen = __atomic_fetch_add(there, op->word, __ATOMIC_SEQ_CST);
		break;
	default:
		for (int64_t i = 0; i < op->words; i++)
			__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_ACQUIRE),
				__ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	}
	done(op, 0);
}

// post hands an operation to UCX.
static void *post(fh_op *op, ucp_ep_h ep, ucp_rkey_h rkey) {
	uint64_t there = op->window->bases[op->rank] + (uint64_t)op->off * 8;
	ucp_request_param_t params = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
			UCP_OP_ATTR_FIELD_MEMORY_TYPE,
		.cb.send = landed,
		.user_data = op,
		.memory_type = UCS_MEMORY_TYPE_HOST,
	};
	if (op->kind == FH_GET)
		return ucp_get_nbx(ep, op->buf, op->words * 8, there, rkey, &params);
	if (op->kind == FH_PUT)
		return ucp_put_nbx(ep, op->buf, op->words * 8, there, rkey, &params);
	params.op_attr_mask |= UCP_OP_ATTR_FIELD_DATATYPE | UCP_OP_ATTR_FIELD_REPLY_BUFFER;
	params.datatype = ucp_dt_make_contig(8);
	params.reply_buffer = &op->seen;
	if (op->kind == FH_ADD)
		return ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_ADD, &op->word, 1, there, rkey, &params);
	op->seen = op->word; // the new word goes where the old one comes
	return ucp_atomic_op_nbx(ep, UCP_ATOMIC_OP_CSWAP, &op->old, 1, there, rkey, &params);
}

static void start(fh_queue *q, int slot) {
	fh_op *op = &q->ops[slot];
	ucp_ep_h ep;
	ucp_rkey_h rkey;
	uint64_t *direct = op->window->direct[op->rank];
	if (q->job->peers[op->rank].lost) {
		done(op, FH_LOST);
		return;
	}
	if (direct && (op->kind <= FH_PUT || op->window->atomics)) {
		copyDirect(op, direct + op->off);
		return;
	}
	int err = fh_reach(q->job, op->rank, &ep);
	if (!err)
		err = fh_unlock_key(op->window, op->rank, &rkey);
	if (err) {
		done(op, err);
		return;
	}
	op->state = FH_FLYING;
	op->waits = 1;
	count(q, op, 1);
	void *request = post(op, ep, rkey);
	if (UCS_PTR_IS_ERR(request)) {
		land(op, UCS_PTR_STATUS(request));
		return;
	}
	if (op->kind != FH_PUT) {
		if (!request)
			land(op, UCS_OK);
		return;
	}
	op->waits += request != NULL;
	op->next = q->puts[op->rank];
	if (op->next < 0)
		q->touched[q->touches++] = op->rank;
	q->puts[op->rank] = slot;
}

// flush asks for the end, at their targets, of the puts that were started.
static void flush(fh_queue *q) {
	for (int i = 0; i < q->touches; i++) {
		int rank = q->touched[i];
		fh_op *first = &q->ops[q->puts[rank]];
		q->puts[rank] = -1;
		ucp_request_param_t params = {
			.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
			.cb.send = flushed,
			.user_data = first,
		};
		ucp_ep_h ep;
		if (fh_reach(q->job, rank, &ep)) {
			landPuts(first, UCS_ERR_CANCELED);
			continue;
		}
		void *request = ucp_ep_flush_nbx(ep, &params);
		if (!UCS_PTR_IS_PTR(request))
			landPuts(first, UCS_PTR_STATUS(request));
	}
	q->touches = 0;
}

// advance starts, in order, what needs not wait for what is in flight.
static void advance(fh_queue *q) {
	while (q->started < q->submitted) {
		int slot = q->ring[q->started % q->depth];
		if (clashes(q, &q->ops[slot])) {
			flush(q);
			if (clashes(q, &q->ops[slot]))
				return;
		}
		q->started++;
		start(q, slot);
	}
	flush(q);
}

// fh_submit starts what was posted.
int fh_submit(fh_queue *q, int posts) {
	fh_lock(q->job);
	if (q->job->gone) {
		fh_unlock(q->job);
		return FH_GONE;
	}
	for (; posts > 0; posts--)
		q->ops[q->ring[q->submitted++ % q->depth]].state = FH_WAITING;
	advance(q);
	fh_unlock(q->job);
	return 0;
}

// look makes some progress, unless another thread does so.
static int look(fh_queue *q) {
	fh_job *job = q->job;
	if (pthread_mutex_trylock(&job->lock) != 0)
		return 0;
	int err = job->gone ? FH_GONE : 0;
	for (int i = 0; i < BURST && !err && fh_progress(job); i++)
		;
	if (!err && q->started < q->submitted)
		advance(q);
	pthread_mutex_unlock(&job->lock);
	return err;
}

// fh_wait waits a little for an operation: FH_PENDING if it is not done.
int fh_wait(fh_queue *q, int slot, int spins) {
	int err = 0;
	__atomic_fetch_add(&q->job->waiters, 1, __ATOMIC_RELAXED);
	while (!err && __atomic_load_n(&q->ops[slot].state, __ATOMIC_ACQUIRE) != FH_DONE) {
		err = look(q);
		if (!err && __atomic_load_n(&q->ops[slot].state, __ATOMIC_ACQUIRE) != FH_DONE) {
			if (spins-- <= 0)
				err = FH_PENDING;
			else
				sched_yield();
		}
	}
	__atomic_fetch_sub(&q->job->waiters, 1, __ATOMIC_RELAXED);
	return err;
}

// fh_drained makes some progress and tells whether nothing is in flight. What has not begun
// never does.
int fh_drained(fh_queue *q) {
	fh_lock(q->job);
	q->submitted = q->started;
	for (int i = 0; i < BURST && q->flying && !q->job->gone; i++)
		fh_progress(q->job);
	int drained = !q->flying || q->job->gone;
	fh_unlock(q->job);
	return drained;
}

// fh_free_queue ends a queue. It is FH_PENDING, and nothing is freed, if UCX may still write
// there.
int fh_free_queue(fh_queue *q) {
	fh_lock(q->job);
	for (fh_queue **at = &q->job->queues; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	int kept = !q->job->gone && (q->flying || q->orphans);
	fh_unlock(q->job);
	if (kept)
		return FH_PENDING;
	free(q->touched);
	free(q->puts);
	free(q->ring);
	free(q->ops);
	free(q);
	return 0;
}
