//go:build mpi

// Queues: their operations from the start to the end. order.c says which of them wait for others;
// gets, puts and atomics of MPI are called in calls.c, and what goes by messages is sent by
// messages.c.

#include <sched.h>
#include <stdlib.h>

#include "shim.h"
#include "internal.h"
#include "queue.h"

// fh_new_queue returns NULL where there is no memory for a queue of that depth.
fh_queue *fh_new_queue(fh_job *job, int depth, int useRequests, int addBySwap) {
	fh_queue *q = fr_calloc(1, sizeof *q);
	q->job = job;
	q->depth = depth;
	q->useRequests = useRequests;
	q->addBySwap = addBySwap;
	q->flushed = -1;
	q->ops = calloc(depth, sizeof *q->ops);
	q->ring = calloc(depth, sizeof *q->ring);
	q->targets = calloc(depth, sizeof *q->targets);
	q->requests = calloc(depth, sizeof *q->requests);
	q->heads = calloc(depth, sizeof *q->heads);
	q->ended = calloc(depth, sizeof *q->ended);
	if (!q->ops || !q->ring || !q->targets || !q->requests || !q->heads || !q->ended) {
		fh_free_queue(q);
		return NULL;
	}
	return q;
}

void fh_free_queue(fh_queue *q) {
	free(q->ended);
	free(q->heads);
	free(q->requests);
	free(q->targets);
	free(q->ring);
	free(q->ops);
	free(q);
}

fh_op *fh_ops(fh_queue *q) { return q->ops; }

uint64_t fh_calls(fh_queue *q) { return q->calls; }

int32_t *fh_ring(fh_queue *q) { return q->ring; }

static void complete(fh_queue *q, int slot) {
	while (slot >= 0) {
		q->ops[slot].state = FH_DONE;
		slot = q->ops[slot].next;
	}
}

// flush waits for completion at the target. With MPI_Win_flush_local, osc/pt2pt of Open MPI brings
// the answer of a fetch-and-add before it has happened, and sometimes never returns.
static int flush(fh_queue *q) {
	for (; q->flushes > 0; q->flushes--) {
		target *t = &q->targets[q->flushes - 1];
		int err = MPI_Win_flush(t->rank, t->window->win);
		if (err)
			return err;
	}
	complete(q, q->flushed);
	q->flushed = -1;
	fh_settle(q);
	return 0;
}

// test completes operations whose requests are done.
static int test(fh_queue *q) {
	int n = 0;
	int err = MPI_Testsome(q->flights, q->requests, &n, q->ended, MPI_STATUSES_IGNORE);
	if (err || n == MPI_UNDEFINED || n == 0)
		return err;
	int kept = 0;
	for (int i = 0; i < q->flights; i++) {
		if (q->requests[i] == MPI_REQUEST_NULL) {
			complete(q, q->heads[i]);
			continue;
		}
		q->requests[kept] = q->requests[i];
		q->heads[kept++] = q->heads[i];
	}
	q->flights = kept;
	fh_settle(q);
	return 0;
}

// awaitAnswers waits for those to operations on memory. The owner may need the lock for its own messages.
static int awaitAnswers(fh_queue *q) {
	int err = q->asks ? fh_send_news(q->job) : 0;
	for (int vain = 0; q->asks && !err;) {
		fh_unlock();
		fh_give_way(vain++);
		fh_lock();
		err = fh_receive_all(q->job);
	}
	return err;
}

static int drain(fh_queue *q) {
	int err = flush(q);
	if (!err && q->flights)
		err = MPI_Waitall(q->flights, q->requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < q->flights && !err; i++)
		complete(q, q->heads[i]);
	if (!err)
		q->flights = 0;
	fh_settle(q);
	return err ? err : awaitAnswers(q);
}

