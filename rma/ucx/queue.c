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
	BURST = 16,      // calls of progress, as long as there is some, in a row
};

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
	uint16_t lineReads[LINES], lineWrites[LINES];
};

fu_queue *fu_next(fu_queue *q) { return q->next; }

fu_peer_t *fu_target(const fu_op *op) { return &op->queue->job->peers[op->rank]; }

fu_op **fu_ops(fu_queue *q) { return q->ops; }

int32_t *fu_ring(fu_queue *q) { return q->ring; }

static void freeQueue(fu_queue *q) {
	free(q->touched);
	free(q->puts);
	free(q->ring);
	free(q->ops);
	free(q->made);
	free(q);
}

// fu_new_queue returns NULL where there is no memory for a queue of that depth.
fu_queue *fu_new_queue(fu_job *job, int depth) {
	fu_queue *q = fu_calloc(1, sizeof *q);
	q->job = job;
	q->depth = depth;
	q->made = calloc(depth, sizeof *q->made);
	q->ops = calloc(depth, sizeof *q->ops);
	q->ring = calloc(depth, sizeof *q->ring);
	q->puts = calloc(job->size, sizeof *q->puts);
	q->touched = calloc(job->size, sizeof *q->touched);
	if (!q->made || !q->ops || !q->ring || !q->puts || !q->touched) {
		freeQueue(q);
		return NULL;
	}
	for (int slot = 0; slot < depth; slot++)
		q->ops[slot] = &q->made[slot];
	fu_lock(job);
	q->next = job->queues;
	job->queues = q;
	fu_unlock(job);
	return q;
}

static uint32_t lineOf(const fu_op *op, int64_t line) {
	uint64_t place = ((uintptr_t)op->window >> 4) * 0x9e3779b97f4a7c15 + (uint64_t)op->rank;
	return (place ^ (uint64_t)line) * 0xff51afd7ed558ccd >> 40 & (LINES - 1);
}