// copyDirect does a get or put on memory that this process addresses.
static void copyDirect(fh_op *op) {
	uint64_t *there = op->window->direct[op->rank] + op->off;
	uint64_t *from = op->kind == FH_PUT ? op->buf : there;
	uint64_t *to = op->kind == FH_PUT ? there : op->buf;
	fh_copy(to, from, op->words);
	if (op->kind == FH_PUT)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	op->state = FH_DONE;
}

static int start(fh_queue *q, int slot) {
	fh_op *op = &q->ops[slot];
	op->next = -1;
	op->byRequest = op->byMessage = 0;
	int direct = op->window->direct[op->rank] != NULL &&
		(op->kind <= FH_PUT || op->window->coherent || op->window->carried);
	if (op->kind == FH_SHIP) {
		op->state = FH_FLYING;
		fh_ask(q, q->job, op);
		return 0;
	}
	if (op->window->carried && !direct) { // the owner does them in the order of messages
		op->state = FH_FLYING;
		q->asks++;
		fh_ask(q, q->job, op);
		return 0;
	}
	if (fh_clashes(q, op, !direct)) {
		int err = fh_issue_all(q);
		if (!err)
			err = drain(q);
		if (err)
			return err;
		fh_clashes(q, op, !direct);
	}
	op->state = FH_FLYING;
	if (direct && op->kind <= FH_PUT) {
		copyDirect(op);
		return 0;
	}
	if (direct) {
		op->seen = fh_swap_here(op->window->direct[op->rank] + op->off,
			op->kind == FH_ADD, op->old, op->word);
		op->state = FH_DONE;
		return 0;
	}
	q->wide = op->words > WIDE;
	return op->kind <= FH_PUT ? fh_join_call(q, slot) : fh_atomic(q, slot);
}

// fh_submit starts what was posted.
int fh_submit(fh_queue *q, int posts) {
	fh_lock();
	int err = q->job->gone ? FH_GONE : 0;
	for (int i = 0; i < posts && !err; i++)
		err = start(q, q->ring[(q->submitted + i) % q->depth]);
	if (!err)
		err = fh_issue_all(q);
	q->submitted += posts;
	fh_unlock();
	return err;
}

// awaitAnswer is fh_wait for an operation that goes by a message. Who waits for an answer of a
// program returns early to answer requests of others.
static int awaitAnswer(fh_queue *q, const fh_op *op, int spins) {
	int err = 0, ships = op->kind == FH_SHIP && spins > 0;
	if (ships)
		fr_help(&q->job->inbox, 1);
	fh_polling(1);
	for (int vain = 0; !err; fh_give_way(vain++)) {
		err = spins-- < 0 ? FH_PENDING : fh_poll(q->job);
		if (__atomic_load_n(&op->state, __ATOMIC_ACQUIRE) == FH_DONE)
			break;
		if (!err && ships && fr_is_asked(&q->job->inbox))
			err = FH_PENDING;
	}
	fh_polling(-1);
	if (ships)
		fr_help(&q->job->inbox, -1);
	return err;
}

// fh_wait waits shortly for an operation: FH_PENDING if it is not done.
int fh_wait(fh_queue *q, int slot, int spins) {
	fh_op *op = &q->ops[slot];
	if (op->byMessage)
		return awaitAnswer(q, op, spins);
	for (;; sched_yield()) {
		fh_lock();
		int err = q->job->gone ? FH_GONE : op->byRequest ? test(q) : flush(q);
		fh_unlock();
		if (err || op->state == FH_DONE)
			return err;
		if (spins-- <= 0)
			return FH_PENDING;
	}
}

// fh_drain ends all that is in flight, and gives up the answers to what was shipped.
int fh_drain(fh_queue *q) {
	fh_lock();
	for (int i = 0; i < q->depth; i++)
		if (q->ops[i].kind == FH_SHIP && q->ops[i].state == FH_FLYING)
			fh_unask(q->job, &q->ops[i]);
	int err = q->job->gone ? 0 : drain(q);
	fh_unlock();
	return err;
}