// clashes reports whether an operation may touch words of one in flight, one of them writing.
static int clashes(const fu_queue *q, const fu_op *op) {
	if (op->kind == FH_SHIP)
		return 0;
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
static void count(fu_queue *q, const fu_op *op, int by) {
	int writes = op->kind != FH_GET, wide = op->words > WIDE;
	q->flying += by;
	if (op->kind == FH_SHIP)
		return;
	*(writes ? &q->writes : &q->reads) += by;
	if (wide) {
		*(writes ? &q->wideWrites : &q->wideReads) += by;
		return;
	}
	uint16_t *lines = writes ? q->lineWrites : q->lineReads;
	for (int64_t l = op->off / 8; l <= (op->off + op->words - 1) / 8; l++)
		lines[lineOf(op, l)] += by;
}

static void done(fu_op *op, int error) {
	op->error = error;
	__atomic_store_n(&op->state, FH_DONE, __ATOMIC_RELEASE);
}

// fu_end ends an operation that waits for no answer of UCX.
void fu_end(fu_op *op, int error) {
	count(op->queue, op, -1);
	done(op, error);
}

// fu_land takes one of the answers that an operation waits for.
void fu_land(fu_op *op, ucs_status_t status) {
	fu_queue *q = op->queue;
	if (status != UCS_OK && !op->error) {
		op->error = status;
		if (fu_is_loss(status)) {
			op->error = FH_LOST;
			fu_fail(&q->job->peers[op->rank]);
		}
	}
	if (--op->waits > 0)
		return;
	fu_return(op);
	if (op->orphan)
		q->orphans--;
	else
		fu_end(op, op->error);
}

// landPuts takes the answer to a flush.
static void landPuts(fu_op *op, ucs_status_t status) {
	while (op) {
		fu_op *next = op->next; // once it is done it may be used anew
		fu_land(op, status);
		op = next;
	}
}

static void landed(void *request, ucs_status_t status, void *op) {
	ucp_request_free(request);
	fu_land(op, status);
}

static void flushed(void *request, ucs_status_t status, void *op) {
	ucp_request_free(request);
	landPuts(op, status);
}

// fu_orphan gives up what a lost rank has not answered.
void fu_orphan(fu_queue *q, int rank) {
	for (int slot = 0; slot < q->depth; slot++) {
		fu_op *op = q->ops[slot];
		if (op->state != FH_FLYING || op->rank != rank)
			continue;
		fu_unship(op);
		fu_return(op);
		op->orphan = op->waits > 0;
		q->orphans += op->orphan;
		fu_end(op, FH_LOST);
	}
}

// copyDirect does an operation on memory that this process addresses.
static void copyDirect(fu_op *op, uint64_t *there) {
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
static void *post(fu_op *op, ucp_ep_h ep, ucp_rkey_h rkey) {
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

// gone reports whether the target of an operation is lost.
static int gone(const fu_op *op) {
	return fu_target(op)->lost || !op->window->keys[op->rank];
}

// launch posts an operation for a rank that is connected.
static void launch(fu_op *op) {
	fu_queue *q = op->queue;
	ucp_ep_h ep;
	ucp_rkey_h rkey;
	int err = fu_reach(q->job, op->rank, &ep);
	if (!err)
		err = fu_unlock_key(op->window, op->rank, &rkey);
	if (err) {
		fu_end(op, err);
		return;
	}
	op->waits = 1;
	void *request = post(op, ep, rkey);
	if (UCS_PTR_IS_ERR(request)) {
		fu_land(op, UCS_PTR_STATUS(request));
		return;
	}
	if (op->kind != FH_PUT) {
		if (!request)
			fu_land(op, UCS_OK);
		return;
	}
	op->waits += request != NULL;
	op->next = q->puts[op->rank];
	if (!op->next)
		q->touched[q->touches++] = op->rank;
	q->puts[op->rank] = op;
}

// fu_unpark continues the operations that waited for a rank to be connected.
void fu_unpark(fu_peer_t *p) {
	fu_op *op = p->parked;
	p->parked = NULL;
	while (op) {
		fu_op *next = op->next;
		op->next = NULL;
		if (p->connected && !gone(op))
			launch(op);
		else
			fu_end(op, p->fault && !fu_is_loss(p->fault) ? p->fault : FH_LOST);
		op = next;
	}
}

static void start(fu_queue *q, int slot) {
	fu_op *op = q->ops[slot];
	uint64_t *direct = op->window->direct[op->rank];
	if (gone(op)) {
		done(op, FH_LOST);
		return;
	}
	if (op->kind == FH_SHIP) {
		op->state = FH_FLYING;
		count(q, op, 1);
		fu_ship(op);
		return;
	}
	if (direct && (op->kind <= FH_PUT || op->window->atomics)) {
		copyDirect(op, direct + op->off);
		return;
	}
	op->state = FH_FLYING;
	count(q, op, 1);
	int err = fu_connect(op->window, op->rank);
	if (err == FH_PENDING) {
		fu_peer_t *p = fu_target(op);
		fu_op **at = &p->parked;
		while (*at)
			at = &(*at)->next;
		*at = op;
	} else if (err) {
		fu_end(op, err);
	} else {
		launch(op);
	}
}

// flush asks for the end, at their targets, of the puts that were started.
static void flush(fu_queue *q) {
	for (int i = 0; i < q->touches; i++) {
		int rank = q->touched[i];
		fu_op *first = q->puts[rank];
		q->puts[rank] = NULL;
		ucp_request_param_t params = {
			.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA,
			.cb.send = flushed,
			.user_data = first,
		};
		ucp_ep_h ep;
		if (fu_reach(q->job, rank, &ep)) {
			landPuts(first, UCS_ERR_CANCELED);
			continue;
		}
		void *request = ucp_ep_flush_nbx(ep, &params);
		if (!UCS_PTR_IS_PTR(request))
			landPuts(first, UCS_PTR_STATUS(request));
	}
	q->touches = 0;
}

// fu_advance starts, in order, what needs not wait for what is in flight.
void fu_advance(fu_queue *q) {
	while (q->started < q->submitted) {
		int slot = q->ring[q->started % q->depth];
		if (clashes(q, q->ops[slot])) {
			flush(q);
			if (clashes(q, q->ops[slot]))
				return;
		}
		q->started++;
		start(q, slot);
	}
	flush(q);
}

// fu_submit starts what was posted.
int fu_submit(fu_queue *q, int posts) {
	fu_lock(q->job);
	if (q->job->gone) {
		fu_unlock(q->job);
		return FH_GONE;
	}
	for (; posts > 0; posts--)
		q->ops[q->ring[q->submitted++ % q->depth]]->state = FH_WAITING;
	fu_advance(q);
	fu_unlock(q->job);
	return 0;
}

// progressOnce makes some progress, unless another thread does so.
static int progressOnce(fu_queue *q) {
	fu_job *job = q->job;
	if (pthread_mutex_trylock(&job->lock) != 0)
		return 0;
	int err = job->gone ? FH_GONE : 0;
	for (int i = 0; i < BURST && !err && fu_progress(job); i++)
		;
	if (!err && q->started < q->submitted)
		fu_advance(q);
	pthread_mutex_unlock(&job->lock);
	return err;
}

// fu_wait waits a little for an operation: FH_PENDING if it is not done.
int fu_wait(fu_queue *q, int slot, int spins) {
	int err = 0;
	fu_op *op = q->ops[slot];
	__atomic_fetch_add(&q->job->waits, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&q->job->waiters, 1, __ATOMIC_RELAXED);
	while (!err && __atomic_load_n(&op->state, __ATOMIC_ACQUIRE) != FH_DONE) {
		err = progressOnce(q);
		if (!err && __atomic_load_n(&op->state, __ATOMIC_ACQUIRE) != FH_DONE) {
			if (spins-- <= 0)
				err = FH_PENDING;
			else
				sched_yield();
		}
	}
	__atomic_fetch_sub(&q->job->waiters, 1, __ATOMIC_RELAXED);
	return err;
}

void fu_renew(fu_queue *q, int slot) {
	fu_lock(q->job);
	fu_op **abandoned = fu_calloc(q->abandonedCount + 1, sizeof *abandoned);
	if (q->abandonedCount > 0)
		memcpy(abandoned, q->abandoned, q->abandonedCount * sizeof *abandoned);
	free(q->abandoned);
	q->abandoned = abandoned;
	q->abandoned[q->abandonedCount++] = q->ops[slot];
	q->ops[slot] = fu_calloc(1, sizeof **q->ops);
	fu_unlock(q->job);
}

// unparkOwn gives up the operations of a queue that wait for a rank to be connected.
static void unparkOwn(fu_queue *q, fu_peer_t *p) {
	for (fu_op **at = &p->parked; *at;) {
		fu_op *op = *at;
		if (op->queue != q) {
			at = &op->next;
			continue;
		}
		*at = op->next;
		op->next = NULL;
		fu_end(op, FH_LOST);
	}
}

// fu_drained makes some progress and reports whether nothing is in flight. Operations that have not
// begun never do.
int fu_drained(fu_queue *q) {
	fu_lock(q->job);
	q->submitted = q->started;
	for (int r = 0; r < q->job->size; r++)
		unparkOwn(q, &q->job->peers[r]);
	for (int i = 0; i < BURST && q->flying && !q->job->gone; i++)
		fu_progress(q->job);
	int drained = !q->flying || q->job->gone;
	fu_unlock(q->job);
	return drained;
}

// fu_free_queue ends a queue. It is FH_PENDING, and nothing is freed, if UCX may still write
// there.
int fu_free_queue(fu_queue *q) {
	fu_lock(q->job);
	for (fu_queue **at = &q->job->queues; *at; at = &(*at)->next)
		if (*at == q) {
			*at = q->next;
			break;
		}
	int kept = !q->job->gone && (q->flying || q->orphans);
	fu_unlock(q->job);
	if (kept)
		return FH_PENDING;
	for (int slot = 0; slot < q->depth; slot++)
		if (q->ops[slot] < q->made || q->ops[slot] >= q->made + q->depth)
			free(q->ops[slot]);
	for (int i = 0; i < q->abandonedCount; i++)
		if (q->abandoned[i] < q->made || q->abandoned[i] >= q->made + q->depth)
			free(q->abandoned[i]);
	free(q->abandoned);
	freeQueue(q);
	return 0;
}
